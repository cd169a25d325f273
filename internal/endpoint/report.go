package endpoint

import (
	"gofabric/core"
	"gofabric/cq"
	"gofabric/internal/xnet/engine"
)

// kindCounter is the counter that counts each kind of operation, as an index of Endpoint.cntr (fi_cntr(3)).
var kindCounter = [...]int{
	engine.KindSend:        cntrTx,
	engine.KindRecv:        cntrRx,
	engine.KindRead:        cntrRead,
	engine.KindWrite:       cntrWrite,
	engine.KindRemoteRead:  cntrRemoteRead,
	engine.KindRemoteWrite: cntrRemoteWrite,
	engine.KindAtomic:      cntrWrite, // fi_cntr(3) counts atomics with writes, and fetching ones with reads
	engine.KindFetch:       cntrRead,
	engine.KindCompare:     cntrRead,
	engine.KindColl:        cntrWrite,
}

// kindName is the name of each kind of operation in error texts.
var kindName = [...]string{
	engine.KindSend:        "send",
	engine.KindRecv:        "receive",
	engine.KindRead:        "read",
	engine.KindWrite:       "write",
	engine.KindRemoteRead:  "read by the peer",
	engine.KindRemoteWrite: "write by the peer",
	engine.KindAtomic:      "atomic",
	engine.KindFetch:       "fetch atomic",
	engine.KindCompare:     "compare atomic",
	engine.KindColl:        "collective",
}

// Completed implements engine.Sink: it counts the operation and writes its queue entry. c is borrowed for the call.
// Locked.
func (e *Endpoint) Completed(c *engine.Completion) {
	if c.Owner != nil {
		e.owned(c)
		return
	}
	if e.closed {
		return
	}
	cn := e.cntr[kindCounter[c.Kind]]
	if c.Mark != 0 {
		e.did.end(c.Mark, c.Err == nil)
	}
	if c.Peek {
		cn = nil // nothing was received
	} else if c.Err == nil {
		e.did.kinds[c.Kind].count(c.Len)
	}
	if c.Err != nil {
		e.completedErr(c, cn)
		return
	}
	if cn != nil {
		cn.Complete(int(c.Len))
	}
	received := c.Kind == engine.KindRecv || c.Kind == engine.KindRemoteWrite
	if c.Inject || c.Silent && !c.Release || e.closed {
		return
	}
	q := e.txCQ
	if received {
		q = e.rxCQ
	}
	if q == nil {
		return
	}
	if !received {
		fillSent(q.Queue, core.OpContext(c.Ctx), core.CompFlags(c.Flags))
		return
	}
	s := q.Slot()
	s.Ctx, s.Flags, s.Len, s.Src = core.OpContext(c.Ctx), core.CompFlags(c.Flags), int(c.Len), core.FIAddr(c.Src)
	if c.Kind == engine.KindRemoteWrite {
		s.Flags = core.CompRMA | core.CompRemoteWrite
		if c.Atomic {
			s.Flags = core.CompAtomic | core.CompRemoteWrite
		}
	}
	if c.HasData {
		s.Flags |= core.CompRemoteCQData
	}
	if c.Release {
		s.Flags |= core.CompMultiRecv
	}
	if !q.Lean() {
		s.Buf, s.Data, s.Tag = c.Buf, c.Data, c.Tag
	}
	if e.userIDs {
		s.Src = e.av.UserID(s.Src)
	}
}

// Sent implements engine.Sink. It is the fast path of Completed for a send that succeeded.
func (e *Endpoint) Sent(o *engine.Send) {
	if o.Owner != nil {
		e.d.ended = o.Completion(engine.AnySource)
		e.owned(&e.d.ended)
		return
	}
	n := o.Len()
	e.did.kinds[engine.KindSend].count(uint64(n))
	if o.Mark != 0 {
		e.did.end(o.Mark, true)
	}
	if cn := e.cntr[cntrTx]; cn != nil {
		cn.Complete(n)
	}
	if o.Silent || o.Inject || e.txCQ == nil || e.closed {
		return
	}
	fillSent(e.txCQ.Queue, core.OpContext(o.Ctx), core.CompFlags(o.Flags))
}

// fillSent writes the queue entry of a completed transmit.
func fillSent(q *cq.Queue, ctx core.OpContext, flags core.CompFlags) {
	s := q.Slot()
	s.Ctx, s.Flags, s.Len, s.Src = ctx, flags, 0, core.AddrNotAvail
	if !q.Lean() {
		s.Buf, s.Data, s.Tag = nil, 0, 0
	}
}

