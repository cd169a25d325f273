package tcp

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/progress"
	"gofabric/provider/tcp/engine"
)

// endpoint is what MSG and RDM endpoints have in common: bindings, flags, and the reporting of completions. It implements engine.Sink in part.
type endpoint struct {
	d    *domain
	prog *progress.Engine
	info *core.Info

	enabled bool // guarded by the lock
	closed  bool

	txCQ, rxCQ       *completionQueue
	txQuiet, rxQuiet bool // selective completion: only on request
	cntr             [6]*counter
	eq               *eventQueue
	txFlags, rxFlags core.Flags // default operation flags

	// ends returns the addresses of the connection to a peer, for error texts.
	ends func(src uint64) (local, peer netip.AddrPort)

	errEntry core.CQErrEntry
}

// Places in endpoint.cntr.
const (
	cntrTx = iota
	cntrRx
	cntrRead
	cntrWrite
	cntrRemoteRead
	cntrRemoteWrite
)

func (e *endpoint) init(d *domain, info *core.Info) {
	e.d, e.prog, e.info = d, d.prog, info.Dup()
	if info.Tx != nil {
		e.txFlags = info.Tx.OpFlags
	}
	if info.Rx != nil {
		e.rxFlags = info.Rx.OpFlags
	}
}

func (e *endpoint) name() string { return "endpoint on " + e.d.info.Domain.Name }

