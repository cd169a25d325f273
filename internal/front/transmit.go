package front

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Router finds the connection for a destination and transmits what is posted to it. Its methods are called locked.
type Router interface {
	// Route returns the connection to dest, opening it if need be; an error is what the post returns.
	Route(dest core.FIAddr) (*engine.Conn, error)
	// Posted tells that c, from Route, took an operation and may have bytes to transmit. With more the application said that another one follows (FI_MORE).
	Posted(c *engine.Conn, more bool)
}

// Spreader is a Router that has several connections to a destination for what may overtake: RMA, when no order of it was promised.
type Spreader interface {
	// Spread returns the connection to post to, when Route has returned c. Locked.
	Spread(c *engine.Conn) *engine.Conn
}

// SpreadRMA has the endpoint's reads and writes go where s says. Locked, or before anybody knows the endpoint.
func (e *Endpoint) SpreadRMA(s Spreader) { e.spread = s }

// spreads says whether an operation goes where Endpoint.spread says.
func (e *Endpoint) spreads(s *engine.Send) bool {
	return e.spread != nil && (s.Kind == engine.KindRead || s.Kind == engine.KindWrite)
}

// Transmitter is the transmit calls of an endpoint (core.Msg, Tagged, RMA and Atomic but for the receives; fi_msg(3), fi_tagged(3), fi_rma(3),
// fi_atomic(3)), or of an alias of it with flags of its own. Buffers, errors and concurrency are as core says of these calls. A provider embeds it in its endpoints.
type Transmitter struct {
	e     *Endpoint
	r     Router
	flags core.Flags // of the plain calls of an alias; others follow the endpoint
	own   bool       // flags count
	lane  lane

	noTagged bool // tagged messages were not asked for
	noAtomic bool // nor atomics
	noFence  bool // nor fences
}

// InitTransmitter prepares t, the transmit side of e, which must be prepared.
func (t *Transmitter) InitTransmitter(e *Endpoint, r Router) {
	caps := e.info.Caps
	e.tx = t
	*t = Transmitter{e: e, r: r, noTagged: caps&core.CapTagged == 0, noAtomic: caps&core.CapAtomic == 0, noFence: caps&core.CapFence == 0}
}

const (
	ackFlags  = core.TransmitComplete | core.DeliveryComplete | core.MatchComplete
	msgTx     = uint64(core.CapMsg | core.Send)
	tagTx     = uint64(core.CapTagged | core.Send)
	rmaRead   = uint64(core.CapRMA | core.Read)
	rmaWrite  = uint64(core.CapRMA | core.Write)
	sendMsgOK = txOpFlags | core.RemoteCQData | core.More | core.Fence
)

// begin locks and prepares the scratch operation; end submits and unlocks. plain is begin for the calls without flags of their own, defaults without lock.
func (t *Transmitter) begin(kind engine.Kind, report uint64, flags core.Flags) *engine.Send {
	t.e.prog.Lock()
	return t.prepare(kind, report, flags)
}

func (t *Transmitter) plain(kind engine.Kind, report uint64) *engine.Send {
	t.e.prog.Lock()
	return t.defaults(kind, report)
}

func (t *Transmitter) defaults(kind engine.Kind, report uint64) *engine.Send {
	if t.own {
		return t.prepare(kind, report, t.flags)
	}
	return t.prepare(kind, report, t.e.txFlags)
}

func (t *Transmitter) prepare(kind engine.Kind, report uint64, flags core.Flags) *engine.Send {
	s := &t.e.d.send
	s.Kind, s.Flags = kind, report
	s.Tagged, s.HasData, s.Inject = false, false, false
	s.Copy = flags&core.Inject != 0
	s.Ack = flags&ackFlags != 0
	s.Match = flags&core.MatchComplete != 0 && kind == engine.KindSend
	s.Commit = flags&core.CommitComplete != 0
	s.Silent = t.e.txQuiet && flags&core.Completion == 0
	s.NRMA = 0
	s.Fence, s.Reads, s.Atomic, s.Owner, s.Mark = flags&core.Fence != 0, false, nil, nil, 0
	return s
}

