// This file tests the handshake: answers, private data, time-out, and data that comes too early.

package engine

import (
	"fmt"
	"testing"

	"gofabric/internal/xnet/wire"
)

func TestHandshakeData(t *testing.T) {
	for _, n := range []int{0, 1, 8, 255, 256} {
		for _, cut := range []int{1, 31, 32, 33, 1000} {
			s := newScript(t)
			s.cut = cut
			ask, answer := pattern(1, n), pattern(2, n)
			must(t, s.a.c.Start(ask))
			s.a.wantState(Requesting)
			s.flow()
			s.b.want(fmt.Sprintf("requested %q", ask))
			s.b.wantState(Deciding)
			must(t, s.b.c.Accept(answer))
			s.b.want(`connected ""`)
			s.flow()
			s.a.want(fmt.Sprintf("connected %q", answer))
			if s.a.c.Deadline() != 0 || s.b.c.Deadline() != 0 {
				t.Error("a deadline is left")
			}
		}
	}
}

func TestReject(t *testing.T) {
	for _, cut := range []int{1, 40, 1000} {
		s := newScript(t)
		s.cut = cut
		s.a.send(Send{Ctx: 1}, []byte("early"))
		must(t, s.a.c.Start(nil))
		s.flow()
		s.b.want(`requested ""`)
		s.b.send(Send{Ctx: 2}, []byte("vain"))
		must(t, s.b.c.Reject([]byte("go away")))
		s.b.want("send 2: the endpoint is closed")
		s.b.wantState(Closed)
		s.flow()
		s.a.want(`failed "go away": connection refused by the peer`, "send 1: connection refused by the peer")
		s.a.wantState(Closed)
	}
}

// TestRejectUnsent checks that a rejection that cannot be transmitted is freed when the transport fails.
func TestRejectUnsent(t *testing.T) {
	s := newScript(t)
	must(t, s.a.c.Start(nil))
	s.flow()
	s.b.want(`requested ""`)
	must(t, s.b.c.Reject(nil))
	s.b.c.Fail(ErrPeerClose)
	s.b.checkPool()
}

func TestHandshakeTimeout(t *testing.T) {
	s := newScript(t)
	if s.a.c.Deadline() == 0 || s.b.c.Deadline() == 0 {
		t.Fatal("no deadline while the handshake is open")
	}
	s.a.send(Send{Ctx: 1}, []byte("x"))
	must(t, s.a.c.Start(nil))
	s.advance(5*second - 1)
	s.advance(1)
	s.a.want(`failed "": the peer did not answer in time`, "send 1: the peer did not answer in time")
	s.b.want(`failed "": the peer did not answer in time`)
	s.advance(5 * second)
}

