package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// Router finds the connection for a destination, and transmits after a post to that connection. Its methods are
// called locked.
type Router interface {
	// Route returns the connection to dest. It opens one if there is none. The post returns its error.
	Route(dest core.FIAddr) (*engine.Conn, error)
	// Posted is called after c, from Route, has taken an operation. c may have bytes to transmit. more is set when
	// the application will post another operation at once (FI_MORE). Posted returns the stream that the next small
	// messages to the same destination may join, nil if they must be posted.
	Posted(c *engine.Conn, more bool) *batch.Stream
}

// Spreader is a Router with several connections to a destination. Operations that may overtake use them: RMA of an
// endpoint that was opened without an order for it.
type Spreader interface {
	// Spread returns the connection to post to. c is the result of Route. Locked.
	Spread(c *engine.Conn) *engine.Conn
}

// SpreadRMA makes the endpoint's reads and writes use the connections that s chooses. Locked, or before the
// endpoint is in use.
func (e *Endpoint) SpreadRMA(s Spreader) { e.spread = s }

// spreads reports whether Endpoint.spread chooses the connection of an operation.
func (e *Endpoint) spreads(s *engine.Send) bool {
	return e.spread != nil && (s.Kind == engine.KindRead || s.Kind == engine.KindWrite)
}

// Transfers implements the data transfers of an endpoint: Post, and the fast paths of the plain calls. A provider
// embeds it in its endpoints.
type Transfers struct {
	Transmitter
	Receiver
}

// Post implements core.EndpointDriver.
func (x *Transfers) Post(op core.Op) error {
	if op.Call.Receives() {
		return x.Receiver.post(&op)
	}
	return x.Transmitter.post(&op)
}

// Transmitter posts the transmits (fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3)) of an endpoint, or of an alias
// that has its own flags. Package core documents buffers, errors and concurrency of these calls.
type Transmitter struct {
	e         *Endpoint
	r         Router
	flags     core.OpFlags // default flags of an alias, if own is set
	own       bool         // use flags rather than the endpoint's
	lastRoute lastRoute

	noTagged bool // the endpoint was opened without tagged messages
	noAtomic bool // without atomics
	noFence  bool // without fences
}

// InitTransmitter prepares t, the transmit side of e. InitEndpoint of e comes first.
func (t *Transmitter) InitTransmitter(e *Endpoint, r Router) {
	caps := e.info.Caps
	e.tx = t
	*t = Transmitter{e: e, r: r, noTagged: caps&core.CapTagged == 0, noAtomic: caps&core.CapAtomic == 0, noFence: caps&core.CapFence == 0}
}

const (
	ackFlags  = core.OpTransmitComplete | core.OpDeliveryComplete | core.OpMatchComplete
	msgTx     = uint64(core.CompMsg | core.CompSend)
	tagTx     = uint64(core.CompTagged | core.CompSend)
	rmaRead   = uint64(core.CompRMA | core.CompRead)
	rmaWrite  = uint64(core.CompRMA | core.CompWrite)
	sendMsgOK = TxOpFlags | core.OpRemoteCQData | core.OpMore | core.OpFence
)

// defaultFlags are the flags of the plain calls. Locked.
func (t *Transmitter) defaultFlags() core.OpFlags {
	if t.own {
		return t.flags
	}
	return t.e.txFlags
}

// begin locks and fills in the domain's scratch operation. end submits it and unlocks.
func (t *Transmitter) begin(kind engine.Kind, report uint64, op *core.Op) *engine.Send {
	t.e.prog.Lock()
	flags := op.Flags
	if op.Call.Default() {
		flags = t.defaultFlags()
	}
	s := t.prepare(kind, report, flags)
	if op.Call.OneBuffer() {
		s.IOV[0], s.NIOV = op.Buf, 1
	} else {
		s.NIOV = copy(s.IOV[:], op.IOV)
	}
	s.Ctx, s.Inject = uint64(op.Ctx), op.Call.Inject()
	return s
}

