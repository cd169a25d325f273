package engine

import (
	"gofabric/internal/authkey"
	"gofabric/internal/xnet/wire"
)

// Authorization keys (fi_endpoint(3), auth_key): ends that do not have the same one do not get a connection. Between request and answer each shows the other
// that it knows the key, the one that asks first; nobody hears of a request before.
//
//	active                                    passive
//	  connreq, FeatureAuth, number a  ------>
//	                                  <------  auth, number b
//	  auth, proof of a, b, connreq    ------>
//	                                  <------  auth, the other proof
//	                                  <------  connresp

// Auth is an endpoint's authorization key. Key is set before there are connections.
type Auth struct {
	Key  *authkey.Key
	Rand func() uint64 // numbers that cannot be foreseen
}

// The two proofs: none can stand for the other.
const (
	labelActive  = "gofabric xnet connect"
	labelPassive = "gofabric xnet accept"
)

// authWay is where the two ends are.
type authWay struct {
	req      []byte    // the request, as it travels
	numbers  [2]uint64 // the active end's and the passive end's
	dataFrom int       // where the private data begins in req
	asked    bool      // active: the challenge has come, and was answered
	proved   bool      // active: the peer has the key
}

// prove makes the proof of one of the ends.
func (c *Conn) prove(label string) authkey.Proof {
	w := c.auth()
	return c.cfg.Auth.Key.Prove(label, w.numbers[:], w.req)
}

// auth is the way so far, nil if it has not begun or is over.
func (c *Conn) auth() *authWay {
	if c.pul == nil {
		return nil
	}
	return c.pul.auth
}

func (c *Conn) proved() bool {
	w := c.auth()
	return w != nil && w.proved
}

// Denied says that the request was made with another authorization key than ours, or that only one of the ends has one: Reject it.
func (c *Conn) Denied() bool { return c.stall == stallDenied }

// startAuth sends a connection request of an endpoint with a key.
func (c *Conn) startAuth(data []byte) {
	w := &authWay{}
	w.numbers[0] = c.cfg.Auth.Rand()
	w.req = wire.AppendCMAuth(nil, wire.CMConnReq, c.cfg.Features|wire.FeatureAuth, w.numbers[0], data)
	c.pulls().auth = w
	c.stageBytes(func(b []byte) []byte { return append(b, w.req...) })
}

// challenge asks the sender of a request to show that it has our key.
func (c *Conn) challenge(req []byte, cm *wire.CM) {
	w := &authWay{req: append([]byte(nil), req...), dataFrom: len(req) - len(cm.Data)}
	w.numbers = [2]uint64{cm.Nonce, c.cfg.Auth.Rand()}
	c.pulls().auth = w
	c.sendAuth(w.numbers[1], nil)
}

// sendAuth says what comes next.
func (c *Conn) sendAuth(nonce uint64, proof []byte) {
	c.stageBytes(func(b []byte) []byte { return wire.AppendCMAuth(b, wire.CMAuth, wire.FeatureAuth, nonce, proof) })
	c.sink.Replied(c)
}

// takeAuth takes the peer's next message on the way.
func (c *Conn) takeAuth(cm *wire.CM) {
	w := c.auth()
	switch {
	case w == nil || cm.SwapNeeded || cm.Features&wire.FeatureAuth == 0:
		c.Fail(ErrProtocol)
	case c.state == Listening:
		if p := c.prove(labelActive); !p.Is(cm.Data) {
			c.deny()
			return
		}
		p := c.prove(labelPassive)
		c.sendAuth(0, p[:])
		c.pul = nil
		c.decide(w.req[w.dataFrom:], stallDecision)
	case c.state == Requesting && !w.asked && len(cm.Data) == 0:
		w.asked, w.numbers[1] = true, cm.Nonce
		p := c.prove(labelActive)
		c.sendAuth(0, p[:])
	case c.state == Requesting && w.asked && !w.proved:
		if p := c.prove(labelPassive); !p.Is(cm.Data) {
			c.Fail(ErrAuth)
			return
		}
		w.proved = true
	default:
		c.Fail(ErrProtocol)
	}
}

// deny tells the driver of a request that it can only reject.
func (c *Conn) deny() {
	c.pul = nil
	c.decide(nil, stallDenied)
}
