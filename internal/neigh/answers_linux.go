package neigh

import (
	"net/netip"
	"sync"
)

// answersMax is how many answers a table remembers.
const answersMax = 1 << 14

// answers is those that a table has given, for Dests that are new. It may be used by several goroutines.
type answers struct {
	mu sync.Mutex
	m  map[answerKey]answer
}

// answerKey is all that an answer depends on besides routes, rules and addresses.
type answerKey struct {
	src   netip.Addr
	iface int
	to    netip.Addr
}

// answer is where a question led to, and when.
type answer struct {
	entry *entry
	gen   uint64
}

// remember keeps an answer. When there are too many, those go that are of no use any more, or all.
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

// recall points a new Dest to what an earlier question about its destination led to, if nothing has changed since, and returns that. No answer to a question of
// its own may come meanwhile: asked is held.
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
