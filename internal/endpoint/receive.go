package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Receiver posts the receives (fi_msg(3), fi_tagged(3)) of an endpoint, a shared context, or an alias of an
// endpoint. Package core documents buffers, errors and concurrency of these calls.
type Receiver struct {
	dom     *Domain
	rx      *engine.RxContext
	ready   func() error  // refuses calls in the wrong state; locked
	quiet   *bool         // selective completion
	flags   *core.OpFlags // default operation flags
	sources bool          // directed receives: the source address is used
	e       *Endpoint     // nil for a shared context

	tagSources         bool // sources, for tagged receives
	exact, exactTagged bool // the source must name a peer (FI_EXACT_DIRECTED_RECV); exactTagged is for tagged receives

	noTagged, noMulti, noTagMulti bool // capabilities that the endpoint was opened without
}

const (
	msgRx     = uint64(core.CompMsg | core.CompRecv)
	tagRx     = uint64(core.CompTagged | core.CompRecv)
	recvMsgOK = core.OpCompletion | core.OpMultiRecv | core.OpMore | core.OpPeek | core.OpClaim | core.OpDiscard | core.OpAuthKey
)

// InitReceiver prepares r. rx is the receive context of e. ready refuses calls in the wrong state and is called
// locked (usually Endpoint.CanReceive). With directed, receives match the source address (FI_DIRECTED_RECV,
// FI_TAGGED_DIRECTED_RECV), as far as the Info has these capabilities.
func (r *Receiver) InitReceiver(e *Endpoint, rx *engine.RxContext, ready func() error, directed bool) {
	caps := e.info.Caps
	e.recv = r
	*r = Receiver{dom: e.d, rx: rx, ready: ready, quiet: &e.rxQuiet, flags: &e.rxFlags, e: e,
		noTagged: caps&core.CapTagged == 0, noMulti: caps&core.CapMultiRecv == 0, noTagMulti: caps&core.CapTaggedMultiRecv == 0,
	}
	r.direct(caps, directed)
}

// newOp returns a receive to fill in. The caller holds the lock; on failure newOp has released it.
func (r *Receiver) newOp(flags core.OpFlags, report uint64, ctx core.OpContext) (*engine.RxOp, error) {
	if err := r.ready(); err != nil {
		r.dom.prog.Unlock()
		return nil, err
	}
	if r.noTagged && report == tagRx {
		r.dom.prog.Unlock()
		return nil, core.ErrNoSys
	}
	if flags&core.OpMultiRecv != 0 && r.noMulti && report == msgRx {
		r.dom.prog.Unlock()
		return nil, core.ErrBadFlags
	}
	op := r.rx.NewOp()
	if op == nil {
		if r.e != nil {
			r.e.did.againRx++
		}
		r.dom.prog.Pass()
		r.dom.prog.Unlock()
		return nil, core.ErrAgain
	}
	op.Ctx, op.Flags = uint64(ctx), report
	op.Silent = flags&core.OpCompletion == 0 && *r.quiet
	op.Multi = flags&core.OpMultiRecv != 0
	return op, nil
}

// Context returns the receive context. Locked.
func (r *Receiver) Context() *engine.RxContext { return r.rx }

// direct sets which receives match the source address, and which need an exact one. FI_EXACT_DIRECTED_RECV without
// FI_TAGGED_DIRECTED_RECV applies to all receives (fi_getinfo(3)).
func (r *Receiver) direct(caps core.Caps, directed bool) {
	exact := caps&core.CapExactDirectedRecv != 0
	tagged := caps&core.CapTaggedDirectedRecv != 0
	r.sources = directed || exact && !tagged
	r.tagSources = r.sources || tagged
	r.exact, r.exactTagged = exact && r.sources, exact
}

// source returns the source to match: src for directed receives, any source for others.
func (r *Receiver) source(src core.FIAddr) uint64 {
	if !r.sources {
		return engine.AnySource
	}
	return uint64(src)
}

// tagSource is source for tagged receives.
func (r *Receiver) tagSource(src core.FIAddr) uint64 {
	if !r.tagSources {
		return engine.AnySource
	}
	return uint64(src)
}

