package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// scalableContext is a context of a scalable endpoint. It only sends or only receives, over the connections of the
// scalable endpoint.
type scalableContext struct {
	Endpoint
	Transfers
	Connectionless
	Unobserved
	s     *Scalable
	list  []*scalableContext // s.tx or s.rx
	index int
	rx    *engine.RxContext // nil for a transmit context
	way   contextRouter     // of a transmit context
	ready bool              // the context is enabled; the scalable endpoint may not be yet
}

// Capabilities of one direction. A context has none of those of the other.
const (
	onlyTx = core.CapSend | core.CapRead | core.CapWrite
	onlyRx = core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite
)

// Bind flags for counters, by direction.
const (
	countsTx = core.BindSend | core.BindRead | core.BindWrite
	countsRx = core.BindRecv | core.BindRemoteRead | core.BindRemoteWrite
)

// TxContext opens a transmit context (fi_tx_context, fi_endpoint(3)).
func (s *Scalable) TxContext(index int, attr *core.TxAttr) (core.EndpointDriver, error) {
	s.e.prog.Lock()
	defer s.e.prog.Unlock()
	info := s.e.info.Dup()
	if err := s.open("fi_tx_context", s.tx, index); err != nil {
		return nil, err
	}
	if attr != nil {
		has := info.Tx
		if attr.Caps&^has.Caps != 0 || attr.OpFlags&^TxOpFlags != 0 || attr.InjectSize > has.InjectSize || attr.Size > has.Size || attr.IOVLimit > has.IOVLimit || attr.RMAIOVLimit > has.RMAIOVLimit {
			return nil, s.e.Refuse("fi_tx_context", NoPeer, core.ErrInval, "the attributes ask for more than the endpoint has")
		}
		if attr.Caps != 0 {
			has.Caps = attr.Caps
			info.Caps = info.Caps&^txKinds | attr.Caps&txKinds
		}
		has.OpFlags = attr.OpFlags
		narrow(&has.InjectSize, attr.InjectSize)
		narrow(&has.Size, attr.Size)
		narrow(&has.IOVLimit, attr.IOVLimit)
		narrow(&has.RMAIOVLimit, attr.RMAIOVLimit)
		*attr = *has
	}
	info.Caps &^= onlyRx | core.CapCollective
	p := &scalableContext{s: s, list: s.tx, index: index}
	p.InitEndpoint(s.e.d, info, s.e.ends)
	p.spread = s.e.spread
	p.way = contextRouter{Router: s.way, e: &p.Endpoint, afterReads: behindReads(info), own: true}
	p.InitTransmitter(&p.Endpoint, &p.way)
	p.InitReceiver(&p.Endpoint, s.rxs[0], refuse, false)
	return p.opened(), nil
}

// txKinds are the capabilities that a transmit context can be opened without.
const txKinds = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | onlyTx

// narrow sets *v to the requested value, if there is one.
func narrow(v *int, asked int) {
	if asked > 0 {
		*v = asked
	}
}

// RxContext opens a receive context (fi_rx_context, fi_endpoint(3)). Messages that arrived for it earlier are
// waiting in it.
func (s *Scalable) RxContext(index int, attr *core.RxAttr) (core.EndpointDriver, error) {
	s.e.prog.Lock()
	defer s.e.prog.Unlock()
	info := s.e.info.Dup()
	if err := s.open("fi_rx_context", s.rx, index); err != nil {
		return nil, err
	}
	if attr != nil {
		has := info.Rx
		if attr.Caps&^has.Caps != 0 || attr.OpFlags&^RxOpFlags != 0 || attr.Size > has.Size || attr.IOVLimit > has.IOVLimit {
			return nil, s.e.Refuse("fi_rx_context", NoPeer, core.ErrInval, "the attributes ask for more than the endpoint has")
		}
		if attr.Caps != 0 {
			has.Caps = attr.Caps
		}
		has.OpFlags = attr.OpFlags
		narrow(&has.Size, attr.Size)
		narrow(&has.IOVLimit, attr.IOVLimit)
		*attr = *has
	}
	info.Caps &^= onlyTx | core.CapCollective
	p := &scalableContext{s: s, list: s.rx, index: index, rx: s.rxs[index]}
	p.InitEndpoint(s.e.d, info, s.e.ends)
	p.InitTransmitter(&p.Endpoint, refusal{})
	p.noAtomic = true
	s.e.d.cfg.Limits.Apply(p.rx, info.Rx)
	p.rx.Sink = RxSink{Endpoint: &p.Endpoint}
	p.rx.Reopen()
	p.InitReceiver(&p.Endpoint, p.rx, p.CanReceive, info.Caps&core.CapDirectedRecv != 0)
	return p.opened(), nil
}

