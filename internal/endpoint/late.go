package endpoint

import "gofabric/core"

// Receives that were accepted before the domain's lock was taken (progress.Inlet). The call has returned success
// already.

// RecvRoom returns the number of receives that RecvLate accepts now. tagged reports whether it accepts tagged ones.
// room is 0 where the call itself must refuse them. Locked.
func (r *Receiver) RecvRoom() (room int, tagged bool) {
	if r.rx == nil || r.exact || *r.flags&core.OpMultiRecv != 0 && r.noMulti || r.ready() != nil {
		return 0, false
	}
	return r.rx.Room(), !r.noTagged && !r.exactTagged
}

// RecvLate is Recv, or TRecv, for a receive that was accepted while RecvRoom had room for it. An error that has
// arisen since then becomes an error entry. Locked.
func (r *Receiver) RecvLate(buf []byte, src core.FIAddr, tagged bool, tag, ignore uint64, ctx core.OpContext) {
	op := r.rx.LateOp()
	op.Ctx, op.Flags = uint64(ctx), msgRx
	flags := *r.flags
	if tagged {
		op.Flags = tagRx
		flags &^= core.OpMultiRecv
	}
	op.Silent = flags&core.OpCompletion == 0 && *r.quiet
	op.Multi = flags&core.OpMultiRecv != 0
	op.SetBuf(buf)
	switch err := r.ready(); {
	case err != nil:
		r.rx.Fail(op, err)
	case tagged:
		r.rx.PostTagged(op, r.tagSource(src), tag, ignore)
	default:
		r.rx.PostMsg(op, r.source(src))
	}
}