// keySource returns the source to match for a receive with FI_AUTH_KEY. Such a receive names one of the endpoint's
// keys in place of a peer. The endpoint has one key, which all its peers share, so the receive matches any source.
func (r *Receiver) keySource(key core.FIAddr, directed, exact bool) (uint64, error) {
	switch {
	case !directed || r.e == nil || r.e.auth == nil || !r.e.auth.late:
		return 0, core.ErrBadFlags
	case exact || key != r.e.auth.handle:
		return 0, core.ErrInval
	}
	return engine.AnySource, nil
}

// caps implements poster. A shared context has those of the domain's Info.
func (r *Receiver) caps() core.Caps {
	if r.e == nil {
		return r.dom.info.Caps
	}
	return r.e.info.Caps
}

// post posts a receive.
func (r *Receiver) post(op *core.Op) error {
	tagged, flags := op.Call.Tagged(), op.Flags
	exact, report, src := r.exact, msgRx, r.source(op.Addr)
	if tagged {
		exact, report, src = r.exactTagged, tagRx, r.tagSource(op.Addr)
	}
	switch {
	case exact && op.Addr == core.AddrUnspec && flags&core.OpClaim == 0:
		return core.ErrInval
	case flags&core.OpTrigger != 0:
		return r.dom.work.post(r, *op)
	case flags&^recvMsgOK != 0, tagged && flags&core.OpMultiRecv != 0 && r.noTagMulti:
		return core.ErrBadFlags
	case len(op.IOV) > engine.MaxIOV, flags&core.OpMultiRecv != 0 && len(op.IOV) != 1:
		return core.ErrInval
	}
	if flags&core.OpAuthKey != 0 {
		sources := r.sources
		if tagged {
			sources = r.tagSources
		}
		var err error
		if src, err = r.keySource(op.Addr, sources, exact); err != nil {
			return err
		}
	}
	if flags&(core.OpPeek|core.OpClaim|core.OpDiscard) != 0 {
		return r.special(op, src)
	}
	r.dom.prog.Lock()
	if op.Call.Default() {
		flags = r.defaultFlags(tagged)
	}
	rx, err := r.newOp(flags, report, op.Ctx)
	if err != nil {
		return err
	}
	if op.Call.OneBuffer() {
		rx.SetBuf(op.Buf)
	} else {
		rx.SetIOV(op.IOV)
		rx.Multi = rx.Multi && len(op.IOV) == 1
	}
	if tagged {
		r.rx.PostTagged(rx, src, op.Tag, op.Ignore)
	} else {
		r.rx.PostMsg(rx, src)
	}
	r.dom.prog.Unlock()
	return nil
}

// defaultFlags are the flags of the plain calls. A tagged receive by a plain call takes one message. Locked.
func (r *Receiver) defaultFlags(tagged bool) core.OpFlags {
	if tagged {
		return *r.flags &^ core.OpMultiRecv
	}
	return *r.flags
}

// Recv is fi_recv (fi_msg(3)).
func (r *Receiver) Recv(buf []byte, _ core.Desc, src core.FIAddr, ctx core.OpContext) error {
	if r.exact && src == core.AddrUnspec {
		return core.ErrInval
	}
	r.dom.prog.Lock()
	op, err := r.newOp(*r.flags, msgRx, ctx)
	if err != nil {
		return err
	}
	op.SetBuf(buf)
	r.rx.PostMsg(op, r.source(src))
	r.dom.prog.Unlock()
	return nil
}

// TRecv is fi_trecv (fi_tagged(3)).
func (r *Receiver) TRecv(buf []byte, _ core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.OpContext) error {
	if r.exactTagged && src == core.AddrUnspec {
		return core.ErrInval
	}
	r.dom.prog.Lock()
	op, err := r.newOp(*r.flags&^core.OpMultiRecv, tagRx, ctx)
	if err != nil {
		return err
	}
	op.SetBuf(buf)
	r.rx.PostTagged(op, r.tagSource(src), tag, ignore)
	r.dom.prog.Unlock()
	return nil
}