func TestHandshakeStates(t *testing.T) {
	s := newScript(t)
	long := make([]byte, wire.MaxCMData+1)
	for name, err := range map[string]error{
		"accept before a request": s.b.c.Accept(nil), "reject before a request": s.b.c.Reject(nil),
		"start of a passive end": s.b.c.Start(nil),
	} {
		if err != ErrState {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.a.c.Start(long); err != ErrTooLong {
		t.Errorf("long request: %v", err)
	}
	must(t, s.a.c.Start(nil))
	if err := s.a.c.Start(nil); err != ErrState {
		t.Errorf("second start: %v", err)
	}
	s.flow()
	s.b.want(`requested ""`)
	if err := s.b.c.Accept(long); err != ErrTooLong {
		t.Errorf("long answer: %v", err)
	}
	if err := s.b.c.Reject(long); err != ErrTooLong {
		t.Errorf("long refusal: %v", err)
	}
}

// TestBadRequest checks that anything but a request ends a listening connection at the first wrong byte, without a
// call of the driver.
func TestBadRequest(t *testing.T) {
	good := wire.AppendCM(nil, wire.CMConnReq, []byte("x"))
	change := func(i int, v byte) []byte {
		b := append([]byte(nil), good...)
		b[i] = v
		return b
	}
	for name, b := range map[string][]byte{
		"http": []byte("GET / HTTP/1.1\r\n"), "version": change(0, 2), "type": change(1, 3), "an answer": change(1, 1),
		"a refusal":     change(1, 6),
		"data too long": change(2, 2), "order mark": change(24, 9),
	} {
		for _, cut := range []int{1, 1000} {
			s := newScript(t)
			for i := 0; i < len(b); i += cut {
				s.b.inject(b[i:min(len(b), i+cut)])
			}
			if len(s.b.events) == 0 {
				t.Fatalf("%s: taken", name)
			}
			s.b.want(`failed "": the peer violated the protocol`)
		}
	}
}

func TestBadAnswer(t *testing.T) {
	s := newScript(t)
	must(t, s.a.c.Start(nil))
	s.a.inject(wire.AppendCM(nil, wire.CMConnReq, nil))
	s.a.want(`failed "": the peer violated the protocol`)
}

// TestEarlyData checks that data right behind the request waits for Accept, and that data behind the answer is
// received with it.
func TestEarlyData(t *testing.T) {
	s := newScript(t)
	b := wire.AppendCM(nil, wire.CMConnReq, nil)
	b = append(b, header(wire.Header{Op: wire.OpTag, Tag: 5}, 3)...)
	b = append(b, "abc"...)
	s.b.inject(b)
	s.b.want(`requested ""`)
	if !s.b.c.Stalled() {
		t.Fatal("bytes are received before the decision")
	}
	buf := make([]byte, 8)
	s.b.trecv(7, AnySource, 5, 0, buf)
	must(t, s.b.c.Accept(nil))
	s.b.want(`connected ""`, "recv 7 len 3 tag 5")
	same(t, "early", buf[:3], []byte("abc"))
	if s.b.resumed != 1 {
		t.Error("not resumed")
	}

	must(t, s.a.c.Start(nil))
	s.a.trecv(8, AnySource, 5, 0, buf)
	s.b.send(Send{Ctx: 9, Tagged: true, Tag: 5}, []byte("at once"))
	s.b.want("send 9")
	s.b.transmit(1 << 20)
	s.a.inject(s.b.wire)
	s.a.want(`connected ""`, "recv 8 len 7 tag 5")
}

// TestSendsWait checks that sends posted before the connection is up leave in order when it is, and that injects
// keep their content.
func TestSendsWait(t *testing.T) {
	s := newScript(t)
	scratch := []byte("inject")
	s.a.send(Send{Ctx: 1}, []byte("first"))
	s.a.send(Send{Inject: true}, scratch)
	s.a.send(Send{Ctx: 2}, pattern(0, 5000))
	s.a.send(Send{Ctx: 3, Ack: true}, []byte("last"))
	copy(scratch, "xxxxxx")
	if !s.a.c.Waiting() {
		t.Error("nothing waits")
	}
	bufs := [4][]byte{}
	for i := range bufs {
		bufs[i] = make([]byte, 5000)
		s.b.recv(uint64(10+i), AnySource, bufs[i])
	}
	s.connect0()
	s.a.want(`connected ""`)
	s.flow()
	s.a.want("send 1", "inject send 0", "send 2", "send 3")
	s.b.want("recv 10 len 5", "recv 11 len 6", "recv 12 len 5000", "recv 13 len 4")
	same(t, "inject", bufs[1][:6], []byte("inject"))
	same(t, "large", bufs[2], pattern(0, 5000))
}

// connect0 is connect without private data and without flow at the end.
func (s *script) connect0() {
	must(s.t, s.a.c.Start(nil))
	s.flow()
	s.b.want(`requested ""`)
	must(s.t, s.b.c.Accept(nil))
	s.b.want(`connected ""`)
	s.b.transmit(1 << 20)
	s.receive(s.a, 1<<20)
}

// TestAdopt moves waiting operations to the connection that came up instead, in each of its states.
func TestAdopt(t *testing.T) {
	s := connected(t)
	old := NewActive(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, s.a, 0)
	o := Send{Ctx: 5}
	o.IOV[0], o.NIOV = []byte("moved"), 1
	must(t, old.Submit(&o))
	third := NewActive(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, s.a, 0)
	third.Adopt(old)
	old.Drop(ErrClosed)
	s.a.c.Adopt(third)
	third.Drop(ErrClosed)
	s.b.recv(6, AnySource, make([]byte, 9))
	s.flow()
	s.a.want("send 5")
	s.b.want("recv 6 len 5 src 2")

	old = NewActive(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, s.a, 0)
	must(t, old.Submit(&o))
	third.Adopt(old) // closed: no effect
	old.Fail(ErrTimeout)
	s.a.want(`failed "": the peer did not answer in time`, "send 5: the peer did not answer in time")
}

// TestBigEndianPeer checks that a peer of the other byte order gets network order.
func TestBigEndianPeer(t *testing.T) {
	s := newScript(t)
	req := wire.AppendCM(nil, wire.CMConnReq, []byte("be"))
	req[24], req[31] = 0, 1
	s.b.inject(req)
	s.b.want(`requested "be"`)
	must(t, s.b.c.Accept(nil))
	s.b.want(`connected ""`)
	s.b.transmit(1 << 20)
	s.b.wire = nil
	s.b.mem.regions = [][]byte{make([]byte, 16)}
	s.b.trecv(3, AnySource, 0x1234, 0, make([]byte, 8))

	h := wire.Header{Op: wire.OpTag, Flags: wire.FlagCQData | wire.FlagDelivery, Tag: 0x1234, CQData: 77}
	h.SetPayload(2)
	s.b.inject(append(h.Append(nil, wire.Big), "hi"...))
	w := wire.Header{Op: wire.OpWrite, IovCnt: 1, IOV: [4]wire.RMAIov{{Addr: 4, Len: 3, Key: 0}}}
	w.SetPayload(3)
	s.b.inject(append(w.Append(nil, wire.Big), "abc"...))
	s.b.want("recv 3 len 2 tag 4660 data 77", "silent rwrite 0 len 3")
	same(t, "written", s.b.mem.regions[0][4:7], []byte("abc"))
	s.b.send(Send{Ctx: 4, Tagged: true, Tag: 9}, []byte("x"))
	s.b.want("send 4")
	s.b.transmit(1 << 20)
	var got wire.Header
	n, err := got.Decode(s.b.wire, wire.Big)
	if err != nil || got.OpData != wire.OpDataAck {
		t.Fatalf("ack: %v, %v", got.String(), err)
	}
	if _, err = got.Decode(s.b.wire[n:], wire.Big); err != nil || got.Tag != 9 {
		t.Fatalf("answer: %v, %v", got.String(), err)
	}
}