// BindCQ binds a completion queue (fi_ep_bind(3)).
func (e *endpoint) BindCQ(q core.CompletionQueue, flags core.Flags) error {
	cq, ok := q.(*completionQueue)
	if !ok || cq.d != e.d {
		return opError("fi_ep_bind", e.name(), noPeer, core.ErrInval, "the completion queue belongs to another domain")
	}
	if flags&^(core.Transmit|core.Recv|core.SelectiveCompletion) != 0 || flags&(core.Transmit|core.Recv) == 0 {
		return opError("fi_ep_bind", e.name(), noPeer, core.ErrBadFlags, "flags are BindTransmit, BindRecv and SelectiveCompletion")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.enabled || flags&core.Transmit != 0 && e.txCQ != nil || flags&core.Recv != 0 && e.rxCQ != nil {
		return opError("fi_ep_bind", e.name(), noPeer, core.ErrInval, "bind each direction once, before Enable")
	}
	if flags&core.Transmit != 0 {
		e.txCQ, e.txQuiet = cq, flags&core.SelectiveCompletion != 0
		cq.Ref()
	}
	if flags&core.Recv != 0 {
		e.rxCQ, e.rxQuiet = cq, flags&core.SelectiveCompletion != 0
		cq.Ref()
	}
	return nil
}

// BindCounter binds a counter to the traffic that flags name.
func (e *endpoint) BindCounter(c core.Counter, flags core.Flags) error {
	cn, ok := c.(*counter)
	if !ok || cn.d != e.d {
		return opError("fi_ep_bind", e.name(), noPeer, core.ErrInval, "the counter belongs to another domain")
	}
	kinds := []core.Flags{core.Send, core.Recv, core.Read, core.Write, core.RemoteRead, core.RemoteWrite}
	var all core.Flags
	for _, k := range kinds {
		all |= k
	}
	if flags&^all != 0 || flags == 0 {
		return opError("fi_ep_bind", e.name(), noPeer, core.ErrBadFlags, "flags are Send, Recv, Read, Write, RemoteRead and RemoteWrite")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	for i, k := range kinds {
		if flags&k == 0 {
			continue
		}
		if e.cntr[i] != nil {
			return opError("fi_ep_bind", e.name(), noPeer, core.ErrInval, "there is a counter for that already")
		}
		e.cntr[i] = cn
		cn.Ref()
	}
	return nil
}

// BindEQ binds an event queue.
func (e *endpoint) BindEQ(q core.EventQueue, _ core.Flags) error {
	eq, err := eventQueueOf(q)
	if err != nil {
		return err
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.eq != nil {
		return opError("fi_ep_bind", e.name(), noPeer, core.ErrInval, "there is an event queue already")
	}
	eq.Ref()
	eq.AddProgress(e.prog)
	e.eq = eq
	return nil
}

// unbind ends all bindings.
func (e *endpoint) unbind() {
	for _, q := range []*completionQueue{e.txCQ, e.rxCQ} {
		if q != nil {
			q.Unref()
		}
	}
	for _, c := range e.cntr {
		if c != nil {
			c.Unref()
		}
	}
	if e.eq != nil {
		e.eq.DelProgress(e.prog)
		e.eq.Unref()
	}
}

// needsCQ checks before Enable that completions have somewhere to go.
func (e *endpoint) needsCQ() error {
	caps := e.info.Caps
	if e.txCQ == nil && e.cntr[cntrTx] == nil && e.cntr[cntrRead] == nil && e.cntr[cntrWrite] == nil && caps&(core.Send|core.Read|core.Write) != 0 {
		return opError("fi_enable", e.name(), noPeer, core.ErrNoCQ, "bind a completion queue with BindTransmit first")
	}
	if e.rxCQ == nil && e.cntr[cntrRx] == nil && caps&core.Recv != 0 {
		return opError("fi_enable", e.name(), noPeer, core.ErrNoCQ, "bind a completion queue with BindRecv first")
	}
	return nil
}

var kindCounter = [...]int{
	engine.KindSend:        cntrTx,
	engine.KindRecv:        cntrRx,
	engine.KindRead:        cntrRead,
	engine.KindWrite:       cntrWrite,
	engine.KindRemoteRead:  cntrRemoteRead,
	engine.KindRemoteWrite: cntrRemoteWrite,
}

var kindName = [...]string{
	engine.KindSend:        "send",
	engine.KindRecv:        "receive",
	engine.KindRead:        "read",
	engine.KindWrite:       "write",
	engine.KindRemoteRead:  "read by the peer",
	engine.KindRemoteWrite: "write by the peer",
}

// Completed implements engine.Sink: it fills in a queue entry and counts.
func (e *endpoint) Completed(c *engine.Completion) {
	cn := e.cntr[kindCounter[c.Kind]]
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
	s := q.Slot()
	s.Ctx = core.Context(c.Ctx)
	s.Flags = core.Flags(c.Flags)
	if !received {
		s.Len, s.Buf, s.Data, s.Tag, s.Src = 0, nil, 0, 0, core.AddrNotAvail
		return
	}
	if c.Kind == engine.KindRemoteWrite {
		s.Flags = core.CapRMA | core.RemoteWrite
	}
	if c.HasData {
		s.Flags |= core.RemoteCQData
	}
	if c.Release {
		s.Flags |= core.MultiRecv
	}
	s.Len, s.Buf, s.Data, s.Tag, s.Src = int(c.Len), c.Buf, c.Data, c.Tag, core.FIAddr(c.Src)
}

// Sent implements engine.Sink.
func (e *endpoint) Sent(o *engine.Send) {
	if cn := e.cntr[cntrTx]; cn != nil {
		cn.Complete(o.Len())
	}
	if o.Silent || o.Inject || e.txCQ == nil || e.closed {
		return
	}
	s := e.txCQ.Slot()
	s.Ctx, s.Flags = core.Context(o.Ctx), core.Flags(o.Flags)
	s.Len, s.Buf, s.Data, s.Tag, s.Src = 0, nil, 0, 0, core.AddrNotAvail
}

// Received implements engine.Sink.
func (e *endpoint) Received(r *engine.RxOp) {
	if cn := e.cntr[cntrRx]; cn != nil {
		cn.Complete(int(r.Len()))
	}
	if r.Silent || e.rxCQ == nil || e.closed {
		return
	}
	s := e.rxCQ.Slot()
	s.Ctx, s.Flags = core.Context(r.Ctx), core.Flags(r.Flags)
	data, has := r.Data()
	if has {
		s.Flags |= core.RemoteCQData
	}
	s.Len, s.Buf, s.Data, s.Tag, s.Src = int(r.Len()), r.Buf(), data, r.Tag(), core.FIAddr(r.Source())
}

// completedErr reports a failed operation.
func (e *endpoint) completedErr(c *engine.Completion, cn *counter) {
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
	*ee = core.CQErrEntry{OLen: int(c.OLen), Err: errnoOf(c.Err), ProvErrno: provErrno(c.Err), SrcAddr: core.FIAddr(c.Src)}
	ee.Ctx, ee.Flags, ee.Len, ee.Data, ee.Tag = core.Context(c.Ctx), core.Flags(c.Flags), int(c.Len), c.Data, c.Tag
	if received {
		ee.Buf = c.Buf
		if c.HasData {
			ee.Flags |= core.RemoteCQData
		}
	}
	if c.Release {
		ee.Flags |= core.MultiRecv
	}
	local, peer := e.ends(c.Src)
	ee.Detail = detail(kindName[c.Kind], local, peer, c.Err)
	if peer.IsValid() {
		ee.Peer = core.IPAddr(peer)
	}
	q.PushErr(ee)
	ee.Buf = nil
}

// Replied implements engine.Sink: what the engine answers leaves when the bytes at hand are parsed.
func (e *endpoint) Replied(*engine.Conn) {}

// noConnections is the part of engine.Sink that concerns connections, for sinks that have none.
type noConnections struct{}

func (noConnections) Requested(*engine.Conn, []byte)     {}
func (noConnections) Connected(*engine.Conn, []byte)     {}
func (noConnections) Failed(*engine.Conn, error, []byte) {}
func (noConnections) Resumed(*engine.Conn)               {}

// rxSink takes the completions of receives that concern no connection.
type rxSink struct {
	*endpoint
	noConnections
}

// OpFlags and SetOpFlags are FI_GETOPSFLAG and FI_SETOPSFLAG (fi_endpoint(3)).
func (e *endpoint) OpFlags(dir core.Flags) (core.Flags, error) {
	e.prog.Lock()
	defer e.prog.Unlock()
	switch dir {
	case core.Transmit:
		return e.txFlags, nil
	case core.Recv:
		return e.rxFlags, nil
	}
	return 0, opError("fi_control", e.name(), noPeer, core.ErrInval, "say Transmit or Recv")
}

func (e *endpoint) SetOpFlags(dir, flags core.Flags) error {
	e.prog.Lock()
	defer e.prog.Unlock()
	switch dir {
	case core.Transmit:
		if flags&^txOpFlags != 0 {
			return opError("fi_control", e.name(), noPeer, core.ErrBadFlags, "not a flag of transmits: "+core.OpFlagsString(flags&^txOpFlags))
		}
		e.txFlags = flags
	case core.Recv:
		if flags&^srxOpFlags != 0 {
			return opError("fi_control", e.name(), noPeer, core.ErrBadFlags, "not a flag of receives: "+core.OpFlagsString(flags&^srxOpFlags))
		}
		e.rxFlags = flags
	default:
		return opError("fi_control", e.name(), noPeer, core.ErrInval, "say Transmit or Recv")
	}
	return nil
}

// TxSizeLeft and RxSizeLeft are not offered natively either.
func (e *endpoint) TxSizeLeft() (int, error) { return 0, core.ErrNoSys }
func (e *endpoint) RxSizeLeft() (int, error) { return 0, core.ErrNoSys }
