package strict

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/atomics"
)

// Remote memory. Where the peer is an endpoint of this process, seen through the same overlay, what it has registered is known, and a bad key, range or right is told before
// the operation leaves. Elsewhere the peer says so, and the error entry has the profile's words (queue.failed).

// place is where an endpoint is, as far as others can name it: its address and, of a connected one, its peer's.
type place struct{ local, peer netip.AddrPort }

// place returns where the endpoint is; false before it has an address, and of one that has none.
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

// target returns the endpoint that an operation of s for peer goes to, nil if that is not known for certain.
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
		addr, err := s.av.AddressVector.Lookup(peer << s.av.bits >> s.av.bits)
		if want.local = addr.IP; err != nil || !want.local.IsValid() {
			return nil
		}
	}
	var found *state
	for _, t := range s.d.o.endpoints() {
		at, ok := t.place()
		if !ok || at != want || t.info.EP.Type != s.info.EP.Type || t.closed.Load() {
			continue
		}
		if found != nil && found.d != t.d {
			return nil // one address in two network namespaces
		}
		found = t
	}
	return found
}

// endpoints are all that are open.
func (o *Overlay) endpoints() []*state {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]*state, 0, len(o.open))
	for s := range o.open {
		list = append(list, s)
	}
	return list
}

func (o *Overlay) opened(s *state) {
	o.mu.Lock()
	o.open[s] = true
	o.mu.Unlock()
}

func (o *Overlay) ended(s *state) {
	o.mu.Lock()
	delete(o.open, s)
	o.mu.Unlock()
}

// checkRemote: remote memory that the peer does not have, or not for this use.
func (s *state) checkRemote(c *call) error {
	if len(c.remote) == 0 || s.k.WhyKey == "" {
		return nil
	}
	t := s.target(c.peer)
	if t == nil || (c.kind == read || c.kind == write) && lengthOf(c.remote) != remoteOf(c.iov, 0, 0)[0].Len {
		return nil
	}
	need := core.RemoteRead
	switch {
	case c.kind == write, c.kind == atomicWrite:
		need = core.RemoteWrite
	case c.kind == atomicRead && !c.get:
		need |= core.RemoteWrite
	}
	for _, v := range c.remote {
		if err := s.checkRange(c, t.d, v, need); err != nil {
			return err
		}
	}
	return nil
}

// checkRange checks one remote range against what the target's domain d has registered.
func (s *state) checkRange(c *call, d *domain, v core.RMAIov, need core.Flags) error {
	d.mu.Lock()
	r := d.keys[v.Key]
	enabled := r != nil && r.enabled
	d.mu.Unlock()
	o := s.d.o
	switch {
	case r == nil:
		return o.misuse(c.op, core.ErrKeyRejected, "the peer has no open memory region with the key %#x: pass what fi_mr_key returned there, and have the region stay open "+
			"until the operation is complete. On hardware: %s", v.Key, s.k.WhyKey)
	case r.keyed:
		return nil // an authorization key decides
	case !enabled:
		return o.misuse(c.op, core.ErrKeyRejected, "the peer's memory region with the key %#x was not bound to an endpoint and enabled (fi_mr_bind, fi_mr_enable), which FI_MR_ENDPOINT "+
			"demands. On hardware: %s", v.Key, s.k.WhyKey)
	case need&^r.access != 0:
		return o.misuse(c.op, core.ErrAccess, "the peer's memory region with the key %#x was registered for %s, and this needs %s. On hardware: %s",
			v.Key, core.MRAccessString(r.access), core.MRAccessString(need), s.k.WhyKey)
	}
	off, size := v.Addr-r.Base(), uint64(len(r.mem))
	if off > size || v.Len > size-off {
		return o.misuse(c.op, core.ErrAccess, "the peer's memory region with the key %#x has %d bytes from %#x on, and does not hold all of the %d bytes at %#x. On hardware: %s",
			v.Key, size, r.Base(), v.Len, v.Addr, s.k.WhyKey)
	}
	return nil
}

// remoteOf names all of iov's bytes at addr.
func remoteOf(iov [][]byte, addr, key uint64) []core.RMAIov {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return []core.RMAIov{{Addr: addr, Len: uint64(n), Key: key}}
}

// lengthOf adds up ranges, bytes. What is not as long as the buffers is refused below.
func lengthOf(list []core.RMAIov) (n uint64) {
	for _, v := range list {
		n += v.Len
	}
	return n
}

// elements are the ranges of elements of a type.
func elements(list []core.RMAIoc, dt core.Datatype) []core.RMAIov {
	remote := make([]core.RMAIov, len(list))
	for i, v := range list {
		remote[i] = core.RMAIov{Addr: v.Addr, Len: uint64(v.Count) * uint64(atomics.Size(atomics.Datatype(dt))), Key: v.Key}
	}
	return remote
}
