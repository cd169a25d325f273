package strict

import (
	"slices"

	"gofabric/core"
)

// lower is an endpoint or a shared receive context below.
type lower interface {
	Bind(obj any, flags core.BindFlags) error
	Post(op core.Op) error
	Cancel(ctx core.OpContext) error
}

// poster receives transfers. It belongs to an endpoint, an alias or context of one, or a shared receive context.
type poster struct {
	s                *state
	below            lower
	txFlags, rxFlags core.OpFlags // of calls without flags
}

// Post implements core.EndpointDriver and core.SRXDriver.
func (p *poster) Post(op core.Op) error {
	d := p.s.d
	if err := d.enter(op.Call.String()); err != nil {
		return err
	}
	defer d.leave()
	t := &transfer{Op: op, s: p.s, below: p.below, flags: p.flags(&op)}
	switch {
	case op.Call.OneBuffer():
		t.IOV, t.Buf = [][]byte{op.Buf}, nil
		if op.Desc != 0 {
			t.Descs = []core.Desc{op.Desc}
		}
	case op.Oper == core.AtomicRead:
		t.IOV, t.Descs = nil, nil // a barrier has no operands
	default:
		t.IOV, t.array = slices.Clone(op.IOV), op.IOV
	}
	if err := t.begin(); err != nil {
		return err
	}
	if op.Call.Receives() {
		return t.post()
	}
	return p.s.ordered(t)
}

// flags returns the flags of a call, or the default ones. A plain receive is for one message if it has several
// buffers, or if it is tagged and FI_TAGGED_MULTI_RECV was not asked for.
func (p *poster) flags(op *core.Op) core.OpFlags {
	flags := p.rxFlags
	switch {
	case !op.Call.Default():
		return op.Flags
	case !op.Call.Receives():
		return p.txFlags
	case !op.Call.OneBuffer() && len(op.IOV) != 1, op.Call.Tagged() && p.s.info.Caps&core.CapTaggedMultiRecv == 0:
		flags &^= core.OpMultiRecv
	}
	return flags
}

// Bind is fi_ep_bind(3). The queue below reports every completion. The application does not see those that it did
// not ask for.
func (p *poster) Bind(obj any, flags core.BindFlags) error {
	s, quiet := p.s, false
	if _, ok := obj.(core.CQDriver); ok {
		quiet, flags = flags&core.BindSelectiveCompletion != 0, flags&^core.BindSelectiveCompletion
	}
	if err := p.below.Bind(obj, flags); err != nil {
		return err
	}
	switch x := obj.(type) {
	case *queue:
		if flags&core.BindTransmit != 0 {
			s.tx.q, s.tx.quiet = x, quiet
		}
		if flags&core.BindRecv != 0 {
			s.rx.q, s.rx.quiet = x, quiet
		}
	case *counter:
		s.tx.counted = s.tx.counted || flags&(core.BindSend|core.BindRead|core.BindWrite) != 0
		s.rx.counted = s.rx.counted || flags&core.BindRecv != 0
	case *vector:
		s.av = x
	case *sharedRx:
		if x.s.rx.q == nil {
			x.s.rx.q, x.s.rx.quiet = s.rx.q, s.rx.quiet // the first endpoint's queue, as in the stack below
		}
	}
	return nil
}

// Cancel is fi_cancel(3). It cancels the oldest operation with the context that can be canceled.
func (p *poster) Cancel(ctx core.OpContext) error {
	s := p.s
	if s.k.Lacks&LacksCancel != 0 {
		return s.d.h.misuse("fi_cancel", core.ErrNoSys, "the provider cannot cancel operations on such endpoints: they complete, or end with the endpoint")
	}
	s.release()
	for _, t := range s.d.list(func(t *transfer) bool { return t.s == s && t.Ctx == ctx }) {
		if err := s.below.Cancel(t.id); err == nil {
			return nil
		}
	}
	return s.below.Cancel(ctx)
}
