package engine

import (
	"gofabric/internal/authkey"
	"gofabric/internal/xnet/wire"
)

// The handshake: a connection request and its answer, with private data (fi_cm(3)), before anything else in the
// stream. With authorization keys the proofs of auth.go come between.
//
//	active                                    passive
//	  Start         -- connreq -->              Sink.Requested
//	  Sink.Connected <-- connresp --            Accept
//	  Sink.Failed    <-- reject --              Reject
//
// Start sends the connection request with private data. The transport is up.
func (c *Conn) Start(data []byte) error {
	if c.state != Opening {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	// With a key the request has a random number, and the proofs cover all of it.
	if a := c.cfg.Auth; a != nil {
		x := a.request(c.cfg.Features, data)
		c.needExt().auth = x
		c.stageBytes(func(b []byte) []byte { return append(b, x.req...) })
	} else {
		c.stageCM(wire.CMConnReq, c.cfg.Features, data)
	}
	c.becomeRequesting()
	return nil
}

// stageCM stages a connection management message.
func (c *Conn) stageCM(t wire.CMType, features uint32, data []byte) {
	c.stageBytes(func(b []byte) []byte { return wire.AppendCMFeatures(b, t, features, data) })
}

// becomeRequesting waits for the answer.
func (c *Conn) becomeRequesting() { c.state = Requesting }

// Accept answers the peer's request with private data. The connection is up.
func (c *Conn) Accept(data []byte) error {
	// A request without the right key can only be rejected.
	if c.state != Deciding || c.Denied() {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	c.stageCM(wire.CMConnResp, c.cfg.Features, data)
	c.becomeConnected(nil)
	return nil
}

// Reject answers the peer's request with a rejection. The driver transmits it, closes the transport and calls Fail
// or Drop, which free what could not be transmitted.
func (c *Conn) Reject(data []byte) error {
	if c.state != Deciding {
		return ErrState
	}
	if len(data) > wire.MaxCMData {
		return ErrTooLong
	}
	why := uint32(0)
	// The peer learns that keys are the reason.
	if c.Denied() {
		why = wire.FeatureAuth
	}
	c.stageCM(wire.CMReject, why, data)
	c.becomeRejected()
	return nil
}

// Ready says that the peer of NewWaiting is connected. Sink.Connected is called, and operations that waited are
// queued.
func (c *Conn) Ready() error {
	if c.state != Opening || c.deadline != 0 {
		return ErrState
	}
	c.becomeRequesting()
	c.becomeConnected(nil)
	return nil
}

// RestartHandshake begins the handshake's deadline again on a connection that is not up.
func (c *Conn) RestartHandshake(nowNanos int64) {
	if c.state == Opening {
		c.deadline = nowNanos + c.cfg.HandshakeNanos
	}
}

// Advance serves the handshake's deadline.
func (c *Conn) Advance(nowNanos int64) {
	if c.deadline != 0 && nowNanos >= c.deadline && c.state != Closed {
		c.Fail(ErrTimeout)
	}
}

// becomeConnected launches the operations posted before, and takes the bytes that came early.
func (c *Conn) becomeConnected(data []byte) {
	if c.state != Requesting && c.state != Deciding {
		panic("BUG: connected from state " + c.state.String())
	}
	c.state = Connected
	c.deadline = 0
	// The request is answered: its private data is not needed any more.
	c.in.dropPart(&c.pool.inboundPool)
	c.sink.Connected(c, data)
	// A native peer has no collective operations: those expected from it will not come.
	if c.expected > 0 && !c.Ours {
		c.notifyLost(ErrUnsupported)
	}
	// Launch what was posted before.
	c.release()
	// The peer need not wait for our answer before it sends.
	if c.in.stall == stallDecision {
		c.resume()
	}
}

// handshake takes bytes of connection management and returns the rest.
func (c *Conn) handshake(b []byte) []byte {
	cm, whole, n, err := c.in.request(&c.pool.inboundPool, b)
	if err != nil {
		c.Fail(ErrProtocol)
		return nil
	}
	// The message is incomplete.
	if n == 0 {
		return nil
	}
	a := c.cfg.Auth
	switch {
	// A message of the exchange of proofs.
	case cm.Type == wire.CMAuth && a != nil:
		c.in.dropPart(&c.pool.inboundPool)
		c.takeAuth(a, &cm)
	case c.state == Listening && cm.Type == wire.CMConnReq && c.auth() == nil:
		c.agree(&cm)
		c.in.dropPart(&c.pool.inboundPool)
		// Both ends must have a key, or neither. An end that does not gets a rejection after the driver's Reject.
		switch theirs := cm.Features&wire.FeatureAuth != 0; {
		case theirs != (a != nil):
			c.becomeDeciding(nil, stallDenied)
		case theirs:
			x := a.challenge(whole[:n], &cm)
			c.needExt().auth = x
			c.sendAuth(x.numbers[1], nil)
		default:
			c.becomeDeciding(cm.Data, stallDecision)
		}
	case c.state == Requesting && cm.Type == wire.CMConnResp:
		if x := c.auth(); a != nil && (x == nil || !x.proved) {
			c.Fail(ErrAuth) // it has no key, or is native
			return nil
		}
		if a != nil {
			c.ext = nil
		}
		c.agree(&cm)
		c.becomeConnected(cm.Data)
	case c.state == Requesting && cm.Type == wire.CMReject:
		why := ErrRefused
		if cm.Features&wire.FeatureAuth != 0 {
			why = ErrAuth
		}
		c.fail(why, cm.Data)
		return nil
	default:
		c.Fail(ErrProtocol)
		return nil
	}
	return whole[n:]
}

// becomeDeciding brings the request to the driver. Bytes behind it wait.
func (c *Conn) becomeDeciding(data []byte, wait stallReason) {
	c.state = Deciding
	c.in.stall = wait
	c.sink.Requested(c, data)
}

// agree sets the byte order and the features of both ends.
func (c *Conn) agree(cm *wire.CM) {
	c.in.order = wire.Little
	if cm.SwapNeeded {
		c.in.order = wire.Big
	}
	c.Terms.agree(c.cfg.Features, cm)
}

// agree sets the features that both ends have. A big-endian peer is native, and its feature bits are ignored.
func (t *Terms) agree(features uint32, cm *wire.CM) {
	t.Agreed = uint16(features & cm.Features)
	if cm.SwapNeeded {
		t.Agreed = 0
	}
	t.Extended = t.Agreed&wire.FeatureExtended != 0
	t.Ours = t.Extended
	if !t.Ours {
		t.Agreed &^= wire.FeatureVerdicts
	}
}

// sendAuth sends our next message of the exchange of proofs.
func (c *Conn) sendAuth(number uint64, proof []byte) {
	c.stageBytes(func(b []byte) []byte { return wire.AppendCMAuth(b, wire.CMAuth, wire.FeatureAuth, number, proof) })
	c.sink.Replied(c)
}

// takeAuth takes the peer's next message of the exchange of proofs.
func (c *Conn) takeAuth(a *Auth, cm *wire.CM) {
	x, step, proof := c.auth(), authBroken, authkey.Proof{}
	if c.state == Listening || c.state == Requesting {
		step, proof = x.take(a, cm, c.state == Requesting)
	}
	switch step {
	case authBroken:
		c.Fail(ErrProtocol)
	case authDenied:
		if c.state == Requesting {
			c.Fail(ErrAuth)
			return
		}
		c.ext = nil
		c.becomeDeciding(nil, stallDenied)
	case authAnswer:
		c.sendAuth(0, proof[:])
	case authAdmit:
		c.sendAuth(0, proof[:])
		c.ext = nil
		c.becomeDeciding(x.data(), stallDecision)
	}
}