// prepare sets every field of the scratch operation that an earlier post may have left, except buffers and context.
// An operation with FI_TRANSMIT_COMPLETE or FI_DELIVERY_COMPLETE completes when the peer has acknowledged it.
// Locked.
func (t *Transmitter) prepare(kind engine.Kind, report uint64, flags core.OpFlags) *engine.Send {
	s := &t.e.d.send
	s.Kind, s.Flags = kind, report
	s.Tagged, s.HasData, s.Inject = false, false, false
	s.Copy = flags&core.OpInject != 0
	s.Ack = flags&ackFlags != 0
	s.Match = flags&core.OpMatchComplete != 0 && kind == engine.KindSend
	s.Commit = flags&core.OpCommitComplete != 0
	s.Silent = t.e.txQuiet && flags&core.OpCompletion == 0
	s.NRMA = 0
	s.Fence, s.Reads, s.Atomic, s.Owner, s.Mark = flags&core.OpFence != 0, false, nil, nil, 0
	return s
}

// end submits s to the connection for dest and unlocks. more is set for FI_MORE. On success it stores the
// connection in lastRoute, so that the next small message to dest can take the fast path.
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
			e.prog.Pass() // so that an application that only retries makes progress
		}
		e.prog.Unlock()
		return submitErr(err)
	}
	b := t.r.Posted(c, more)
	if l := &t.lastRoute; (l.c != c || l.dest != dest || l.gen != e.avGeneration || l.batch != b) && !e.spreads(s) {
		*l = lastRoute{c, b, dest, e.avGeneration}
	}
	e.prog.Unlock()
	return nil
}

// submitErr maps the engine's refusals to sentinel errors, which need no allocation.
func submitErr(err error) error {
	switch err {
	case engine.ErrAgain:
		return core.ErrAgain
	case engine.ErrState:
		return core.ErrNotConn
	}
	return Errno(err)
}

func iovLen(iov [][]byte) int {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return n
}

// check refuses invalid arguments.
func (t *Transmitter) check(op *core.Op) error {
	switch {
	case len(op.IOV) > engine.MaxIOV:
		return core.ErrInval
	case op.Flags&^sendMsgOK != 0:
		return core.ErrBadFlags
	case op.Flags&core.OpFence != 0 && t.noFence:
		return core.ErrOpNotSupp // not among this endpoint's capabilities (fi_getinfo(3), FI_FENCE)
	case (op.Flags&core.OpInject != 0 || op.Call.Inject()) && op.Len() > t.e.info.Tx.InjectSize:
		return core.ErrInval
	}
	return nil
}

// caps implements poster.
func (t *Transmitter) caps() core.Caps { return t.e.info.Caps }

// post starts a transmit.
func (t *Transmitter) post(op *core.Op) error {
	if op.Flags&core.OpTrigger != 0 {
		return t.e.d.work.post(t, *op)
	}
	switch op.Call.Op() {
	case core.OpSend, core.OpTSend:
		return t.postSend(op)
	case core.OpRead, core.OpWrite:
		return t.postRMA(op)
	}
	return t.postAtomic(op)
}

func (t *Transmitter) postSend(op *core.Op) error {
	if err := t.check(op); err != nil {
		return err
	}
	report := msgTx
	if op.Call.Tagged() {
		report = tagTx
	}
	s := t.begin(engine.KindSend, report, op)
	s.Tagged, s.Tag = op.Call.Tagged(), op.Tag
	s.HasData, s.Data = op.HasData(), op.Data
	return t.end(s, op.Addr, op.Flags&core.OpMore != 0)
}

// The plain calls have fast paths (core.PlainSender): a small message to the same destination as the last one skips
// most of post.

// Send is fi_send (fi_msg(3)).
func (t *Transmitter) Send(buf []byte, _ core.Desc, dest core.FIAddr, ctx core.OpContext) error {
	t.e.prog.Lock()
	if t.joinSend(buf, dest, false, 0, ctx, core.CompFlags(msgTx)) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.prepare(engine.KindSend, msgTx, t.defaultFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	return t.end(s, dest, false)
}

// TSend is fi_tsend (fi_tagged(3)).
func (t *Transmitter) TSend(buf []byte, _ core.Desc, dest core.FIAddr, tag uint64, ctx core.OpContext) error {
	t.e.prog.Lock()
	if t.joinSend(buf, dest, true, tag, ctx, core.CompFlags(tagTx)) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.prepare(engine.KindSend, tagTx, t.defaultFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

// Inject is fi_inject (fi_msg(3)). buf is at most the inject size, in bytes. The caller may reuse it at once.
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

// TInject is fi_tinject (fi_tagged(3)); see Inject.
func (t *Transmitter) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	t.e.prog.Lock()
	if t.joinInject(buf, dest, true, tag) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.prepare(engine.KindSend, tagTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}
