package chaos

import "time"

// finish lets all operations end, adds up the counts, and closes all processes.
func (f *fleet) finish() {
	f.t.Helper()
	f.until("the nodes are ready", patience, func() bool {
		for _, p := range f.nodes {
			if !p.ready || p.over {
				return false
			}
		}
		return true
	})
	for calm := f.now(); f.now()-calm < 3*time.Second/2; f.turn() { // the last nodes connect to each other
	}
	for range 2 { // a node that reported its sums first may have been added to since
		clear(f.status)
		for _, p := range f.nodes {
			p.Tell("drain")
		}
		if !f.until("nodes end their operations", patience, func() bool { return len(f.status) == len(f.nodes) }) {
			return
		}
	}
	f.sums()
	for end := time.Now().Add(grace + 5*time.Second); !*first || f.totals.bad() == 0; f.turn() {
		f.audit.read()
		if f.audit.judge(f.now()-time.Second/2) == 0 || time.Now().After(end) {
			break
		}
	}
	for _, p := range append([]*proc{f.server}, f.nodes...) {
		p.Tell("quit")
		p.mortal = true
	}
	f.until("all processes end", patience+closeBound, func() bool { return len(f.all) == 0 })
	f.audit.read()
	f.goodbyes()
	if f.totals.failed == 0 {
		f.t.Error("no node has received an error for an operation toward a dead peer")
	}
	f.t.Logf("%d messages, %d of %d operations failed; by level %v", f.totals.messages,
		f.totals.failed, f.totals.posted, f.totals.levels)
}

// sums compares the sums at each node with what was added.
func (f *fleet) sums() {
	for i, r := range f.status {
		for j, p := range r.Peers {
			at := f.status[uint8(j)]
			got := at.Sums[2*int(i)+int(r.Life%2)]
			if !p.Known || p.AddedLife != int(at.Life) { // it has added nothing in the peer's current life
				continue
			}
			if got < p.Next || got > p.Next+p.Unsure {
				f.totals.fault(altered,
					"the sum of node %d at node %d is %#x; want %#x, or up to %d more ", i, j, got, p.Next, p.Unsure)
			}
		}
	}
}

// goodbyes checks how the server saw the ends of clients.
func (f *fleet) goodbyes() {
	for k, seen := range f.audit.ends {
		l := f.audit.lives[k]
		if l == nil {
			continue
		}
		bad := met(f.audit.troubles[serverOwner], l.up, f.now())
		switch {
		case l.fate == closed && seen != noteGoodbye && !bad:
			f.totals.fault(altered, "client %d has closed in good order, but the server saw a crash", k.life)
		case l.fate == killed && !l.closing && seen == noteGoodbye:
			f.totals.fault(altered, "client %d was killed, but the server saw an orderly end", k.life)
		}
	}
}
