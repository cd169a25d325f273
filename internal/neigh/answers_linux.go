package neigh

import (
	"net/netip"
	"sync"
)

// answersMax is the number of answers that a table remembers.
const answersMax = 1 << 14

// answers are the answers of a table, for Dests that are new. They may be used by several goroutines.
type answers struct {
	mu sync.Mutex
	m  map[answerKey]answer
}

// answerKey has everything that an answer depends on, except routes, rules and addresses.
type answerKey struct {
	src   netip.Addr
	iface int
	to    netip.Addr
}

// answer is the entry that a question led to, and the generation.
type answer struct {
	entry *entry
	gen   uint64
}

// remember keeps an answer. If there are too many, it removes those that are no longer valid, or all.
func (k *answers) remember(q question, a answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = map[answerKey]answer{}
	}
	if len(k.m) >= answersMax {
		for key, old := range k.m {
			if old.gen != a.gen || old.entry.dead.Load() {
				delete(k.m, key)
			}
		}
		if len(k.m) >= answersMax {
			clear(k.m)
		}
	}
	k.m[answerKey{q.v.src, q.v.iface, q.to}] = a
}

// recall points a new Dest to the entry of an earlier question about its destination, if nothing has changed since,
// and returns the entry. The caller has set asked, so that no answer to the Dest's own question can come in the
// meantime.
func (v *View) recall(d *Dest, to netip.Addr) *entry {
	if d.asked.Load() || !d.asked.CompareAndSwap(false, true) {
		return d.entry.Load()
	}
	defer d.asked.Store(false)
	k := &v.t.answers
	k.mu.Lock()
	a := k.m[answerKey{v.src, v.iface, to}]
	k.mu.Unlock()
	if a.entry == nil || a.entry.dead.Load() || a.gen != v.t.gen.Load() {
		return d.entry.Load()
	}
	d.entry.Store(a.entry)
	d.gen.Store(a.gen)
	return a.entry
}
