package engine

import (
	"gofabric/internal/authkey"
	"gofabric/internal/xnet/wire"
)

// Authorization keys (fi_endpoint(3), auth_key): ends without the same key get no connection. Between request and
// answer each end proves that it has the key, the active end first. The application gets a request only after that.
// docs/wire/tcp.md has the computation of the proofs.
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
	Rand func() uint64 // unpredictable numbers
}

// The labels of the two proofs differ, so that one cannot be used as the other.
const (
	labelActive  = "gofabric xnet connect"
	labelPassive = "gofabric xnet accept"
)

// authExchange is the state of the exchange.
type authExchange struct {
	req      []byte    // the encoded request
	numbers  [2]uint64 // of the active and of the passive end
	dataFrom int       // offset of the private data in req
	asked    bool      // active: the challenge has come, and was answered
	proved   bool      // active: the peer has the key
}

// authStep says what follows a message of the exchange.
type authStep uint8

const (
	authBroken authStep = iota // the peer broke the protocol
	authDenied                 // the peer has another key
	authAnswer                 // active: send the proof
	authAdmit                  // passive: send the proof, and bring the request to the driver
	authProved                 // active: wait for the answer to the request
)

// request begins the exchange at the active end. The caller sends req.
func (a *Auth) request(features uint32, data []byte) *authExchange {
	x := &authExchange{}
	x.numbers[0] = a.Rand()
	x.req = wire.AppendCMAuth(nil, wire.CMConnReq, features|wire.FeatureAuth, x.numbers[0], data)
	return x
}

// challenge begins the exchange at the passive end with the peer's request. The caller sends the second number.
func (a *Auth) challenge(req []byte, cm *wire.CM) *authExchange {
	return &authExchange{
		req:      append([]byte(nil), req...),
		dataFrom: len(req) - len(cm.Data),
		numbers:  [2]uint64{cm.Nonce, a.Rand()},
	}
}

// data returns the private data of the request.
func (x *authExchange) data() []byte { return x.req[x.dataFrom:] }

// prove computes a proof: it covers both numbers and the whole request.
func (x *authExchange) prove(a *Auth, label string) authkey.Proof {
	return a.Key.Prove(label, x.numbers[:], x.req)
}

// take takes the peer's next message at the active or passive end. A nil exchange has not begun, or is over.
func (x *authExchange) take(a *Auth, cm *wire.CM, active bool) (authStep, authkey.Proof) {
	switch {
	case x == nil || cm.SwapNeeded || cm.Features&wire.FeatureAuth == 0:
	case !active:
		if p := x.prove(a, labelActive); !p.Is(cm.Data) {
			return authDenied, authkey.Proof{}
		}
		return authAdmit, x.prove(a, labelPassive)
	case !x.asked && len(cm.Data) == 0:
		x.asked, x.numbers[1] = true, cm.Nonce
		return authAnswer, x.prove(a, labelActive)
	case x.asked && !x.proved:
		if p := x.prove(a, labelPassive); !p.Is(cm.Data) {
			return authDenied, authkey.Proof{}
		}
		x.proved = true
		return authProved, authkey.Proof{}
	}
	return authBroken, authkey.Proof{}
}
