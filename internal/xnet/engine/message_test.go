// This file tests messages: small and large, with several buffers, acknowledged, injected, too long.

package engine

import "testing"

// TestMessages sends every size, tagged and not, acknowledged and not, before and after the receive.
func TestMessages(t *testing.T) {
	sizes := []int{0, 1, 255, 256, 257, 5000, 70000}
	variants(t, func(s *script) {
		s.connect()
		ctx := uint64(0)
		for _, before := range []bool{true, false} {
			for _, tagged := range []bool{false, true} {
				for _, ack := range []bool{false, true} {
					for _, n := range sizes {
						if n > 5000 && s.cut < 100 {
							continue
						}
						ctx++
						s.oneMessage(ctx, n, tagged, ack, before)
					}
				}
			}
		}
	})
}

func (s *script) oneMessage(ctx uint64, n int, tagged, ack, before bool) {
	s.t.Helper()
	payload, buf := pattern(int(ctx), n), make([]byte, n+3)
	o := Send{Ctx: ctx, Tagged: tagged, Ack: ack, HasData: ctx%2 == 0, Data: 99}
	text := "recv " + num(ctx) + " len " + num(uint64(n))
	if tagged {
		o.Tag = 7
		text += " tag 7"
	}
	text += " src 2"
	if o.HasData {
		text += " data 99"
	}
	post := func() {
		if tagged {
			s.b.trecv(ctx, 2, 5, 2, buf)
		} else {
			s.b.recv(ctx, AnySource, buf)
		}
	}
	if before {
		post()
	}
	s.a.send(o, payload[:n/3], payload[n/3:])
	s.flow()
	if !before {
		post()
	}
	s.flow()
	s.a.want("send " + num(ctx))
	s.b.want(text)
	same(s.t, text, buf[:n], payload)
}

func num(v uint64) string { return string(appendUint(nil, v)) }

func appendUint(b []byte, v uint64) []byte {
	if v >= 10 {
		b = appendUint(b, v/10)
	}
	return append(b, byte('0'+v%10))
}

// TestManyBuffers sends messages across the bounds of the buffers at both ends. A receive with an empty part is
// filled like any other.
func TestManyBuffers(t *testing.T) {
	variants(t, func(s *script) {
		s.connect()
		p := pattern(1, 30000)
		buf := make([]byte, 30000)
		for i, before := range []bool{true, false} {
			clear(buf)
			if before {
				s.b.recv(1, 2, buf[:5], nil, buf[5:20000], buf[20000:])
			}
			s.a.send(Send{Ctx: uint64(i), Ack: true}, p[:1], p[1:10000], nil, p[10000:])
			s.flow()
			if !before {
				s.b.recv(1, 2, buf[:5], nil, buf[5:20000], buf[20000:])
			}
			s.flow()
			s.a.want("send " + num(uint64(i)))
			s.b.want("recv 1 len 30000 src 2")
			same(t, "gathered", buf, p)
		}
	})
}

// TestTruncation checks that a message longer than its receive is truncated, reported and acknowledged, and that
// the next one is not disturbed.
func TestTruncation(t *testing.T) {
	variants(t, func(s *script) {
		s.connect()
		p := pattern(2, 9000)
		for _, before := range []bool{true, false} {
			for _, room := range []int{0, 10, 5000} {
				buf, next := make([]byte, room), make([]byte, 4)
				post := func() {
					s.b.recv(1, 2, buf)
					s.b.recv(2, 2, next)
				}
				if before {
					post()
				}
				s.a.send(Send{Ctx: 5, Ack: true}, p)
				s.a.send(Send{Ctx: 6}, []byte("next"))
				s.flow()
				if !before {
					post()
				}
				s.flow()
				s.a.want("send 6", "send 5")
				s.b.want("recv 1 len "+num(uint64(room))+" over "+num(uint64(9000-room))+": message longer than the posted buffer", "recv 2 len 4 src 2")
				same(t, "cut", buf, p[:room])
				same(t, "next", next, []byte("next"))
			}
		}
	})
}

// TestAcksInOrder checks that an acknowledgement completes the oldest operation that wants one.
func TestAcksInOrder(t *testing.T) {
	s := connected(t)
	for i := range 4 {
		s.a.send(Send{Ctx: uint64(i), Ack: i%2 == 0, Commit: i == 3}, pattern(i, 300*i))
	}
	for i := range 4 {
		s.b.recv(uint64(i), 2, make([]byte, 1000))
	}
	s.a.transmit(1 << 20)
	s.a.want("send 1")
	s.flow()
	s.b.want("recv 0 len 0 src 2", "recv 1 len 300 src 2", "recv 2 len 600 src 2", "recv 3 len 900 src 2")
	s.a.want("send 0", "send 2", "send 3")
	if s.b.replied != 3 {
		t.Errorf("%d answers announced, want 3", s.b.replied)
	}
}

// TestInject checks that an inject does not use the caller's buffer after the call, at every size and completion
// level, and is never announced.
func TestInject(t *testing.T) {
	s := newScript(t)
	s.a.cfg.RendezvousOver = 100
	s.connect()
	s.a.c.Rendezvous, s.b.c.Rendezvous = true, true
	for i, n := range []int{1, 300, MaxInject, MaxInject + 5000} {
		for _, o := range []Send{{Inject: true}, {Inject: true, Ack: true, Tagged: true},
			{Copy: true, Ack: true, Tagged: true}} {
			p, buf := pattern(i, n), make([]byte, n)
			s.a.send(o, p)
			clear(p)
			if o.Tagged {
				s.b.trecv(1, 2, 0, 0, buf)
			} else {
				s.b.recv(1, 2, buf)
			}
			s.flow()
			if o.Inject {
				s.a.want("inject send 0")
			} else {
				s.a.want("send 0")
			}
			s.b.want("recv 1 len " + num(uint64(n)) + " src 2")
			same(t, "inject", buf, pattern(i, n))
		}
	}
}

