package sim

import "gofabric/internal/xnet/engine"

// app is the application at a node: what it has posted and what was sent to it, over any stack.
type app struct {
	id    int
	rx    *engine.RxContext
	flush func() // transmits what the engine has queued since the last call

	posted   []*op // receives
	incoming []*op // messages sent to this node
	claims   []*op
}

// newApp makes the receive side of a node with the run's features.
func (w *World) newApp(id int, pool *engine.Pool, sink engine.Sink) app {
	a := app{id: id, rx: engine.NewRxContext(pool, sink)}
	a.rx.MinMulti = w.s.IntN(200)
	if w.f.budgets {
		a.rx.PeerLimit = uint64(1 + w.s.IntN(20000))
		a.rx.Limit = a.rx.PeerLimit * 3 / 2
		a.rx.PeerMessages = w.s.IntN(10)
	}
	return a
}

// describe converts a completion for the ledger.
func describe(c *engine.Completion) done {
	d := done{
		kind: kinds[c.Kind], inject: c.Inject, hasData: c.HasData, release: c.Release, ctx: c.Ctx, n: c.Len,
		over: c.OLen, data: c.Data, tag: c.Tag, src: c.Src,
		buf: c.Buf, err: c.Err,
	}
	switch c.Err {
	case nil:
	case engine.ErrTruncated:
		d.how = truncated
	case engine.ErrCanceled:
		d.how = canceled
	case engine.ErrNoMessage:
		d.how = noMessage
	default:
		d.how = failed
		if _, ok := c.Err.(*engine.RefusedError); ok {
			d.how = refused
		}
	}
	return d
}

var kinds = [...]opKind{
	engine.KindSend: opSend, engine.KindRecv: opRecv, engine.KindRead: opRead, engine.KindWrite: opWrite,
	engine.KindFetch: opFetch, engine.KindAtomic: opAdd,
}

// discard is the sink for completions that belong to no connection.
type discard func(*engine.Completion)

func (n discard) Completed(c *engine.Completion)     { n(c) }
func (n discard) Sent(*engine.Send)                  { panic("no connection") }
func (n discard) Received(*engine.RxOp)              { panic("no connection") }
func (n discard) Requested(*engine.Conn, []byte)     { panic("no connection") }
func (n discard) Connected(*engine.Conn, []byte)     { panic("no connection") }
func (n discard) Failed(*engine.Conn, error, []byte) { panic("no connection") }
func (n discard) Replied(*engine.Conn)               { panic("no connection") }
func (n discard) Resumed(*engine.Conn)               { panic("no connection") }
