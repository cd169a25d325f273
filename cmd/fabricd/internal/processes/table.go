package processes

import (
	"bufio"
	"cmp"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
)

// member is a registered process.
type member struct {
	conn     net.Conn
	in       *deadlineReader
	buf      *bufio.Reader // over in
	pid, uid int
	name     string // the process' own, or one that the daemon made
	command  string
	since    time.Time
	wanted   chan struct{} // has an element while a client needs figures that were not requested yet

	// The table's lock guards the rest.
	last   *telemetry.Process // last answer, never changed; nil before the first answer
	heard  time.Time
	silent bool
	asked  bool          // an answer is pending
	next   chan struct{} // closed at the next answer, or when the process is dropped
}

// table has the registered processes.
type table struct {
	mu     sync.Mutex
	all    map[*member]struct{}
	users  map[int]int // processes by user
	closed bool
}

func (t *table) init() { t.all, t.users = map[*member]struct{}{}, map[int]int{} }

// add adds a process, or returns the reason for a refusal. A process with the same number replaces the old entry.
func (t *table) add(m *member) (refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for o := range t.all {
		if o.pid == m.pid && o.uid == m.uid {
			t.drop(o)
			o.conn.Close()
		}
	}
	switch {
	case t.closed:
		return "the daemon is ending"
	case len(t.all) >= maxProcesses:
		return "too many processes are connected"
	case t.users[m.uid] >= maxPerUser:
		return "too many processes of this user are connected"
	}
	t.all[m] = struct{}{}
	t.users[m.uid]++
	m.heard = time.Now()
	m.ask()
	return ""
}

// drop removes a process. Locked.
func (t *table) drop(m *member) {
	if _, ok := t.all[m]; !ok {
		return
	}
	delete(t.all, m)
	close(m.next)
	if t.users[m.uid]--; t.users[m.uid] == 0 {
		delete(t.users, m.uid)
	}
}

// remove is drop for callers without the lock.
func (t *table) remove(m *member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(m)
}

// closeAll closes all connections.
func (t *table) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for m := range t.all {
		m.conn.Close()
	}
}

// heard stores the answer of a process.
func (t *table) heard(m *member, p *telemetry.Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.all[m]; !ok {
		return
	}
	m.last, m.heard, m.silent, m.asked = p, time.Now(), false, false
	close(m.next)
	m.next = make(chan struct{})
}

// becomeSilent records that an answer is overdue. It returns true if the connection must be closed.
func (t *table) becomeSilent(m *member) (cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.silent = true
	return time.Since(m.heard) > cutAfter
}

// len returns the number of processes, and the number of silent ones.
func (t *table) len() (n, silent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for m := range t.all {
		if m.silent {
			silent++
		}
	}
	return len(t.all), silent
}

// processes returns the last answers of all processes, ordered by number.
func (t *table) processes() []*telemetry.Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*telemetry.Process, 0, len(t.all))
	for m := range t.all {
		list = append(list, m.view())
	}
	slices.SortFunc(list, func(a, b *telemetry.Process) int { return cmp.Compare(a.PID, b.PID) })
	return list
}

// view returns the last answer of a process with its present state. Locked.
func (m *member) view() *telemetry.Process {
	p := telemetry.Process{Version: telemetry.Version, Totals: []telemetry.Total{}, Endpoints: []telemetry.Endpoint{}, Stalls: []telemetry.Stall{}}
	if m.last != nil {
		p = *m.last
	}
	p.ID, p.PID, p.UID, p.Name, p.Command, p.Since = strconv.Itoa(m.pid), m.pid, m.uid, m.name, m.command, m.since
	if m.silent {
		p.Silent = m.heard
		p.Stalls = append(slices.Clone(p.Stalls), telemetry.Stall{What: "process", State: "the process does not answer: " + condition(m.pid), Since: m.heard})
	}
	return &p
}

// maySee reports whether a caller may see the details of a process of user uid.
func maySee(c daemon.Caller, owner, uid int) bool {
	return c.Root(owner) || !c.Remote && c.UID == uid
}

// list returns the processes as a caller may see them.
func (t *table) list(c daemon.Caller, owner int) api.Processes {
	a := api.Processes{Processes: t.processes()}
	for _, p := range a.Processes {
		if !maySee(c, owner, p.UID) {
			p.Command, p.More, p.Endpoints, p.Stalls = "", p.More+len(p.Endpoints), []telemetry.Endpoint{}, []telemetry.Stall{}
		}
	}
	return a
}

// stuck returns the stalls that a caller may see, the longest first.
func (t *table) stuck(c daemon.Caller, owner int) api.Stuck {
	list := t.processes()
	where := whereabouts(list)
	a := api.Stuck{Stuck: []api.StuckEntry{}}
	for _, p := range list {
		if !maySee(c, owner, p.UID) {
			continue
		}
		for i := range p.Stalls {
			s := &p.Stalls[i]
			e := api.StuckEntry{PID: p.PID, Name: p.Name, What: s.What, Provider: s.Provider, Interface: s.Interface, Local: s.Local, Peer: s.Peer,
				State: s.State, Bytes: s.Bytes, Since: s.Since}
			if o := where[s.Peer]; o != nil && s.Peer != "" && maySee(c, owner, o.UID) {
				e.PeerPID, e.PeerName = o.PID, o.Name
			}
			a.Stuck = append(a.Stuck, e)
		}
	}
	slices.SortStableFunc(a.Stuck, func(x, y api.StuckEntry) int { return x.Since.Compare(y.Since) })
	return a
}

// whereabouts finds processes by the addresses of their endpoints. An address of several processes, as in nodes
// with their own networks, counts for none.
func whereabouts(list []*telemetry.Process) map[string]*telemetry.Process {
	where := map[string]*telemetry.Process{}
	for _, p := range list {
		for i := range p.Endpoints {
			a := p.Endpoints[i].Address
			if o, taken := where[a]; taken && o != p {
				where[a] = nil
				continue
			}
			where[a] = p
		}
	}
	return where
}
