package front

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Receiver is the receive calls (core.Receiver and TaggedReceiver; fi_msg(3), fi_tagged(3)) of an endpoint, a shared context, or an alias of an endpoint.
// Buffers, errors and concurrency are as core says of these calls. A provider embeds it in its endpoints.
type Receiver struct {
	dom     *Domain
	rx      *engine.RxContext
	ready   func() error // refuses calls in the wrong state; locked
	quiet   *bool        // selective completion
	flags   *core.Flags  // default operation flags
	sources bool         // directed receives: src counts
	e       *Endpoint    // nil of a shared context

	tagSources     bool // of tagged receives
	exact, tagKnow bool // with these, src must name somebody (FI_EXACT_DIRECTED_RECV)

	noTagged, noMulti, noTagMulti bool // not asked for
}

const (
	msgRx     = uint64(core.CapMsg | core.Recv)
	tagRx     = uint64(core.CapTagged | core.Recv)
	recvMsgOK = core.Completion | core.MultiRecv | core.More | core.Peek | core.Claim | core.Discard | core.AuthKey
)

// InitReceiver prepares r, which posts to rx, the receive context of e. ready refuses calls in the wrong state and is called locked (Endpoint.CanReceive
// does for most); with directed the source address of a receive counts (FI_DIRECTED_RECV, FI_TAGGED_DIRECTED_RECV), as far as the Info says so.
func (r *Receiver) InitReceiver(e *Endpoint, rx *engine.RxContext, ready func() error, directed bool) {
	caps := e.info.Caps
	e.recv = r
	e.initCollective(e.tx, rx)
	*r = Receiver{dom: e.d, rx: rx, ready: ready, quiet: &e.rxQuiet, flags: &e.rxFlags, e: e,
		noTagged: caps&core.CapTagged == 0, noMulti: caps&core.CapMultiRecv == 0, noTagMulti: caps&core.CapTaggedMultiRecv == 0,
	}
	r.direct(caps, directed)
}

// begin locks and returns a receive to fill in; on failure it has unlocked. plain is begin for the calls without flags of their own.
func (r *Receiver) begin(flags core.Flags, report uint64, ctx core.Context) (*engine.RxOp, error) {
	r.dom.prog.Lock()
	return r.newOp(flags, report, ctx)
}

func (r *Receiver) plain(mask core.Flags, report uint64, ctx core.Context) (*engine.RxOp, error) {
	r.dom.prog.Lock()
	return r.newOp(*r.flags&mask, report, ctx)
}

