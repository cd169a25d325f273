package engine

import (
	"gofabric/internal/authkey"
	"gofabric/internal/xnet/wire"
)

// Authorization keys (fi_endpoint(3), auth_key): ends that do not have the same one do not get a connection. Between
// request and answer each shows the other that it knows the key, the one that asks first; the application hears of a
// request only after that.
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

// authExchange is how far the two ends are.
type authExchange struct {
	req      []byte    // the request, as it travels
	numbers  [2]uint64 // the active end's and the passive end's
	dataFrom int       // where the private data begins in req
	asked    bool      // active: the challenge has come, and was answered
	proved   bool      // active: the peer has the key
}

// authStep says how to go on after a message of the exchange.
type authStep uint8

const (
	authBroken authStep = iota // the peer broke the protocol
	authDenied                 // it has another key
	authAnswer                 // active: send the proof
	authAdmit                  // passive: send the proof, and tell of the request
	authProved                 // active: wait for the answer to the request
)

// request begins the exchange at the active end; send req.
func (a *Auth) request(features uint32, data []byte) *authExchange {
	x := &authExchange{}
	x.numbers[0] = a.Rand()
	x.req = wire.AppendCMAuth(nil, wire.CMConnReq, features|wire.FeatureAuth, x.numbers[0], data)
	return x
}

// challenge begins the exchange at the passive end, with the peer's request; send the second number.
func (a *Auth) challenge(req []byte, cm *wire.CM) *authExchange {
	return &authExchange{
		req:      append([]byte(nil), req...),
		dataFrom: len(req) - len(cm.Data),
		numbers:  [2]uint64{cm.Nonce, a.Rand()},
	}
}

// data is the private data of the request.
func (x *authExchange) data() []byte { return x.req[x.dataFrom:] }

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
