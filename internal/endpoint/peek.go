package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// special handles receives with the flags FI_PEEK, FI_CLAIM and FI_DISCARD (fi_tagged(3)).
func (r *Receiver) special(p *core.Op, src uint64) error {
	tagged, flags, ctx := p.Call.Tagged(), p.Flags, p.Ctx
	report := tagRx
	if !tagged {
		report = msgRx
	}
	if flags&(core.OpPeek|core.OpClaim) == 0 {
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
	if flags&core.OpPeek != 0 {
		r.dom.prog.Pass() // the message may still be in the socket
		return peekErr(r.rx.Peek(tagged, src, p.Tag, p.Ignore, uint64(ctx), report, flags&core.OpClaim != 0, flags&core.OpDiscard != 0))
	}
	if flags&core.OpDiscard != 0 {
		return peekErr(r.rx.Discard(uint64(ctx), report))
	}
	op := r.rx.NewOp()
	if op == nil {
		return core.ErrAgain
	}
	op.Ctx, op.Flags = uint64(ctx), report
	op.SetIOV(p.IOV)
	if err := r.rx.Claim(op); err != nil {
		r.rx.FreeOp(op)
		return peekErr(err)
	}
	return nil
}

// peekErr maps the errors of a claim or discard.
func peekErr(err error) error {
	switch err {
	case nil:
		return nil
	case engine.ErrNoMessage:
		return core.ErrInval // FI_CLAIM without a peek that had this context
	}
	return Errno(err)
}