// Received implements engine.Sink. It is the fast path of Completed for a receive that succeeded.
func (e *Endpoint) Received(r *engine.RxOp) {
	if r.Owner != nil {
		e.d.ended = r.Completion()
		e.owned(&e.d.ended)
		return
	}
	n := r.Len()
	e.did.kinds[engine.KindRecv].count(n)
	if cn := e.cntr[cntrRx]; cn != nil {
		cn.Complete(int(n))
	}
	if r.Silent || e.rxCQ == nil || e.closed {
		return
	}
	q := e.rxCQ.Queue
	s := q.Slot()
	s.Ctx, s.Flags, s.Len, s.Src = core.OpContext(r.Ctx), core.CompFlags(r.Flags), int(n), core.FIAddr(r.Source())
	data, has := r.Data()
	if has {
		s.Flags |= core.CompRemoteCQData
	}
	if !q.Lean() {
		s.Buf, s.Data, s.Tag = r.Buf(), data, r.Tag()
	}
	if e.userIDs {
		s.Src = e.av.UserID(s.Src)
	}
}

// SentOne reports the success of one send without a connection, as Completed does. A silent one is only counted. n
// is the length in bytes. Locked.
func (e *Endpoint) SentOne(ctx core.OpContext, flags core.CompFlags, n int, silent bool) {
	e.did.kinds[engine.KindSend].count(uint64(n))
	if cn := e.cntr[cntrTx]; cn != nil {
		cn.Complete(n)
	}
	if !silent && e.txCQ != nil && !e.closed {
		fillSent(e.txCQ.Queue, ctx, flags)
	}
}

// TransmitRefused and ReceiveRefused count calls that returned ErrAgain, for endpoints without connections. Locked.
func (e *Endpoint) TransmitRefused() { e.did.againTx++ }
func (e *Endpoint) ReceiveRefused()  { e.did.againRx++ }

// ReceivedOne is SentOne for a receive. buf holds the message.
func (e *Endpoint) ReceivedOne(ctx core.OpContext, flags core.CompFlags, n int, src core.FIAddr, buf []byte, silent bool) {
	e.did.kinds[engine.KindRecv].count(uint64(n))
	if cn := e.cntr[cntrRx]; cn != nil {
		cn.Complete(n)
	}
	if silent || e.rxCQ == nil || e.closed {
		return
	}
	q := e.rxCQ.Queue
	s := q.Slot()
	s.Ctx, s.Flags, s.Len, s.Src = ctx, flags, n, src
	if !q.Lean() {
		s.Buf, s.Data, s.Tag = buf, 0, 0
	}
	if e.userIDs {
		s.Src = e.av.UserID(src)
	}
}

// locatedOwner is an owner that needs the endpoint at which its operation completes.
type locatedOwner interface{ completesAt(e *Endpoint) }

// owned passes a completion to the operation's owner. Deferred work also needs the endpoint, since a shared receive
// context serves several.
func (e *Endpoint) owned(c *engine.Completion) {
	if o, ok := c.Owner.(locatedOwner); ok && !e.scalable { // a scalable endpoint's contexts report for themselves
		o.completesAt(e)
	}
	c.Owner.Done(c)
}

// completedErr writes the error entry of a failed operation.
func (e *Endpoint) completedErr(c *engine.Completion, cn *Counter) {
	if !c.Peek {
		e.did.kinds[c.Kind].errs++
	}
	if cn != nil {
		cn.IncErr()
	}
	received := c.Kind == engine.KindRecv || c.Kind == engine.KindRemoteWrite
	q := e.txCQ
	if received {
		q = e.rxCQ
	}
	if q == nil || e.closed {
		return
	}
	ee := &e.errEntry
	*ee = core.CQErrEntry{OLen: int(c.OLen), Err: Errno(c.Err), ProvErrno: ProvErrno(c.Err), SrcAddr: core.FIAddr(c.Src)}
	if e.userIDs {
		ee.SrcAddr = e.av.UserID(ee.SrcAddr)
	}
	ee.Ctx, ee.Flags, ee.Len, ee.Data, ee.Tag = core.OpContext(c.Ctx), core.CompFlags(c.Flags), int(c.Len), c.Data, c.Tag
	if received {
		ee.Buf = c.Buf
		if c.HasData {
			ee.Flags |= core.CompRemoteCQData
		}
	}
	if c.Release {
		ee.Flags |= core.CompMultiRecv
	}
	local, peer := e.ends(c.Src)
	ee.Detail = e.d.cfg.Names.Detail(kindName[c.Kind], local, peer, c.Err)
	if peer.IsValid() {
		ee.Peer = core.IPAddr(peer)
	}
	q.PushErr(ee)
	ee.Buf = nil
}

// Replied implements engine.Sink. It has nothing to do: the answers of the engine leave after the received bytes
// are parsed.
func (e *Endpoint) Replied(*engine.Conn) {}

// NoConnections implements the methods of engine.Sink about connections, for sinks without connections.
type NoConnections struct{}

// Requested, Connected, Failed and Resumed implement engine.Sink.
func (NoConnections) Requested(*engine.Conn, []byte)     {}
func (NoConnections) Connected(*engine.Conn, []byte)     {}
func (NoConnections) Failed(*engine.Conn, error, []byte) {}
func (NoConnections) Resumed(*engine.Conn)               {}

// RxSink takes the completions of receives that belong to no connection. It is the engine.Sink of an endpoint's
// receive context.
type RxSink struct {
	*Endpoint
	NoConnections
}
