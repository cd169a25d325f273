// Receives. Each datagram completes the oldest posted receive, as DGRAM endpoints have no tags and no directed
// receives.

package dgramep

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/xnet/engine"
)

// maxIOV is the most buffers of an operation, which is native's number.
const maxIOV = 4

const (
	msgTx = uint64(core.CompMsg | core.CompSend)
	msgRx = uint64(core.CompMsg | core.CompRecv)
)

// receive is a posted receive.
type receive struct {
	iov    [maxIOV][]byte
	n      int // used elements of iov
	ctx    core.OpContext
	silent bool
}

// receives are the receive calls of an endpoint or alias (fi_msg(3)).
type receives struct {
	e     *dgramEndpoint
	own   bool // flags apply; otherwise the endpoint's do
	flags core.OpFlags
}

func (r *receives) defaults() core.OpFlags {
	if r.own {
		return r.flags
	}
	return r.e.DefaultFlags(core.BindRecv)
}

// Recv is fi_recv (fi_msg(3)).
func (r *receives) Recv(buf []byte, _ core.Desc, _ core.FIAddr, ctx core.OpContext) error {
	e := r.e
	e.prog.Lock()
	op, err := e.newReceive(r.defaults(), ctx)
	if err == nil {
		op.iov[0], op.n = buf, 1
		e.serve()
	}
	e.prog.Unlock()
	return err
}

// TRecv fails: datagrams have no tags.
func (*receives) TRecv([]byte, core.Desc, core.FIAddr, uint64, uint64, core.OpContext) error {
	return core.ErrNoSys
}

// receive posts a receive. There are no multi-receives, and no peeks.
func (r *receives) receive(op *core.Op) error {
	if op.Flags&^(core.OpCompletion|core.OpMore) != 0 {
		return core.ErrBadFlags
	}
	e, flags := r.e, op.Flags
	e.prog.Lock()
	if op.Call.Default() {
		flags = r.defaults()
	}
	err := e.recvV(op.IOV, flags, op.Ctx)
	e.prog.Unlock()
	return err
}

func (e *dgramEndpoint) recvV(iov [][]byte, flags core.OpFlags, ctx core.OpContext) error {
	if len(iov) > maxIOV {
		return core.ErrInval
	}
	op, err := e.newReceive(flags, ctx)
	if err == nil {
		op.n = copy(op.iov[:], iov)
		e.serve()
	}
	return err
}

// newReceive appends a receive, which the caller fills in before it calls serve.
func (e *dgramEndpoint) newReceive(flags core.OpFlags, ctx core.OpContext) (*receive, error) {
	switch {
	case !e.Enabled():
		return nil, core.ErrOpBadState
	case e.srx != nil:
		return nil, core.ErrOpNotSupp // receives are posted to the shared context (fi_srx_context(3))
	case e.lost != nil:
		return nil, e.lost
	case e.posted.Len() >= e.rxSize:
		e.ReceiveRefused()
		e.prog.Pass()
		return nil, core.ErrAgain
	}
	op := e.posted.Add()
	op.ctx, op.silent = ctx, e.SilentRx(flags)
	return op, nil
}

// serve completes the oldest receive with a datagram that came before it.
func (e *dgramEndpoint) serve() {
	if e.early.list.Len() > 0 {
		from, a, b := e.early.take()
		e.received(from, a, b)
	}
}

// received completes the oldest receive with a datagram, whose bytes are a followed by b. Native silently truncates
// a datagram that is too long. Here it is an error, as with every other kind of endpoint (fi_cq(3), FI_ETRUNC).
func (e *dgramEndpoint) received(from netip.AddrPort, a, b []byte) {
	op := e.rx.At(0)
	n, k := 0, 0
	for i := range op.n {
		to := op.iov[i]
		for len(to) > 0 && len(a) > 0 {
			k = copy(to, a)
			n, to = n+k, to[k:]
			if a = a[k:]; len(a) == 0 {
				a, b = b, nil
			}
		}
	}
	src := core.AddrNotAvail
	if e.sources {
		src = e.AV().ReverseAddrPort(from)
	}
	if lost := len(a) + len(b); lost > 0 {
		e.done = engine.Completion{Kind: engine.KindRecv, Flags: msgRx, Ctx: uint64(op.ctx), Silent: op.silent, Len: uint64(n), Src: uint64(src), Buf: op.iov[0],
			OLen: uint64(lost), Err: engine.ErrTruncated}
		e.rx.Drop()
		e.collector().Completed(&e.done)
		e.done.Buf = nil
		return
	}
	ctx, buf, silent := op.ctx, op.iov[0], op.silent
	e.rx.Drop()
	e.collector().ReceivedOne(ctx, core.CompFlags(msgRx), n, src, buf, silent)
}

// failReceives ends all receives.
func (e *dgramEndpoint) failReceives(err error) {
	for e.posted.Len() > 0 {
		op := e.posted.Remove(0)
		e.failReceive(&op, err)
	}
}

func (e *dgramEndpoint) failReceive(op *receive, err error) { e.Completed(op.failed(err)) }

// failed returns the completion of a receive that ends with an error.
func (op *receive) failed(err error) *engine.Completion {
	return &engine.Completion{Kind: engine.KindRecv, Flags: msgRx, Ctx: uint64(op.ctx), Src: engine.AnySource, Buf: op.iov[0], Err: err}
}

// collector returns the object whose queues report receives: the shared context if it has queues, otherwise the
// endpoint.
func (e *dgramEndpoint) collector() *endpoint.Endpoint {
	if e.srx == nil {
		return &e.Endpoint
	}
	return e.srx.Reporter(&e.Endpoint)
}