// TestSendLimits checks the limits of staged bytes and of operations, and that both end when the transport takes
// bytes.
func TestSendLimits(t *testing.T) {
	s := newScript(t)
	s.a.cfg.StageLimit, s.a.cfg.TxDepth = 1000, 3
	s.connect()
	o := Send{Silent: true}
	must(t, o.SetIOV([][]byte{make([]byte, 100)}))
	n := 0
	for ; s.a.c.Submit(&o) == nil; n++ {
		s.a.want("silent send 0")
	}
	if n != 9 { // 116 bytes each
		t.Errorf("%d small sends in 1000 bytes", n)
	}
	if err := s.a.c.Submit(&o); err != ErrAgain {
		t.Errorf("full: %v", err)
	}
	s.flow()
	o.Ack = true
	for range 3 {
		must(t, s.a.c.Submit(&o))
	}
	if err := s.a.c.Submit(&o); err != ErrAgain {
		t.Errorf("too many operations: %v", err)
	}
	s.flow()
	s.a.want("silent send 0", "silent send 0", "silent send 0")
	if err := o.SetIOV(make([][]byte, 5)); err != ErrTooLong {
		t.Errorf("five buffers: %v", err)
	}
	if err := s.b.rx.NewOp().SetIOV(make([][]byte, 5)); err != ErrTooLong {
		t.Errorf("five buffers: %v", err)
	}
	s.b.pool.OutRx-- // the operation taken above
}

// TestChunksComeBack checks that a full chunk that has left before what follows it is used again.
func TestChunksComeBack(t *testing.T) {
	s := newScript(t)
	s.a.cfg.StageLimit = 1 << 20
	s.connect()
	for range 400 {
		s.a.send(Send{Silent: true}, make([]byte, 200))
		s.a.send(Send{Ctx: 1}, make([]byte, 1000))
		s.a.transmit(s.a.c.Queued() - 500) // the staged bytes have left, the large payload has not
		s.receive(s.b, 1<<20)
	}
	if s.a.pool.OutChunks != 1 {
		t.Errorf("%d chunks for %d staged bytes", s.a.pool.OutChunks, s.a.c.Staged())
	}
	o := Send{Inject: true}
	o.IOV[0], o.NIOV = make([]byte, 2*chunkSize), 1
	must(t, s.a.c.Submit(&o))
	s.b.recv(1, 3, nil)
	s.flow()
	s.a.events = nil
	s.b.checkUnexpected(801)
}

func (e *end) checkUnexpected(n int) {
	e.t.Helper()
	if got := e.rx.Unexpected(); got != n {
		e.t.Errorf("%s: %d unexpected messages, want %d", e.name, got, n)
	}
}

// TestReceiveReused checks that a tagged receive takes untagged messages when it is used again.
func TestReceiveReused(t *testing.T) {
	s := connected(t)
	buf := make([]byte, 4)
	for range 3 {
		s.b.trecv(1, 2, 77, 8, buf)
		s.a.send(Send{Ctx: 1, Tagged: true, Tag: 77}, buf)
		s.flow()
		s.b.recv(2, AnySource, buf)
		s.a.send(Send{Ctx: 2}, buf)
		s.flow()
		s.a.want("send 1", "send 2")
		s.b.want("recv 1 len 4 tag 77 src 2", "recv 2 len 4 src 2")
	}
}

// TestCloseCompletesAll checks that the end of the connection ends every operation on it once.
func TestCloseCompletesAll(t *testing.T) {
	for name, close := range map[string]func(*Conn){
		"fail": func(c *Conn) { c.Fail(ErrPeerClose) }, "drop": func(c *Conn) { c.Drop(ErrPeerClose) },
	} {
		s := newScript(t)
		s.a.cfg.RendezvousOver = 2000
		s.connect()
		s.a.c.Rendezvous = true
		s.a.send(Send{Ctx: 1, Ack: true}, make([]byte, 10))
		s.a.send(Send{Ctx: 2, Tagged: true}, make([]byte, 3000)) // announced
		s.a.send(Send{Kind: KindRead, Ctx: 3, NRMA: 1}, make([]byte, 100))
		s.a.send(Send{Kind: KindWrite, Ctx: 4, NRMA: 1}, make([]byte, 1000))
		s.a.transmit(170)
		s.a.send(Send{Ctx: 5}, make([]byte, 1000), make([]byte, 1000))
		s.a.recv(6, 1, make([]byte, 100))
		s.b.send(Send{Ctx: 7}, make([]byte, 50))
		s.b.want("send 7")
		s.b.transmit(40)
		s.receive(s.a, 100) // half of it
		close(s.a.c)
		const why = ": the connection ended without a closing message"
		s.a.want("recv 6" + why)
		if name == "fail" {
			s.a.want("read 3"+why, "send 1"+why, "send 2"+why, "write 4"+why, "send 5"+why, `failed ""`+why)
		} else {
			s.a.want("read 3"+why, "send 1"+why, "send 2"+why, "write 4"+why, "send 5"+why)
		}
		close(s.a.c)
		if err := s.a.c.Submit(&Send{}); err != ErrState {
			t.Errorf("send after the end: %v", err)
		}
		s.a.c.Receive(0, []byte("more"))
	}
}
