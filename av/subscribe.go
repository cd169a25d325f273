package av

import (
	"net/netip"

	"gofabric/core"
)

// This file has the notifications for endpoints that are bound to a vector.

type subscribers[F any] struct {
	list []*F
}

func (s *subscribers[F]) add(f F) *F {
	s.list = append(s.list, &f)
	return &f
}

func (s *subscribers[F]) remove(p *F) {
	for i, q := range s.list {
		if p == q {
			s.list = append(s.list[:i:i], s.list[i+1:]...)
			return
		}
	}
}

// OnInsert makes the vector call f whenever an address gets an index. f may call Lookup and Reverse, but not
// Insert, Remove, OnInsert, OnRemove or cancel.
func (t *Table) OnInsert(f func(core.FIAddr, core.Addr)) (cancel func()) {
	t.change.Lock()
	defer t.change.Unlock()
	p := t.onInsert.add(f)
	return func() {
		t.change.Lock()
		t.onInsert.remove(p)
		t.change.Unlock()
	}
}

// First returns the addresses with the lowest indices, at most n. Of a shared vector it returns those that this
// process has read.
func (t *Table) First(n int) (known []netip.AddrPort) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i := uint32(0); i < t.next && len(known) < n; i++ {
		if e := t.at(i); e.uses > 0 {
			known = append(known, e.addrPort(&t.zones))
		}
	}
	return known
}

// OnRemove makes the vector call f whenever an index was freed, before it is used again. The same restrictions
// apply.
func (t *Table) OnRemove(f func(core.FIAddr)) (cancel func()) {
	t.change.Lock()
	defer t.change.Unlock()
	p := t.onRemove.add(f)
	return func() {
		t.change.Lock()
		t.onRemove.remove(p)
		t.change.Unlock()
	}
}