func (t *Transmitter) end(s *engine.Send, dest core.FIAddr, more bool) error {
	e := t.e
	if !e.enabled || s.Tagged && t.noTagged {
		bad := core.ErrOpBadState
		if e.enabled {
			bad = core.ErrNoSys
		}
		e.prog.Unlock()
		return bad
	}
	c, err := route(t.r, e, dest, s)
	if err != nil {
		if err == core.ErrAgain {
			e.did.againTx++
		}
		e.prog.Unlock()
		return err
	}
	s.Mark = e.did.begin(s.Kind)
	if err := c.Submit(s); err != nil {
		e.did.end(s.Mark, false)
		if err == engine.ErrAgain {
			e.did.againTx++
			e.prog.Pass() // an application that only retries must get somewhere
		}
		e.prog.Unlock()
		return submitErr(err)
	}
	t.r.Posted(c, more)
	if (t.lane.c != c || t.lane.dest != dest || t.lane.gen != e.lanes) && !e.spreads(s) {
		t.lane = lane{c, dest, e.lanes}
	}
	e.prog.Unlock()
	return nil
}

// submitErr maps the engine's refusals to sentinels, which cost nothing.
func submitErr(err error) error {
	switch err {
	case engine.ErrAgain:
		return core.ErrAgain
	case engine.ErrState:
		return core.ErrNotConn
	}
	return Errno(err)
}

func (t *Transmitter) tooLong(n int, flags core.Flags) bool {
	return flags&core.Inject != 0 && n > t.e.info.Tx.InjectSize
}

func iovLen(iov [][]byte) int {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return n
}

// Send is fi_send (fi_msg(3)).
func (t *Transmitter) Send(buf []byte, _ core.Desc, dest core.FIAddr, ctx core.Context) error {
	t.e.prog.Lock()
	if t.joinSend(buf, dest, false, 0, ctx, core.Flags(msgTx)) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.defaults(engine.KindSend, msgTx)
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	return t.end(s, dest, false)
}

// SendV is fi_sendv (fi_msg(3)).
func (t *Transmitter) SendV(iov [][]byte, _ []core.Desc, dest core.FIAddr, ctx core.Context) error {
	if len(iov) > engine.MaxIOV {
		return core.ErrInval
	}
	s := t.plain(engine.KindSend, msgTx)
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	return t.end(s, dest, false)
}

// SendMsg is fi_sendmsg (fi_msg(3)).
func (t *Transmitter) SendMsg(m *core.MsgArgs, flags core.Flags) error {
	if flags&core.Trigger != 0 {
		return t.triggerSend(m, flags)
	}
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindSend, msgTx, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	s.HasData, s.Data = flags&core.RemoteCQData != 0, m.Data
	return t.end(s, m.Addr, flags&core.More != 0)
}

// check refuses arguments of the msg variants that cannot be served.
func (t *Transmitter) check(iov [][]byte, flags core.Flags) error {
	switch {
	case len(iov) > engine.MaxIOV:
		return core.ErrInval
	case flags&^sendMsgOK != 0:
		return core.ErrBadFlags
	case flags&core.Fence != 0 && t.noFence:
		return core.ErrOpNotSupp // not among this endpoint's capabilities (fi_getinfo(3), FI_FENCE)
	case t.tooLong(iovLen(iov), flags):
		return core.ErrInval
	}
	return nil
}

// SendData is fi_senddata (fi_msg(3)).
func (t *Transmitter) SendData(buf []byte, _ core.Desc, data uint64, dest core.FIAddr, ctx core.Context) error {
	s := t.plain(engine.KindSend, msgTx)
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.HasData, s.Data = true, data
	return t.end(s, dest, false)
}

// Inject is fi_inject (fi_msg(3)); buf is at most the inject size, bytes, and the caller's again at once.
func (t *Transmitter) Inject(buf []byte, dest core.FIAddr) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	t.e.prog.Lock()
	if t.joinInject(buf, dest, false, 0) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.prepare(engine.KindSend, msgTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	return t.end(s, dest, false)
}

// InjectData is fi_injectdata (fi_msg(3)); see Inject.
func (t *Transmitter) InjectData(buf []byte, data uint64, dest core.FIAddr) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, msgTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.HasData, s.Data = true, data
	return t.end(s, dest, false)
}
