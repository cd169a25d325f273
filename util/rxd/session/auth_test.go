package session

import (
	"bytes"
	"testing"

	"gofabric/internal/authkey"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// withKey gives a node an authorization key; "": none.
func withKey(n *world, key string) func(*Config) {
	return func(c *Config) {
		if key != "" {
			c.Auth = &xengine.Auth{Key: authkey.New([]byte(key)), Rand: n.Uint64}
		}
	}
}

// TestSameKey connects nodes with one key from both ends at once, over a network that loses, repeats and damages
// datagrams.
func TestSameKey(t *testing.T) {
	for seed := range uint64(40) {
		n := newWorld(t, seed)
		if seed > 3 {
			n.Link.Loss, n.Link.Dup, n.Link.Reorder, n.Link.Corrupt = 0.2, 0.1, 0.2, 0.05
		}
		a, b := n.add(1, withKey(n, "key")), n.add(2, withKey(n, "key"))
		for i := range uint64(5) {
			a.recv(make([]byte, 3000), i)
			b.recv(make([]byte, 3000), i)
			a.post(b, msg(i, pattern(2000, 1)))
			if seed%2 == 0 {
				b.post(a, msg(i, pattern(2000, 2)))
			}
		}
		want := 5
		if !n.run(60*second, func() bool {
			return a.count(xengine.KindSend) == want && b.count(xengine.KindRecv) == want && (seed%2 != 0 || b.count(xengine.KindSend) == want && a.count(xengine.KindRecv) == want)
		}) {
			t.Fatalf("seed %d: %d and %d sent, %d and %d received, %v %v", seed, a.count(xengine.KindSend), b.count(xengine.KindSend), a.count(xengine.KindRecv), b.count(xengine.KindRecv), a.failed, b.failed)
		}
		if a.e.Stats.Denied+b.e.Stats.Denied > 0 {
			t.Errorf("seed %d: a connection was denied", seed)
		}
		a.close()
		b.close()
	}
}

// TestSelfKey has a node with a key send to itself.
func TestSelfKey(t *testing.T) {
	n := newWorld(t, 1)
	a := n.add(1, withKey(n, "key"))
	a.recv(make([]byte, 100), 1)
	a.post(a, msg(1, pattern(100, 1)))
	if !n.run(5*second, func() bool { return a.count(xengine.KindRecv) == 1 }) {
		t.Fatal(a.failed)
	}
	a.close()
}

// TestDifferentKeys checks that nodes with different keys fail to connect at once, and that nothing posted counts
// as sent.
func TestDifferentKeys(t *testing.T) {
	for _, keys := range [][2]string{{"key", "yek"}, {"key", ""}, {"", "key"}, {"key", "key\x00"}} {
		for _, both := range []bool{false, true} {
			n := newWorld(t, 3)
			a, b := n.add(1, withKey(n, keys[0])), n.add(2, withKey(n, keys[1]))
			began := n.Now
			b.recv(make([]byte, 3000), 1)
			a.post(b, msg(1, pattern(20, 1)))
			if both {
				b.post(a, msg(1, pattern(20, 1)))
			}
			if !n.run(5*second, func() bool { return len(a.failed) > 0 && (!both || len(b.failed) > 0) }) {
				t.Fatalf("%q: no error", keys)
			}
			if d := n.Now - began; d > 50*ms {
				t.Errorf("%q: the error came after %d ms", keys, d/ms)
			}
			for _, d := range []*node{a, b} {
				for _, err := range d.failed {
					if err != xengine.ErrAuth {
						t.Errorf("%q: %v", keys, err)
					}
				}
				if d.count(xengine.KindSend)+d.count(xengine.KindRecv)+len(d.up) > 0 {
					t.Errorf("%q: %+v, up %d", keys, d.done, len(d.up))
				}
			}
			if b.e.Stats.Denied == 0 {
				t.Errorf("%q: the refusal is not counted", keys)
			}
			n.run(30*second, nil)
			a.close()
			b.close()
		}
	}
}

// TestKeyAndNative checks that a node with a key refuses native peers, for each end that makes contact first.
func TestKeyAndNative(t *testing.T) {
	n := newWorld(t, 1)
	a, b := n.add(1, withKey(n, "key")), n.add(2, nativeOnly)
	a.post(b, msg(1, pattern(20, 1)))
	n.run(second, func() bool { return len(a.failed) > 0 })
	if len(a.failed) != 1 || a.failed[0] != xengine.ErrAuth {
		t.Errorf("contact to a native peer: %v", a.failed)
	}
	b.post(a, msg(1, pattern(20, 1)))
	n.run(30*second, func() bool { return len(b.failed) > 0 })
	if len(b.failed) == 0 || a.e.Stats.Denied == 0 || len(a.up) > 0 || a.e.Len() > 0 || len(a.e.halfOpen.m) > 0 {
		t.Errorf("contact from a native peer: %v, %d denied, %d peers", b.failed, a.e.Stats.Denied, a.e.Len())
	}
	a.close()
	b.close()
}

// TestLateKey has peers wait for a node whose key is not set yet.
func TestLateKey(t *testing.T) {
	n := newWorld(t, 1)
	a, b := n.add(1, withKey(n, "key")), n.add(2, withKey(n, "key"))
	b.cfg.Auth.Key = nil
	b.recv(make([]byte, 100), 1)
	a.post(b, msg(1, pattern(20, 1)))
	n.run(200*ms, nil)
	if b.e.Len()+len(a.failed) > 0 {
		t.Fatal("a node without its key answers")
	}
	b.cfg.Auth.Key = authkey.New([]byte("key"))
	if !n.run(5*second, func() bool { return b.count(xengine.KindRecv) == 1 }) {
		t.Error("a node with its key does not answer: ", a.failed)
	}
	a.close()
	b.close()
}

// TestAnswersAreNotLonger checks that no answer to an unproved address is longer than the request: a node cannot be
// used to amplify a flood.
func TestAnswersAreNotLonger(t *testing.T) {
	for _, keys := range [][2]string{{"key", "yek"}, {"key", ""}, {"", "key"}, {"key", "key"}} {
		n := newWorld(t, 3)
		asked := 0
		n.Tap = func(from, _ int, b []byte) {
			if from == 1 {
				asked = max(asked, len(b))
			} else if asked > 0 && len(b) > asked {
				t.Errorf("%q: an answer of %d bytes to %d", keys, len(b), asked)
			}
		}
		a, b := n.add(1, withKey(n, keys[0])), n.add(2, withKey(n, keys[1]))
		a.post(b, msg(1, pattern(20, 1)))
		n.run(5*ms, nil)
		a.close()
		b.close()
	}
}

// TestRXDReplay repeats all datagrams of a successful handshake, and changes them, without the key. No connection
// results.
func TestRXDReplay(t *testing.T) {
	n := newWorld(t, 1)
	var said [][]byte
	n.Tap = func(from, _ int, b []byte) {
		if from == 1 {
			said = append(said, bytes.Clone(b))
		}
	}
	a, b := n.add(1, withKey(n, "key")), n.add(2, withKey(n, "key"))
	b.recv(make([]byte, 100), 1)
	a.post(b, msg(1, pattern(20, 1)))
	n.run(second, nil)
	if b.count(xengine.KindRecv) != 1 {
		t.Fatal("not connected")
	}
	n.Tap = nil
	n.remove(a)
	again := n.add(3, withKey(n, "key")) // the same key, but other random numbers
	for _, d := range said {
		again.e.Receive(n.Now, a.addr, d)
		again.e.Receive(n.Now, at(9), d)
	}
	if again.e.Len() > 0 || len(again.up) > 0 {
		t.Error("a recorded connect is accepted")
	}
	// The cookie is right, the proof is not.
	x := wire.Ext{ConnID: 5, Epoch: 6, MaxDatagram: 1472, Window: 1 << 16, Features: wire.FeatureAuth, Nonce: 7}
	r := wire.RTS{RTSAddr: 9, Source: at(9)}
	x.Cookie = again.e.cookie(at(9), &x, n.Now>>slotShift)
	for i := range said {
		trailing, err := new(wire.RTS).Parse(said[i])
		if err != nil {
			continue
		}
		if y, ok := wire.ParseExt(trailing); ok {
			x.Proof = y.Proof
		}
		again.e.Receive(n.Now, at(9), x.Append(r.Append(nil)))
	}
	if again.e.Len() > 0 || again.e.Stats.Denied == 0 {
		t.Errorf("%d peers, %d denied", again.e.Len(), again.e.Stats.Denied)
	}
	x.Proof = again.e.prove(labelAsk, identity{5, 6}, 7, x.Cookie, identity{again.e.connID(at(9), &x), again.e.cfg.Epoch})
	again.e.Receive(n.Now, at(9), x.Append(r.Append(nil))) // the test itself computes the right proof
	if again.e.Len() != 1 {
		t.Error("the right proof is not accepted")
	}
	for _, d := range []*node{b, again} {
		d.close()
	}
}

// FuzzAuth gives arbitrary blocks to a node with a key that has both sent and received RTS. Without the key no
// connection results.
func FuzzAuth(f *testing.F) {
	x := wire.Ext{ConnID: 5, Epoch: 6, MaxDatagram: 1472, Window: 1 << 16, Features: wire.FeatureAuth, Nonce: 7}
	block := x.Append(nil)
	f.Add(block, true, uint8(0))
	f.Add(block[:64], true, uint8(1))
	x.Flags, x.Features = wire.ExtUp, 0
	f.Add(x.Append(nil), false, uint8(2))
	x.Flags = wire.ExtDenied
	f.Add(x.Append(nil), false, uint8(3))
	f.Fuzz(func(t *testing.T, block []byte, rts bool, help uint8) {
		n := newWorld(t, 2)
		a := n.add(1, withKey(n, "key"))
		p := a.e.Peer(at(2), 1, n.Now)
		if err := p.Conn().Submit(msg(1, pattern(20, 1))); err != nil {
			t.Fatal(err)
		}
		from := at(2)
		if help&1 != 0 {
			from = at(3)
		}
		if x, ok := wire.ParseExt(block); ok {
			if help&2 != 0 {
				x.Nonce = p.hs.nonce
			}
			if help&8 != 0 {
				x.MaxDatagram, x.Window, x.Epoch = 1472, 1<<16, ^uint64(0)
			}
			if help&4 != 0 {
				x.Cookie = a.e.cookie(from, &x, n.Now>>slotShift)
			}
			block = x.Append(nil)
		}
		for range 3 {
			var pkt []byte
			if rts {
				pkt = (&wire.RTS{RTSAddr: 9, Source: from}).Append(nil)
			} else {
				pkt = (&wire.CTS{RTSAddr: uint64(p.index), CTSAddr: 8}).Append(nil)
			}
			if x, ok := wire.ParseExt(block); ok {
				pkt = x.Append(pkt)
			} else {
				pkt = append(pkt, block...)
			}
			a.e.Receive(n.Now, from, pkt)
			a.flush()
		}
		if len(a.up) > 0 || a.count(xengine.KindSend) > 0 {
			t.Error("a connection was made without the key")
		}
		a.close()
	})
}

// TestForgedAnswer has an eavesdropper without the key answer.
func TestForgedAnswer(t *testing.T) {
	proofs := map[string]func(a *Engine, p *Peer, x *wire.Ext) [wire.ProofLen]byte{
		"none":        func(*Engine, *Peer, *wire.Ext) (none [wire.ProofLen]byte) { return },
		"the asker's": func(a *Engine, p *Peer, _ *wire.Ext) [wire.ProofLen]byte { x := a.rtsBlock(p); return x.Proof },
		"of other keys": func(a *Engine, p *Peer, x *wire.Ext) [wire.ProofLen]byte {
			a.cfg.Auth.Key = authkey.New([]byte("x"))
			b := *x
			return answerOf(a, p, &b)
		},
		"the right one": answerOf,
	}
	for name, proof := range proofs {
		n := newWorld(t, 1)
		a := n.add(1, withKey(n, "key"))
		p := a.e.Peer(at(2), 1, n.Now)
		if err := p.Conn().Submit(msg(1, pattern(20, 1))); err != nil {
			t.Fatal(err)
		}
		answer := func(flags uint8, prove bool) {
			x := wire.Ext{Flags: flags, ConnID: 8, Epoch: 9, Cookie: 10, MaxDatagram: 1472, Window: 1 << 16, Features: wire.FeatureAuth, Nonce: p.hs.nonce}
			if prove {
				key := a.e.cfg.Auth.Key
				x.Proof = proof(a.e, p, &x)
				a.e.cfg.Auth.Key = key
			}
			a.e.Receive(n.Now, at(2), x.Append((&wire.CTS{RTSAddr: uint64(p.index), CTSAddr: 8}).Append(nil)))
		}
		answer(0, false)
		if len(a.up)+len(a.failed) > 0 {
			t.Fatalf("%s: up after a challenge", name)
		}
		answer(wire.ExtUp, true)
		if good := name == "the right one"; good != (len(a.up) == 1) ||
			good == (len(a.failed) == 1 && a.failed[0] == xengine.ErrAuth) {
			t.Errorf("%s: up %d, %v", name, len(a.up), a.failed)
		}
		a.close()
	}
}

// answerOf returns the proof of the peer that answers with x.
func answerOf(a *Engine, p *Peer, x *wire.Ext) [wire.ProofLen]byte {
	return a.prove(labelAnswer, identity{p.local, a.cfg.Epoch}, p.hs.nonce, x.Cookie, identity{x.ConnID, x.Epoch})
}
