package endpoint

import "gofabric/core"

// SharedTx is a shared transmit context (fi_stx_context(3)): a limit of operations in progress that several
// endpoints share. The lock guards all of it.
type SharedTx struct {
	d    *Domain
	caps core.Caps // an endpoint's must be among them; 0 for any
	size int       // largest number of operations in progress; 0 for any
	used int
	refs int // endpoints bound
	dead bool
}

// OpenSTX opens a shared transmit context (fi_stx_context(3)). It fails with ErrNoSys if the domain's provider has
// none.
func (d *Domain) OpenSTX(attr *core.TxAttr) (core.STXDriver, error) {
	if d.info.Domain.MaxEPStxCtx == 0 {
		return nil, d.cfg.Names.Error("fi_stx_context", d.Name(), NoPeer, core.ErrNoSys, "the provider has no shared transmit contexts")
	}
	s := &SharedTx{d: d}
	if attr != nil {
		if attr.OpFlags&^TxOpFlags != 0 {
			return nil, d.cfg.Names.Error("fi_stx_context", d.Name(), NoPeer, core.ErrBadFlags, "not a flag of transmits: "+(attr.OpFlags&^TxOpFlags).String())
		}
		if attr.Size < 0 {
			return nil, d.cfg.Names.Error("fi_stx_context", d.Name(), NoPeer, core.ErrInval, "the size must not be negative")
		}
		s.caps, s.size = attr.Caps, attr.Size
	}
	d.Ref()
	return s, nil
}

// OpenScalable fails. Providers with scalable endpoints override it and call NewScalable.
func (d *Domain) OpenScalable(*core.Info, *core.ScalableEndpoint) (core.ScalableDriver, error) {
	return nil, d.cfg.Names.Error("fi_scalable_ep", d.Name(), NoPeer, core.ErrNoSys, "the provider has no scalable endpoints")
}

// full reports whether the context has no room for another operation. Locked.
func (s *SharedTx) full() bool { return s.size > 0 && s.used >= s.size }

// Close fails with ErrBusy while endpoints are bound to the context (fi_close(3)).
func (s *SharedTx) Close() error {
	s.d.prog.Lock()
	defer s.d.prog.Unlock()
	switch {
	case s.dead:
		return core.ErrBadF
	case s.refs > 0:
		return s.d.cfg.Names.Error("fi_close", "shared transmit context", NoPeer, core.ErrBusy, "close the endpoints bound to it first")
	}
	s.dead = true
	s.d.Unref()
	return nil
}
