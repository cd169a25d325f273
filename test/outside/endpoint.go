package loop

import (
	"net/netip"

	"gofabric/av"
	"gofabric/core"
	"gofabric/cq"
)

// endpoint is an endpoint. The fabric's lock guards it.
type endpoint struct {
	f       *fabric
	name    netip.AddrPort
	av      *av.Table
	tx, rx  *cq.Queue
	enabled bool

	posted     []receive
	unexpected []message
}

// receive is a posted buffer, and message one that arrived before its buffer.
type receive struct {
	tagged      bool
	tag, ignore uint64
	buf         []byte
	ctx         core.OpContext
}

type message struct {
	from   netip.AddrPort
	tagged bool
	tag    uint64
	data   []byte
}

// unexpectedMax is how many messages may wait for a buffer. When there are more, senders get ErrAgain.
const unexpectedMax = 64

func (r *receive) takes(m *message) bool {
	return r.tagged == m.tagged && (!r.tagged || (r.tag^m.tag)&^r.ignore == 0)
}

// Bind binds completion queues and an address vector.
func (e *endpoint) Bind(obj any, flags core.BindFlags) error {
	e.f.Lock()
	defer e.f.Unlock()
	switch x := obj.(type) {
	case *cq.Queue:
		if flags&core.BindTransmit != 0 {
			e.tx = x
		}
		if flags&core.BindRecv != 0 {
			e.rx = x
		}
	case vector:
		e.av = x.Table
	default:
		return core.ErrNoSys
	}
	return nil
}

func (e *endpoint) Enable() error {
	e.f.Lock()
	defer e.f.Unlock()
	switch {
	case e.av == nil:
		return core.ErrNoAV
	case e.tx == nil || e.rx == nil:
		return core.ErrNoCQ
	}
	e.enabled = true
	return nil
}

func (e *endpoint) Close() error {
	e.f.Lock()
	defer e.f.Unlock()
	delete(e.f.eps, e.name)
	return nil
}

// Post sends a message, or posts a buffer for one.
func (e *endpoint) Post(op core.Op) error {
	e.f.Lock()
	defer e.f.Unlock()
	if !e.enabled {
		return core.ErrOpBadState
	}
	switch op.Call {
	case core.CallSend, core.CallTSend, core.CallInject, core.CallTInject:
		return e.send(&op)
	case core.CallRecv, core.CallTRecv:
		e.recv(&op)
		return nil
	}
	return core.ErrNoSys
}

func (e *endpoint) send(op *core.Op) error {
	at, ok := e.av.AddrPort(op.Addr)
	to := e.f.eps[at]
	if !ok || to == nil {
		return core.ErrHostUnreach
	}
	m := message{e.name, op.Call.Tagged(), op.Tag, op.Buf}
	if !to.deliver(&m) {
		if len(to.unexpected) == unexpectedMax {
			return core.ErrAgain
		}
		m.data = append([]byte(nil), op.Buf...)
		to.unexpected = append(to.unexpected, m)
	}
	if !op.Call.Inject() {
		e.tx.Push(&core.CQEntry{Ctx: op.Ctx, Flags: core.CompSend | kind(m.tagged)}, core.AddrNotAvail)
	}
	return nil
}

func (e *endpoint) recv(op *core.Op) {
	r := receive{op.Call.Tagged(), op.Tag, op.Ignore, op.Buf, op.Ctx}
	for i := range e.unexpected {
		if m := e.unexpected[i]; r.takes(&m) {
			e.unexpected = append(e.unexpected[:i], e.unexpected[i+1:]...)
			e.received(&r, &m)
			return
		}
	}
	e.posted = append(e.posted, r)
}

// deliver puts m into the first buffer that matches.
func (e *endpoint) deliver(m *message) bool {
	for i := range e.posted {
		if r := e.posted[i]; r.takes(m) {
			e.posted = append(e.posted[:i], e.posted[i+1:]...)
			e.received(&r, m)
			return true
		}
	}
	return false
}

func (e *endpoint) received(r *receive, m *message) {
	n := copy(r.buf, m.data)
	entry := core.CQEntry{Ctx: r.ctx, Flags: core.CompRecv | kind(m.tagged), Len: n, Buf: r.buf, Tag: m.tag}
	src := e.av.ReverseAddrPort(m.from)
	if over := len(m.data) - n; over > 0 {
		e.rx.PushErr(&core.CQErrEntry{CQEntry: entry, Err: core.ErrTrunc, OLen: over, SrcAddr: src})
		return
	}
	e.rx.Push(&entry, src)
}

func kind(tagged bool) core.CompFlags {
	if tagged {
		return core.CompTagged
	}
	return core.CompMsg
}

// Cancel ends a posted receive.
func (e *endpoint) Cancel(ctx core.OpContext) error {
	e.f.Lock()
	defer e.f.Unlock()
	for i, r := range e.posted {
		if r.ctx == ctx {
			e.posted = append(e.posted[:i], e.posted[i+1:]...)
			e.rx.PushErr(&core.CQErrEntry{CQEntry: core.CQEntry{Ctx: ctx, Flags: core.CompRecv | kind(r.tagged)},
				Err: core.ErrCanceled})
			return nil
		}
	}
	return core.ErrNoEnt
}

func (e *endpoint) Name() (core.Addr, error) { return core.IPAddr(e.name), nil }

// Calls that this provider does not offer.

func (*endpoint) SetName(core.Addr) error         { return core.ErrNoSys }
func (*endpoint) Peer() (core.Addr, error)        { return core.Addr{}, core.ErrNoSys }
func (*endpoint) Connect(core.Addr, []byte) error { return core.ErrNoSys }
func (*endpoint) Accept([]byte) error             { return core.ErrNoSys }
func (*endpoint) Shutdown() error                 { return core.ErrNoSys }
func (*endpoint) Alias(_ core.BindFlags, _ core.OpFlags) (core.EndpointDriver, error) {
	return nil, core.ErrNoSys
}
func (*endpoint) GetOpt(core.EPOpt) (int, error)                { return 0, core.ErrNoProtoOpt }
func (*endpoint) SetOpt(core.EPOpt, int) error                  { return core.ErrNoProtoOpt }
func (*endpoint) OpFlags(core.BindFlags) (core.OpFlags, error)  { return 0, core.ErrNoSys }
func (*endpoint) SetOpFlags(core.BindFlags, core.OpFlags) error { return core.ErrNoSys }
func (*endpoint) SizeLeft(core.BindFlags) (int, error)          { return 0, core.ErrNoSys }
func (*endpoint) Collective(core.CollOp) error                  { return core.ErrOpNotSupp }
func (*endpoint) AtomicCount(core.OpType, core.Datatype, core.AtomicOp) (int, error) {
	return 0, core.ErrOpNotSupp
}
func (*endpoint) JoinCollective(core.FIAddr, core.AVSetDriver, core.JoinFlags, any,
	func(core.MCDriver) *core.MC) error {
	return core.ErrOpNotSupp
}