// open returns an error if the context with this index cannot be opened.
func (s *Scalable) open(op string, list []*scalableContext, index int) error {
	switch {
	case s.e.closed:
		return core.ErrBadF
	case index < 0 || index >= len(list):
		return s.e.Refuse(op, NoPeer, core.ErrInval, "the endpoint was opened with fewer contexts (ep_attr.tx_ctx_cnt, rx_ctx_cnt)")
	case list[index] != nil:
		return s.e.Refuse(op, NoPeer, core.ErrBusy, "the context is already open")
	}
	return nil
}

// opened adds the context to its domain and to the scalable endpoint. Locked.
func (p *scalableContext) opened() *scalableContext {
	p.Opened(p)
	p.list[p.index] = p
	return p
}

// start allows transmits. Both the context and the scalable endpoint are enabled by now.
func (p *scalableContext) start() {
	if p.s.e.av != nil && p.info.Caps&core.CapNamedRxCtx != 0 {
		p.way.bits = p.s.e.av.RxCtxBits()
	}
	p.enabled = true
}

// Enable allows data calls (fi_enable(3)). Transmits also need the scalable endpoint to be enabled.
func (p *scalableContext) Enable() error {
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.ready {
		return p.Refuse("fi_enable", NoPeer, core.ErrOpBadState, "the context is already enabled")
	}
	if err := p.CheckEnable(0); err != nil {
		return err
	}
	p.ready = true
	if p.rx != nil {
		p.enabled = true
	} else if p.s.e.enabled {
		p.start()
	}
	return nil
}

// Bind binds completion queues and counters for the context's direction, and event queues (fi_ep_bind(3)). The
// contexts use the address vector of the scalable endpoint (fi_scalable_ep_bind, fi_endpoint(3)).
func (p *scalableContext) Bind(obj any, flags core.BindFlags) error {
	var other core.BindFlags
	switch obj.(type) {
	case *CompletionQueue:
		if other = core.BindRecv; p.rx != nil {
			other = core.BindTransmit
		}
	case *Counter:
		if other = countsRx; p.rx != nil {
			other = countsTx
		}
	case *AddressVector:
		return p.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "bind the address vector to the scalable endpoint")
	case *SharedTx:
		return p.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "contexts of a scalable endpoint are not shared")
	}
	if flags&other != 0 {
		return p.Refuse("fi_ep_bind", NoPeer, core.ErrBadFlags, "the context is for the other direction")
	}
	return p.Endpoint.Bind(obj, flags)
}

// Cancel cancels an operation of this context (fi_cancel(3)).
func (p *scalableContext) Cancel(ctx core.OpContext) error {
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.rx != nil {
		if p.rx.Cancel(uint64(ctx)) {
			return nil
		}
		return core.ErrNoEnt
	}
	for c := range p.s.Conns {
		if c.CancelOf(&p.way, uint64(ctx)) {
			return nil
		}
	}
	return core.ErrNoEnt
}

// Name and SetName are the scalable endpoint's, since the contexts share its address.
func (p *scalableContext) Name() (core.Addr, error)  { return p.s.Name() }
func (p *scalableContext) SetName(a core.Addr) error { return p.s.SetName(a) }

// GetOpt is fi_getopt (fi_endpoint(3)).
func (p *scalableContext) GetOpt(opt core.EPOpt) (int, error) {
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.rx == nil && (opt == core.OptMinMultiRecv || opt == core.OptRxSize) {
		return 0, core.ErrNoProtoOpt
	}
	return p.Option(p.rx, opt)
}

// SetOpt is fi_setopt (fi_endpoint(3)).
func (p *scalableContext) SetOpt(opt core.EPOpt, value int) error {
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.rx == nil {
		return core.ErrNoProtoOpt
	}
	return p.SetOption(p.rx, opt, value)
}

// Alias opens a second handle of the context (fi_ep_alias(3)).
func (p *scalableContext) Alias(dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	return p.OpenAlias(p, &p.Transfers, dir, flags)
}

// Close closes the context (fi_close(3)). Its operations in progress end without completion. The connections stay
// open.
func (p *scalableContext) Close() error {
	p.prog.Lock()
	if err := p.BeginClose(); err != nil {
		p.prog.Unlock()
		return err
	}
	if p.rx != nil {
		p.rx.Shut(p.s.Conns)
		p.rx.Sink = RxSink{Endpoint: p.s.e}
	} else {
		for c := range p.s.Conns {
			c.Disown(&p.way)
		}
	}
	p.list[p.index] = nil
	p.prog.Unlock()
	p.Unbind()
	return nil
}