func (r *Receiver) newOp(flags core.Flags, report uint64, ctx core.Context) (*engine.RxOp, error) {
	if err := r.ready(); err != nil {
		r.dom.prog.Unlock()
		return nil, err
	}
	if r.noTagged && report == tagRx {
		r.dom.prog.Unlock()
		return nil, core.ErrNoSys
	}
	if flags&core.MultiRecv != 0 && r.noMulti && report == msgRx {
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
	op.Silent = flags&core.Completion == 0 && *r.quiet
	op.Multi = flags&core.MultiRecv != 0
	return op, nil
}

// Context is where the receives are posted. Locked.
func (r *Receiver) Context() *engine.RxContext { return r.rx }

// direct says of which receives the source counts, and of which it must be exact. FI_EXACT_DIRECTED_RECV alone is about all of them (fi_getinfo(3)).
func (r *Receiver) direct(caps core.Flags, directed bool) {
	exact := caps&core.CapExactDirectedRecv != 0
	tagged := caps&core.CapTaggedDirectedRecv != 0
	r.sources = directed || exact && !tagged
	r.tagSources = r.sources || tagged
	r.exact, r.tagKnow = exact && r.sources, exact
}

func (r *Receiver) source(src core.FIAddr) uint64 {
	if !r.sources {
		return engine.AnySource
	}
	return uint64(src)
}

// tagSource is source of tagged receives.
func (r *Receiver) tagSource(src core.FIAddr) uint64 {
	if !r.tagSources {
		return engine.AnySource
	}
	return uint64(src)
}

// keySource is the source of receives with FI_AUTH_KEY, which name one of the endpoint's keys in place of a peer: all of its peers have its only key.
func (r *Receiver) keySource(key core.FIAddr, directed, exact bool) (uint64, error) {
	switch {
	case !directed || r.e == nil || r.e.auth == nil || !r.e.auth.late:
		return 0, core.ErrBadFlags
	case exact || key != r.e.auth.handle:
		return 0, core.ErrInval
	}
	return engine.AnySource, nil
}

// Recv is fi_recv (fi_msg(3)).
func (r *Receiver) Recv(buf []byte, _ core.Desc, src core.FIAddr, ctx core.Context) error {
	if r.exact && src == core.AddrUnspec {
		return core.ErrInval
	}
	op, err := r.plain(^core.Flags(0), msgRx, ctx)
	if err != nil {
		return err
	}
	op.SetBuf(buf)
	r.rx.PostMsg(op, r.source(src))
	r.dom.prog.Unlock()
	return nil
}

// RecvV is fi_recvv (fi_msg(3)).
func (r *Receiver) RecvV(iov [][]byte, _ []core.Desc, src core.FIAddr, ctx core.Context) error {
	if r.exact && src == core.AddrUnspec {
		return core.ErrInval
	}
	if len(iov) > engine.MaxIOV {
		return core.ErrInval
	}
	op, err := r.plain(^core.Flags(0), msgRx, ctx)
	if err != nil {
		return err
	}
	op.SetIOV(iov)
	if len(iov) != 1 {
		op.Multi = false
	}
	r.rx.PostMsg(op, r.source(src))
	r.dom.prog.Unlock()
	return nil
}

// RecvMsg is fi_recvmsg (fi_msg(3)).
func (r *Receiver) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	if r.exact && m.Addr == core.AddrUnspec && flags&core.Claim == 0 {
		return core.ErrInval
	}
	if flags&core.Trigger != 0 {
		return r.triggerRecv(m, flags)
	}
	if len(m.IOV) > engine.MaxIOV || flags&core.MultiRecv != 0 && len(m.IOV) != 1 {
		return core.ErrInval
	}
	if flags&^recvMsgOK != 0 {
		return core.ErrBadFlags
	}
	src := r.source(m.Addr)
	if flags&core.AuthKey != 0 {
		var err error
		if src, err = r.keySource(m.Addr, r.sources, r.exact); err != nil {
			return err
		}
	}
	if flags&(core.Peek|core.Claim|core.Discard) != 0 {
		return r.special(false, m.IOV, src, 0, 0, m.Ctx, flags)
	}
	op, err := r.begin(flags, msgRx, m.Ctx)
	if err != nil {
		return err
	}
	op.SetIOV(m.IOV)
	r.rx.PostMsg(op, src)
	r.dom.prog.Unlock()
	return nil
}

// TRecv is fi_trecv (fi_tagged(3)).
func (r *Receiver) TRecv(buf []byte, _ core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	if r.tagKnow && src == core.AddrUnspec {
		return core.ErrInval
	}
	op, err := r.plain(^core.MultiRecv, tagRx, ctx)
	if err != nil {
		return err
	}
	op.SetBuf(buf)
	r.rx.PostTagged(op, r.tagSource(src), tag, ignore)
	r.dom.prog.Unlock()
	return nil
}

// TRecvV is fi_trecvv (fi_tagged(3)).
func (r *Receiver) TRecvV(iov [][]byte, _ []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	if r.tagKnow && src == core.AddrUnspec {
		return core.ErrInval
	}
	if len(iov) > engine.MaxIOV {
		return core.ErrInval
	}
	op, err := r.plain(^core.MultiRecv, tagRx, ctx)
	if err != nil {
		return err
	}
	op.SetIOV(iov)
	r.rx.PostTagged(op, r.tagSource(src), tag, ignore)
	r.dom.prog.Unlock()
	return nil
}

// TRecvMsg is fi_trecvmsg (fi_tagged(3)).
func (r *Receiver) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	if r.tagKnow && m.Addr == core.AddrUnspec && flags&core.Claim == 0 {
		return core.ErrInval
	}
	if flags&core.Trigger != 0 {
		return r.triggerTRecv(m, flags)
	}
	if flags&^recvMsgOK != 0 || flags&core.MultiRecv != 0 && r.noTagMulti {
		return core.ErrBadFlags
	}
	if len(m.IOV) > engine.MaxIOV || flags&core.MultiRecv != 0 && len(m.IOV) != 1 {
		return core.ErrInval
	}
	src := r.tagSource(m.Addr)
	if flags&core.AuthKey != 0 {
		var err error
		if src, err = r.keySource(m.Addr, r.tagSources, r.tagKnow); err != nil {
			return err
		}
	}
	if flags&(core.Peek|core.Claim|core.Discard) != 0 {
		return r.special(true, m.IOV, src, m.Tag, m.Ignore, m.Ctx, flags)
	}
	op, err := r.begin(flags, tagRx, m.Ctx)
	if err != nil {
		return err
	}
	op.SetIOV(m.IOV)
	r.rx.PostTagged(op, src, m.Tag, m.Ignore)
	r.dom.prog.Unlock()
	return nil
}
