package hook

import "gofabric/core"

// Domain is a domain.
type Domain struct{ core.DomainDriver }

// Below implements Over.
func (d Domain) Below() any { return d.DomainDriver }

// BindEQ is fi_domain_bind(3).
func (d Domain) BindEQ(eq core.EQDriver, flags core.BindFlags) error {
	return d.DomainDriver.BindEQ(Below(eq), flags)
}

// OpenEndpoint is fi_endpoint(3).
func (d Domain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	return d.DomainDriver.OpenEndpoint(Handed(info), self)
}

// Handed returns info with the driver below in place of a hook's passive endpoint.
func Handed(info *core.Info) *core.Info {
	if info == nil {
		return nil
	}
	if o, ok := info.Handle.(Over); ok {
		i := *info
		i.Handle, info = o.Below(), &i
	}
	return info
}

// OpenCQ is fi_cq_open(3).
func (d Domain) OpenCQ(attr core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	return d.DomainDriver.OpenCQ(attr, Below(set))
}

// OpenCounter is fi_cntr_open(3).
func (d Domain) OpenCounter(attr core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	return d.DomainDriver.OpenCounter(attr, Below(set))
}

// RegMR is fi_mr_regattr(3).
func (d Domain) RegMR(attr *core.MRAttr, av core.AVDriver) (core.MRDriver, error) {
	return d.DomainDriver.RegMR(attr, Below(av))
}

// QueueWork is FI_QUEUE_WORK (fi_trigger(3)).
func (d Domain) QueueWork(w core.Work) error {
	w.Triggering, w.Completion, w.Cntr, w.EP = Below(w.Triggering), Below(w.Completion), Below(w.Cntr), Below(w.EP)
	return d.DomainDriver.QueueWork(w)
}

// FlushWork is FI_FLUSH_WORK (fi_trigger(3)).
func (d Domain) FlushWork(c core.CounterDriver) error { return d.DomainDriver.FlushWork(Below(c)) }

// Endpoint is an active endpoint, or an alias or context of one.
type Endpoint struct{ core.EndpointDriver }

// Below implements Over.
func (e Endpoint) Below() any { return e.EndpointDriver }

// Bind is fi_ep_bind(3).
func (e Endpoint) Bind(obj any, flags core.BindFlags) error {
	return e.EndpointDriver.Bind(Below(obj), flags)
}

// Post posts a transfer.
func (e Endpoint) Post(op core.Op) error {
	op.Trigger.Cntr = Below(op.Trigger.Cntr)
	return e.EndpointDriver.Post(op)
}

// JoinCollective is fi_join_collective (fi_collective(3)).
func (e Endpoint) JoinCollective(coll core.FIAddr, set core.AVSetDriver, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	return e.EndpointDriver.JoinCollective(coll, Below(set), flags, ctx, made)
}

// CloseWrite implements core.HalfCloser if the endpoint below does.
func (e Endpoint) CloseWrite() error {
	if h, ok := e.EndpointDriver.(core.HalfCloser); ok {
		return h.CloseWrite()
	}
	return core.ErrNoSys
}

// PeerClosed implements core.HalfCloser.
func (e Endpoint) PeerClosed() bool {
	h, ok := e.EndpointDriver.(core.HalfCloser)
	return ok && h.PeerClosed()
}

// Join implements core.Multicaster if the endpoint below does.
func (e Endpoint) Join(addr core.Addr, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	if m, ok := e.EndpointDriver.(core.Multicaster); ok {
		return m.Join(addr, flags, ctx, made)
	}
	return core.ErrNoSys
}

// SRX is a shared receive context.
type SRX struct{ core.SRXDriver }

// Below implements Over.
func (s SRX) Below() any { return s.SRXDriver }

// Bind is fi_ep_bind(3).
func (s SRX) Bind(obj any, flags core.BindFlags) error { return s.SRXDriver.Bind(Below(obj), flags) }

// Post posts a receive.
func (s SRX) Post(op core.Op) error {
	op.Trigger.Cntr = Below(op.Trigger.Cntr)
	return s.SRXDriver.Post(op)
}
