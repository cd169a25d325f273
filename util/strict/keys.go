package strict

import (
	"maps"
	"net/netip"
	"slices"

	"gofabric/core"
	"gofabric/internal/atomics"
)

// This file checks accesses to remote memory. If the peer is an endpoint of this process with the same hook, its
// registrations are known: a bad key, range or right is an error before the operation is posted. Otherwise the peer
// reports it, and the error entry has the profile's text (queue.failed).

// place identifies an endpoint by its address and, if it is connected, its peer's.
type place struct{ local, peer netip.AddrPort }

// place returns the place of the endpoint, or false if the endpoint has no address (yet).
func (s *state) place() (p place, ok bool) {
	if at := s.at.Load(); at != nil {
		return *at, true
	}
	if s.ep == nil || s.closed.Load() || !s.enabled.Load() {
		return place{}, false
	}
	name, err := s.ep.Name()
	if p.local = name.IP; err != nil || !p.local.IsValid() {
		return place{}, false
	}
	if s.info.EP.Type == core.EPTypeMsg {
		peer, err := s.ep.Peer()
		if p.peer = peer.IP; err != nil || !p.peer.IsValid() {
			return place{}, false
		}
	}
	s.at.Store(&p)
	return p, true
}

// target returns the endpoint that an operation of s for peer goes to, nil if that is not certain.
func (s *state) target(peer core.FIAddr) *state {
	var want place
	if s.info.EP.Type == core.EPTypeMsg {
		own, ok := s.place()
		if !ok {
			return nil
		}
		want = place{own.peer, own.local}
	} else {
		if s.av == nil {
			return nil
		}
		addr, err := s.av.Lookup(peer << s.av.bits >> s.av.bits)
		if want.local = addr.IP; err != nil || !want.local.IsValid() {
			return nil
		}
	}
	var found *state
	for _, t := range s.d.h.endpoints() {
		at, ok := t.place()
		if !ok || at != want || t.info.EP.Type != s.info.EP.Type || t.closed.Load() {
			continue
		}
		if found != nil && found.d != t.d {
			return nil // two network namespaces have the same address
		}
		found = t
	}
	return found
}

// endpoints returns all open endpoints.
func (h *Hook) endpoints() []*state {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.open))
}

func (h *Hook) opened(s *state) {
	h.mu.Lock()
	h.open[s] = true
	h.mu.Unlock()
}

func (h *Hook) ended(s *state) {
	h.mu.Lock()
	delete(h.open, s)
	h.mu.Unlock()
}

// checkRemote refuses accesses to remote memory that the peer does not have, or not for this use.
func (t *transfer) checkRemote() error {
	list := t.remote()
	if len(list) == 0 || t.s.k.WhyKey == "" {
		return nil
	}
	target := t.s.target(t.Addr)
	if target == nil || (t.is(core.OpRead) || t.is(core.OpWrite)) && lengthOf(list) != uint64(t.Len()) {
		return nil
	}
	need := needs[t.Call.Op()].remote
	if t.Oper == core.AtomicRead && !t.is(core.OpAtomic) {
		need = core.AccessRemoteRead // the operation changes nothing
	}
	for _, v := range list {
		if err := t.checkRange(target.d, v, need); err != nil {
			return err
		}
	}
	return nil
}

// checkRange checks one remote range against the registrations of the target's domain d.
func (t *transfer) checkRange(d *domain, v core.RMAIov, need core.Access) error {
	d.mu.Lock()
	r := d.keys[v.Key]
	enabled := r != nil && r.enabled
	d.mu.Unlock()
	why := t.s.k.WhyKey
	switch {
	case r == nil:
		return t.misuse(core.ErrKeyRejected, "the peer has no open memory region with the key %#x: pass what fi_mr_key returned there, and keep the region open there "+
			"until the operation is complete. On hardware: %s", v.Key, why)
	case r.keyed:
		return nil // the authorization key decides
	case !enabled:
		return t.misuse(core.ErrKeyRejected, "the peer's memory region with the key %#x was not bound to an endpoint and enabled (fi_mr_bind, fi_mr_enable), as FI_MR_ENDPOINT "+
			"requires. On hardware: %s", v.Key, why)
	case need&^r.access != 0:
		return t.misuse(core.ErrAccess, "the peer's memory region with the key %#x was registered for %s, but this operation needs %s. On hardware: %s",
			v.Key, r.access.String(), need.String(), why)
	}
	off, size := v.Addr-r.Base(), uint64(len(r.mem))
	if off > size || v.Len > size-off {
		return t.misuse(core.ErrAccess, "the peer's memory region with the key %#x has %d bytes from %#x on, and does not hold all of the %d bytes at %#x. On hardware: %s",
			v.Key, size, r.Base(), v.Len, v.Addr, why)
	}
	return nil
}

// remote returns the remote ranges of t.
func (t *transfer) remote() []core.RMAIov {
	switch {
	case t.message():
		return nil
	case t.Call.OneBuffer(), t.Call.Default():
		return []core.RMAIov{{Addr: t.RMA.Addr, Len: uint64(t.Len()), Key: t.RMA.Key}}
	case t.is(core.OpRead), t.is(core.OpWrite):
		return t.RMAIOV
	}
	list := make([]core.RMAIov, len(t.RMAIOC))
	for i, v := range t.RMAIOC {
		list[i] = core.RMAIov{Addr: v.Addr, Len: uint64(v.Count) * uint64(atomics.Size(atomics.Datatype(t.Type))), Key: v.Key}
	}
	return list
}

// lengthOf adds up the lengths of ranges, in bytes. The stack below refuses a sum that differs from the buffers'
// length.
func lengthOf(list []core.RMAIov) (n uint64) {
	for _, v := range list {
		n += v.Len
	}
	return n
}
