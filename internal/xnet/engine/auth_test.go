// This file tests authorization keys: which peers get a connection, and that attacks fail.

package engine

import (
	"bytes"
	"fmt"
	"testing"

	"gofabric/internal/authkey"
	"gofabric/internal/xnet/wire"
)

// keyed gives both ends keys; "": none. Their random numbers count up from n.
func (s *script) keyed(a, b string, n uint64) *script {
	for _, e := range []struct {
		e   *end
		key string
	}{{s.a, a}, {s.b, b}} {
		n := n
		e.e.cfg.Auth = nil
		e.e.cfg.Features = wire.FeatureExtended
		if e.key != "" {
			e.e.cfg.Auth = &Auth{Key: authkey.New([]byte(e.key)), Rand: func() uint64 { n++; return n }}
		}
		n += 100
	}
	return s
}

const denied = "the peer has another authorization key, or only one of the ends has one"

func TestSameKey(t *testing.T) {
	for _, cut := range []int{1, 31, 32, 33, 1000} {
		s := newScript(t).keyed("key", "key", 1)
		s.cut = cut
		s.a.send(Send{Ctx: 5}, []byte("early"))
		s.connect()
		if s.a.c.ext != nil || s.b.c.ext != nil {
			t.Error("the way to the connection is kept")
		}
		if !s.a.c.Ours || !s.b.c.Ours {
			t.Error("the features are lost")
		}
		buf := make([]byte, 8)
		s.b.recv(7, AnySource, buf)
		s.flow()
		s.a.want("send 5")
		s.b.want("recv 7 len 5")
	}
}

func TestOtherKey(t *testing.T) {
	for _, keys := range [][2]string{{"key", "yek"}, {"key", ""}, {"", "key"}, {"key", "key\x00"}} {
		for _, cut := range []int{1, 33, 1000} {
			s := newScript(t).keyed(keys[0], keys[1], 1)
			s.cut = cut
			s.a.send(Send{Ctx: 1}, []byte("early"))
			must(t, s.a.c.Start([]byte("hello")))
			s.flow()
			s.b.want(`requested ""`) // the driver does not get the data of such a request
			if !s.b.c.Denied() {
				t.Fatalf("%q: not denied", keys)
			}
			if err := s.b.c.Accept(nil); err != ErrState {
				t.Errorf("%q: accepted: %v", keys, err)
			}
			must(t, s.b.c.Reject(nil))
			s.flow()
			s.a.want(`failed "": `+denied, "send 1: "+denied)
			s.a.wantState(Closed)
			s.b.wantState(Closed)
		}
	}
}

// TestNativePeer has an end with a key connect to a peer without the feature: native, or older.
func TestNativePeer(t *testing.T) {
	for _, features := range []uint32{0, wire.FeatureExtended, wire.FeatureAuth} {
		s := newScript(t).keyed("key", "", 1)
		must(t, s.a.c.Start(nil))
		s.a.wire = nil
		s.a.inject(wire.AppendCMFeatures(nil, wire.CMConnResp, features, nil))
		s.a.want(`failed "": ` + denied)
	}
}

// exchange returns the bytes of both ends of a connect, for a peer that repeats them.
func exchange(t *testing.T, n uint64) (a, b []byte) {
	s := newScript(t).keyed("key", "key", n)
	must(t, s.a.c.Start([]byte("hello")))
	for range 5 {
		x, y := s.a.take(), s.b.take()
		a, b = append(a, x...), append(b, y...)
		s.b.inject(x)
		s.a.inject(y)
	}
	s.b.want(`requested "hello"`)
	return a, b
}

// take returns everything that the end has to transmit.
func (e *end) take() []byte {
	var b []byte
	for e.c.HasPending() {
		first, list := e.c.Pending(nil, 1<<20)
		if first != nil {
			list = [][]byte{first}
		}
		n := 0
		for _, p := range list {
			b = append(b, p...)
			n += len(p)
		}
		e.c.Transmitted(n)
	}
	return b
}

// TestReplay repeats recorded messages to ends with other random numbers.
func TestReplay(t *testing.T) {
	active, passive := exchange(t, 1)
	s := newScript(t).keyed("key", "key", 50)
	s.b.inject(active)
	s.b.want(`requested ""`)
	if !s.b.c.Denied() {
		t.Error("a recorded request is accepted")
	}
	s.b.take()
	s = newScript(t).keyed("key", "key", 50)
	must(t, s.a.c.Start([]byte("hello")))
	s.a.take()
	s.a.inject(passive)
	s.a.want(`failed "": ` + denied)

	// The same numbers, which no two connects have, but another request.
	s = newScript(t).keyed("key", "key", 1)
	changed := bytes.Replace(bytes.Clone(active), []byte("hello"), []byte("hullo"), 1)
	s.b.inject(changed)
	s.b.want(`requested ""`)
	if !s.b.c.Denied() {
		t.Error("a request that was changed on its way is accepted")
	}
	s.b.take()
	s = newScript(t).keyed("key", "key", 1)
	s.b.inject(active)
	s.b.want(`requested "hello"`) // the test computes the right proof
	s.b.take()
}

