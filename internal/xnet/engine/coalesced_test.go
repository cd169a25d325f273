// This file tests coalesced messages: small messages that share a header.

package engine

import (
	"fmt"
	"testing"

	"gofabric/internal/xnet/wire"
)

// connectGofabric makes the script's ends gofabric peers, and connects them.
func connectGofabric(s *script) *script {
	s.a.cfg.Features, s.b.cfg.Features = wire.FeatureExtended, wire.FeatureExtended
	return s.connect()
}

func TestCoalesced(t *testing.T) {
	variants(t, func(s *script) {
		connectGofabric(s)
		type class struct {
			tagged bool
			tag    uint64
		}
		kinds := []class{{false, 0}, {true, 5}, {true, 6}, {false, 0}, {true, 6}}
		sizes := []int{64, 64, 64, 8, 100}
		waiting, bufs := map[class][]int{}, map[int][]byte{} // receives without a message
		post := func(ctx int, c class) {
			bufs[ctx] = make([]byte, 128)
			if c.tagged {
				s.b.trecv(uint64(ctx), 2, c.tag, 0, bufs[ctx])
			} else {
				s.b.recv(uint64(ctx), 2, bufs[ctx])
			}
			waiting[c] = append(waiting[c], ctx)
		}
		type message struct{ i, n int }
		flying := map[class][]message{} // in order, not received
		check := func() {
			t.Helper()
			for _, e := range s.b.events {
				var ctx, n int
				if _, err := fmt.Sscanf(e, "recv %d len %d", &ctx, &n); err != nil {
					t.Fatalf("event %q", e)
				}
				for c, w := range waiting {
					if len(w) == 0 || w[0] != ctx {
						continue
					}
					m := flying[c][0]
					if m.n != n {
						t.Fatalf("%q, want message %d of %d bytes", e, m.i, m.n)
					}
					same(t, e, bufs[ctx][:n], pattern(m.i, m.n))
					waiting[c], flying[c] = w[1:], flying[c][1:]
					ctx = -1
					break
				}
				if ctx >= 0 {
					t.Fatalf("%q out of turn", e)
				}
			}
			s.b.events = nil
		}
		n := 0
		for k, c := range kinds {
			for i := range 7 {
				if i%3 > 0 {
					post(n, c)
				}
				s.a.send(Send{Ctx: uint64(n), Tagged: c.tagged, Tag: c.tag}, pattern(n, sizes[k]))
				s.a.want(fmt.Sprintf("send %d", n))
				flying[c] = append(flying[c], message{n, sizes[k]})
				n++
			}
		}
		s.flow()
		check()
		for c := range flying {
			for len(flying[c]) > 0 {
				post(n, c)
				n++
				check()
			}
		}
		if in := int(s.b.c.MsgsIn); in != 7*len(kinds) {
			t.Errorf("%d messages came, want %d", in, 7*len(kinds))
		}
		s.b.checkUnexpected(0)
	})
}

// TestCoalescedBytes checks that fifty equal messages have one header.
func TestCoalescedBytes(t *testing.T) {
	s := connectGofabric(newScript(t))
	before := s.a.c.BytesOut
	for i := range 50 {
		s.b.recv(uint64(i), AnySource, make([]byte, 64))
		s.a.send(Send{Ctx: uint64(i)}, pattern(i, 64))
		s.a.want(fmt.Sprintf("send %d", i))
	}
	s.flow()
	for i := range 50 {
		s.b.want(fmt.Sprintf("recv %d len 64 src 2", i))
	}
	if n := s.a.c.BytesOut - before; n != wire.BaseLen+50*64 {
		t.Errorf("%d bytes on the wire, want %d", n, wire.BaseLen+50*64)
	}
}

// TestCoalescedEnds checks that a message does not change after it was partly transmitted, or after something was
// queued behind it.
func TestCoalescedEnds(t *testing.T) {
	variants(t, func(s *script) {
		connectGofabric(s)
		want := 0
		send := func(o Send, p []byte) {
			o.Ctx = uint64(want)
			s.b.recv(o.Ctx, AnySource, make([]byte, 2000))
			s.a.send(o, p)
			want++
		}
		for round := range 6 {
			send(Send{}, pattern(want, 40))
			send(Send{}, pattern(want, 40))
			switch round {
			case 0:
				s.a.transmit(1) // into the header
			case 1:
				s.a.transmit(30) // behind it
			case 2:
				send(Send{HasData: true, Data: 9}, pattern(want, 40))
			case 3:
				send(Send{Ack: true}, pattern(want, 40))
			case 4:
				send(Send{}, pattern(want, 2000)) // lent
			case 5:
				send(Send{}, pattern(want, 41))
			}
			send(Send{}, pattern(want, 40))
			send(Send{}, pattern(want, 40))
		}
		s.flow()
		for i := range want {
			if len(s.b.events) == 0 {
				t.Fatalf("message %d is missing", i)
			}
			var ctx, n int
			fmt.Sscanf(s.b.events[0], "recv %d len %d", &ctx, &n)
			if ctx != i {
				t.Fatalf("%q, want message %d", s.b.events[0], i)
			}
			s.b.events = s.b.events[1:]
		}
		if len(s.a.events) != want {
			t.Errorf("%d completions of %d sends", len(s.a.events), want)
		}
		s.a.events = nil
	})
}

