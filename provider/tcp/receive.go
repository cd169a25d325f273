package tcp

import (
	"gofabric/core"
	"gofabric/provider/tcp/engine"
)

// receiver is the receive side of an endpoint, a shared context, or an alias of an endpoint.
type receiver struct {
	dom     *domain
	rx      *engine.RxContext
	quiet   func() bool       // selective completion
	ready   func() error      // refuses calls in the wrong state; locked
	flags   func() core.Flags // default operation flags
	sources bool              // directed receives: src counts

	noTagged, noMulti bool // not asked for
}

const (
	msgRx     = uint64(core.CapMsg | core.Recv)
	tagRx     = uint64(core.CapTagged | core.Recv)
	recvMsgOK = core.Completion | core.MultiRecv | core.More | core.Peek | core.Claim | core.Discard
)

// begin locks and returns a receive to fill in; on failure it has unlocked.
func (r *receiver) begin(flags core.Flags, report uint64, ctx core.Context) (*engine.RxOp, error) {
	r.dom.prog.Lock()
	if err := r.ready(); err != nil {
		r.dom.prog.Unlock()
		return nil, err
	}
	if r.noTagged && report == tagRx {
		r.dom.prog.Unlock()
		return nil, core.ErrNoSys
	}
	if r.noMulti && flags&core.MultiRecv != 0 {
		r.dom.prog.Unlock()
		return nil, core.ErrBadFlags
	}
	op := r.rx.NewOp()
	if op == nil {
		r.dom.prog.Pass()
		r.dom.prog.Unlock()
		return nil, core.ErrAgain
	}
	op.Ctx, op.Flags = uint64(ctx), report
	op.Silent = flags&core.Completion == 0 && r.quiet()
	op.Multi = flags&core.MultiRecv != 0
	return op, nil
}

func (r *receiver) source(src core.FIAddr) uint64 {
	if !r.sources {
		return engine.AnySource
	}
	return uint64(src)
}

func (r *receiver) Recv(buf []byte, _ core.Desc, src core.FIAddr, ctx core.Context) error {
	op, err := r.begin(r.flags(), msgRx, ctx)
	if err != nil {
		return err
	}
	op.SetBuf(buf)
	r.rx.PostMsg(op, r.source(src))
	r.dom.prog.Unlock()
	return nil
}

func (r *receiver) RecvV(iov [][]byte, _ []core.Desc, src core.FIAddr, ctx core.Context) error {
	if len(iov) > iovLimit {
		return core.ErrInval
	}
	op, err := r.begin(r.flags(), msgRx, ctx)
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

func (r *receiver) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	if len(m.IOV) > iovLimit || flags&core.MultiRecv != 0 && len(m.IOV) != 1 {
		return core.ErrInval
	}
	if flags&^recvMsgOK != 0 {
		return core.ErrBadFlags
	}
	if flags&(core.Peek|core.Claim|core.Discard) != 0 {
		return r.special(false, m.IOV, r.source(m.Addr), 0, 0, m.Ctx, flags)
	}
	op, err := r.begin(flags, msgRx, m.Ctx)
	if err != nil {
		return err
	}
	op.SetIOV(m.IOV)
	r.rx.PostMsg(op, r.source(m.Addr))
	r.dom.prog.Unlock()
	return nil
}

func (r *receiver) TRecv(buf []byte, _ core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	op, err := r.begin(r.flags()&^core.MultiRecv, tagRx, ctx)
	if err != nil {
		return err
	}
	op.SetBuf(buf)
	r.rx.PostTagged(op, r.source(src), tag, ignore)
	r.dom.prog.Unlock()
	return nil
}

func (r *receiver) TRecvV(iov [][]byte, _ []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	if len(iov) > iovLimit {
		return core.ErrInval
	}
	op, err := r.begin(r.flags()&^core.MultiRecv, tagRx, ctx)
	if err != nil {
		return err
	}
	op.SetIOV(iov)
	r.rx.PostTagged(op, r.source(src), tag, ignore)
	r.dom.prog.Unlock()
	return nil
}

func (r *receiver) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	if len(m.IOV) > iovLimit {
		return core.ErrInval
	}
	if flags&^(recvMsgOK&^core.MultiRecv) != 0 {
		return core.ErrBadFlags
	}
	if flags&(core.Peek|core.Claim|core.Discard) != 0 {
		return r.special(true, m.IOV, r.source(m.Addr), m.Tag, m.Ignore, m.Ctx, flags)
	}
	op, err := r.begin(flags, tagRx, m.Ctx)
	if err != nil {
		return err
	}
	op.SetIOV(m.IOV)
	r.rx.PostTagged(op, r.source(m.Addr), m.Tag, m.Ignore)
	r.dom.prog.Unlock()
	return nil
}

// special serves peek, claim and discard (fi_tagged(3)).
func (r *receiver) special(tagged bool, iov [][]byte, src, tag, ignore uint64, ctx core.Context, flags core.Flags) error {
	report := tagRx
	if !tagged {
		report = msgRx
	}
	if flags&(core.Peek|core.Claim) == 0 {
		return core.ErrInval // FI_DISCARD goes with one of them
	}
	r.dom.prog.Lock()
	defer r.dom.prog.Unlock()
	if err := r.ready(); err != nil {
		return err
	}
	if r.noTagged && tagged {
		return core.ErrNoSys
	}
	if flags&core.Peek != 0 {
		r.dom.prog.Pass() // the message may be in the socket
		return peekErr(r.rx.Peek(tagged, src, tag, ignore, uint64(ctx), report, flags&core.Claim != 0, flags&core.Discard != 0))
	}
	if flags&core.Discard != 0 {
		return peekErr(r.rx.Discard(uint64(ctx), report))
	}
	op := r.rx.NewOp()
	if op == nil {
		return core.ErrAgain
	}
	op.Ctx, op.Flags = uint64(ctx), report
	op.SetIOV(iov)
	if err := r.rx.Claim(op); err != nil {
		r.rx.FreeOp(op)
		return peekErr(err)
	}
	return nil
}

func peekErr(err error) error {
	switch err {
	case nil:
		return nil
	case engine.ErrNoMessage:
		return core.ErrInval // claiming what was not peeked with this context
	}
	return errnoOf(err)
}