// TestMirror sends an end its own messages: neither proof can be used as the other.
func TestMirror(t *testing.T) {
	s := newScript(t).keyed("key", "key", 1)
	must(t, s.a.c.Start(nil))
	ask := s.a.take()
	s.a.inject(wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, 9, nil))
	proof := s.a.take()
	if len(ask) != wire.CMHeaderLen || len(proof) != wire.CMHeaderLen+authkey.ProofLen {
		t.Fatal(len(ask), len(proof))
	}
	s.a.inject(proof)
	s.a.want(`failed "": ` + denied)
}

// TestBadAuth brings messages of the exchange at the wrong time, or with wrong content.
func TestBadAuth(t *testing.T) {
	auth := func(nonce uint64, data ...byte) []byte {
		return wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, nonce, data)
	}
	req := wire.AppendCMAuth(nil, wire.CMConnReq, wire.FeatureAuth, 5, []byte("hi"))
	const broken = `failed "": the peer violated the protocol`
	swapped := auth(1)
	copy(swapped[24:], []byte{0, 0, 0, 0, 0, 0, 0, 1})
	for name, c := range map[string]struct {
		key  string
		in   []byte
		want string
	}{
		"proof before the request": {"key", auth(1, 1, 2), broken},
		"two requests":             {"key", append(bytes.Clone(req), req...), broken},
		"no proof":                 {"key", append(bytes.Clone(req), auth(1)...), `requested ""`},
		"a short proof": {"key", append(bytes.Clone(req), auth(1, make([]byte, 15)...)...),
			`requested ""`},
		"a long proof": {"key", append(bytes.Clone(req), auth(1, make([]byte, 17)...)...),
			`requested ""`},
		"a proof of zeros": {"key", append(bytes.Clone(req), auth(1, make([]byte, 16)...)...),
			`requested ""`},
		"too long a proof": {"key", append(bytes.Clone(req), append(auth(1, make([]byte, 256)...), 1)...),
			`requested ""`},
		"an answer": {"key",
			append(bytes.Clone(req), wire.AppendCM(nil, wire.CMConnResp, nil)...), broken},
		"a refusal": {"key",
			append(bytes.Clone(req), wire.AppendCM(nil, wire.CMReject, nil)...), broken},
		"proof in another order": {"key", append(bytes.Clone(req), swapped...), broken},
		"proof without feature": {"key",
			append(bytes.Clone(req), wire.AppendCM(nil, wire.CMAuth, make([]byte, 16))...), broken},
		"proof to an end without a key": {"", auth(1), broken},
		"a request without a key":       {"key", wire.AppendCM(nil, wire.CMConnReq, nil), `requested ""`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, cut := range []int{1, 7, 1000} {
				s := newScript(t).keyed("", c.key, 1)
				for i := 0; i < len(c.in); i += cut {
					if s.b.c.State() != Closed {
						s.b.inject(c.in[i:min(len(c.in), i+cut)])
					}
				}
				s.b.want(c.want)
				if c.want != broken && !s.b.c.Denied() {
					t.Error("not denied")
				}
				s.b.take()
			}
		})
	}
	for name, in := range map[string][]byte{"two challenges": append(auth(1), auth(2)...),
		"a proof unasked": auth(1, make([]byte, 16)...), "a request": req} {
		s := newScript(t).keyed("key", "", 1)
		must(t, s.a.c.Start(nil))
		s.a.inject(in)
		if want := fmt.Sprint(s.a.events); want != "["+broken+"]" && want != `[failed "": `+denied+"]" {
			t.Errorf("%s: %s", name, want)
		}
		s.a.events = nil
	}
}

// TestAuthTimeout has a peer stop within the exchange.
func TestAuthTimeout(t *testing.T) {
	s := newScript(t).keyed("key", "key", 1)
	must(t, s.a.c.Start(nil))
	s.b.inject(s.a.take())
	s.advance(5 * second)
	s.a.want(`failed "": the peer did not answer in time`)
	s.b.want(`failed "": the peer did not answer in time`)
}