// TestCoalescedReceiveSpace has a coalesced message for a multi-receive buffer, and one in the middle of which the budget
// for unexpected messages is used up.
func TestCoalescedReceiveSpace(t *testing.T) {
	variants(t, func(s *script) {
		connectGofabric(s)
		op := s.b.rx.NewOp()
		op.Ctx, op.Multi = 1, true
		op.SetBuf(make([]byte, 300))
		s.b.rx.MinMulti = 64
		s.b.rx.PostMsg(op, AnySource)
		s.b.rx.PeerLimit = 1500
		const n = 30
		for i := range n {
			s.a.send(Send{Ctx: uint64(i)}, pattern(i, 64))
			s.a.want(fmt.Sprintf("send %d", i))
		}
		s.flow()
		if got := len(s.b.events); got != 4 {
			t.Fatalf("%d messages in a buffer for four: %q", got, s.b.events)
		}
		s.b.events = nil
		for i := 4; i < n; i++ {
			buf := make([]byte, 64)
			s.b.recv(uint64(i), AnySource, buf)
			s.flow()
			s.b.want(fmt.Sprintf("recv %d len 64 src 2", i))
			same(t, "payload", buf, pattern(i, 64))
		}
	})
}

// TestCoalescedFence checks that messages behind an operation that waits for a fence do not join those before it.
func TestCoalescedFence(t *testing.T) {
	s := connectGofabric(newScript(t))
	s.a.send(Send{Ctx: 1}, pattern(1, 5000)) // not copied: complete only after it has left
	s.a.send(Send{Ctx: 2}, pattern(2, 64))
	s.a.want("send 2")
	if !s.a.c.Join(pattern(3, 64), false, 0) {
		t.Fatal("the open message takes no other")
	}
	s.a.send(Send{Ctx: 4, Fence: true}, pattern(4, 64))
	if !s.a.c.Waiting() {
		t.Fatal("the fence holds nothing back")
	}
	if s.a.c.Join(pattern(5, 64), false, 0) {
		t.Fatal("a message has overtaken what a fence holds back")
	}
}

// TestCoalescedNative checks that native peers get no coalesced messages, and may not send any.
func TestCoalescedNative(t *testing.T) {
	s := connected(t)
	before := s.a.c.BytesOut
	for i := range 3 {
		s.b.recv(uint64(i), AnySource, make([]byte, 64))
		s.a.send(Send{Ctx: uint64(i)}, pattern(i, 64))
		s.a.want(fmt.Sprintf("send %d", i))
	}
	s.flow()
	for i := range 3 {
		s.b.want(fmt.Sprintf("recv %d len 64 src 2", i))
	}
	if n := s.a.c.BytesOut - before; n != 3*(wire.BaseLen+64) {
		t.Errorf("%d bytes to a native peer, want %d", n, 3*(wire.BaseLen+64))
	}
	s.b.inject(header(wire.Header{Op: wire.OpCoalesced, OpData: 2}, 10))
	s.b.want(fmt.Sprintf("failed %q: %v", "", ErrProtocol))
}

// TestCoalescedBad checks that wrong headers end the connection.
func TestCoalescedBad(t *testing.T) {
	for name, h := range map[string]struct {
		h wire.Header
		n uint64
	}{
		"none":        {wire.Header{Op: wire.OpCoalesced}, 10},
		"unequal":     {wire.Header{Op: wire.OpCoalesced, OpData: 3}, 10},
		"empty":       {wire.Header{Op: wire.OpTagCoalesced, OpData: 3}, 0},
		"more than":   {wire.Header{Op: wire.OpCoalesced, OpData: 0, IovCnt: 1}, 100},
		"with flags":  {wire.Header{Op: wire.OpCoalesced, OpData: 2, Flags: wire.FlagDelivery}, 10},
		"with others": {wire.Header{Op: wire.OpTagCoalesced, OpData: 2, Flags: 0x40}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := connectGofabric(newScript(t))
			s.b.inject(header(h.h, h.n))
			s.b.want(fmt.Sprintf("failed %q: %v", "", ErrProtocol))
		})
	}
}
