// This file tests reads and writes of remote memory.

package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

func segs(v ...wire.RMAIov) (a [MaxIOV]wire.RMAIov) {
	copy(a[:], v)
	return a
}

func TestRMA(t *testing.T) {
	variants(t, func(s *script) {
		s.connect()
		for _, n := range []int{0, 1, 200, 300, 5000} {
			h := n / 2
			region, target := pattern(n, 10000), make([]byte, 10000)
			s.b.mem.regions, s.b.mem.counted = [][]byte{region, target}, nil
			buf, p := make([]byte, n), pattern(3, n)
			s.a.send(Send{Kind: KindRead, Ctx: 1, NRMA: 2,
				RMA: segs(wire.RMAIov{Addr: 5, Len: uint64(h)},
					wire.RMAIov{Addr: 900, Len: uint64(n - h)})}, buf[:n/3], buf[n/3:])
			s.a.send(Send{Kind: KindWrite, Ctx: 2, Ack: n%2 == 0, HasData: n > 250, Data: 11, NRMA: 2,
				RMA: segs(wire.RMAIov{Addr: 1, Len: uint64(h), Key: 1},
					wire.RMAIov{Addr: 5000, Len: uint64(n - h), Key: 1})}, p[:n/3], p[n/3:])
			s.flow()
			if n%2 == 0 {
				s.a.want("read 1 len "+num(uint64(n)), "write 2 len "+num(uint64(n)))
			} else {
				s.a.want("write 2 len 1", "read 1 len 1")
			}
			if s.b.events[0] != "silent rread 0 len "+num(uint64(n)) { // served while the transport takes bytes
				s.b.events[0], s.b.events[1] = s.b.events[1], s.b.events[0]
			}
			s.b.want("silent rread 0 len " + num(uint64(n)))
			if n > 250 {
				s.b.want("rwrite 0 len " + num(uint64(n)) + " data 11")
			} else {
				s.b.want("silent rwrite 0 len " + num(uint64(n)))
			}
			same(t, "read", buf, append(append([]byte(nil), region[5:5+h]...), region[900:900+n-h]...))
			same(t, "written", append(append([]byte(nil), target[1:1+h]...), target[5000:5000+n-h]...), p)
			if len(s.b.mem.counted) != 2 {
				t.Errorf("counted %q", s.b.mem.counted)
			}
		}
	})
}

// TestBadKeys checks that an access to forbidden memory ends the connection before a byte moves.
func TestBadKeys(t *testing.T) {
	for name, v := range map[string]wire.RMAIov{
		"key": {Key: 9, Len: 1}, "beyond the end": {Addr: 90, Len: 11}, "address": {Addr: 101},
		"overflow": {Addr: ^uint64(0), Len: 2}, "write": {Key: 1, Len: 1},
	} {
		for _, kind := range []Kind{KindRead, KindWrite} {
			if kind == KindRead && name == "write" {
				continue
			}
			s := connected(t)
			s.b.mem.regions = [][]byte{make([]byte, 100), make([]byte, 100)}
			s.b.mem.readOnly[1] = true
			s.b.recv(5, 2, make([]byte, 4))
			s.a.send(Send{Kind: kind, Ctx: 1, Ack: true, NRMA: 2, RMA: segs(wire.RMAIov{Len: 1}, v)},
				make([]byte, 1+v.Len%64))
			s.flow()
			s.b.want(`failed "": the peer named memory that it may not access`)
			if s.b.mem.regions[0][0] != 0 || len(s.b.mem.counted) != 0 {
				t.Errorf("%s: memory was touched", name)
			}
			s.a.c.Fail(ErrPeerClose)
			s.a.want([...]string{KindRead: "read",
				KindWrite: "write"}[kind]+" 1: the connection ended without a closing message", `failed "": the connection ended without a closing message`)
			if s.b.rx.Posted() != 1 {
				t.Errorf("%s: the endpoint's receive is gone", name)
			}
		}
	}
}

// TestReplyStall checks that a peer that asks for more than it reads is not read before it does, and that wrong
// bytes behind it are still found.
func TestReplyStall(t *testing.T) {
	s := newScript(t)
	s.b.cfg.InternalMax = 4
	s.connect()
	s.b.mem.regions = [][]byte{pattern(0, 1000)}
	bufs := make([][]byte, 20)
	for i := range bufs {
		bufs[i] = make([]byte, 1000)
		s.a.send(Send{Kind: KindRead, Ctx: uint64(i), NRMA: 1, RMA: segs(wire.RMAIov{Len: 1000})}, bufs[i])
	}
	s.flow0(s.a, s.b)
	if !s.b.c.Stalled() || s.b.pool.OutTx != 5 {
		t.Fatalf("%d responses are queued", s.b.pool.OutTx)
	}
	s.flow()
	if s.b.resumed != 1 {
		t.Error("not resumed")
	}
	for i := range bufs {
		s.a.want("read " + num(uint64(i)) + " len 1000")
		s.b.want("silent rread 0 len 1000")
		same(t, "read", bufs[i], s.b.mem.regions[0])
	}

	var b []byte
	for range 8 {
		b = append(b, header(wire.Header{Op: wire.OpReadReq, IovCnt: 1, IOV: segs(wire.RMAIov{Len: 1000})}, 0)...)
	}
	b = append(b, "nonsense that is longer than a header"...)
	s.b.inject(b)
	for s.b.c.State() == Connected {
		s.b.transmit(100000)
	}
	s.b.events = s.b.events[len(s.b.events)-1:]
	s.b.want(`failed "": the peer violated the protocol`)
}

// TestAnswerStall checks that a peer that demands acknowledgements and does not read them costs bounded memory.
func TestAnswerStall(t *testing.T) {
	s := connected(t)
	msg := header(wire.Header{Op: wire.OpWrite, Flags: wire.FlagDelivery}, 0)
	many := make([]byte, 0, 1024*len(msg))
	for range 1024 {
		many = append(many, msg...)
	}
	n := 0
	for ; !s.b.c.Stalled() && n < 1000; n++ {
		s.b.inject(many)
		s.b.events = nil
	}
	if n == 1000 || s.b.c.Staged() > 3<<20 {
		t.Fatalf("%d bytes of answers are queued", s.b.c.Staged())
	}
	for s.b.c.Stalled() {
		if s.b.transmit(1<<15) == 0 {
			t.Fatal("stalled for ever")
		}
		// The queue is never empty.
		for s.b.c.Submit(&Send{Silent: true, NIOV: 1, IOV: [MaxIOV][]byte{make([]byte, 100)}}) == nil {
		}
		s.b.events = nil
	}
	if s.b.resumed != 1 || !s.b.c.HasPending() {
		t.Errorf("resumed %d times, %d bytes wait", s.b.resumed, s.b.c.Queued())
	}
	for s.b.transmit(1<<20) > 0 {
		s.b.events = nil
	}
}

// TestForget checks that a region that is closed while peers use it is no longer accessed, and that the streams
// continue.
func TestForget(t *testing.T) {
	const n = 40000
	variants(t, func(s *script) {
		s.connect()
		region := pattern(1, n)
		s.b.mem.regions = [][]byte{region}
		p, buf := pattern(3, n), make([]byte, n)
		s.a.send(Send{Kind: KindWrite, Ctx: 1, Ack: true, NRMA: 1, RMA: segs(wire.RMAIov{Len: n})}, p)
		s.a.transmit(n / 2)
		s.receive(s.b, n/2)
		s.b.c.Forget(0)
		before := append([]byte(nil), region...)
		s.flow()
		s.a.want("write 1 len " + num(n)) // without verdicts the peer gets no error
		s.b.want("silent rwrite 0 len " + num(n))
		same(t, "the closed region", region, before)

		s.a.send(Send{Kind: KindRead, Ctx: 2, NRMA: 1, RMA: segs(wire.RMAIov{Len: n})}, buf)
		s.a.transmit(1 << 20)
		s.receive(s.a.peer, 1<<20)
		s.b.transmit(n / 2)
		s.b.c.Forget(0)
		clear(region) // the application uses the memory for something else
		s.flow()
		s.a.want("read 2 len " + num(n))
		s.b.want("silent rread 0 len " + num(n))
		same(t, "read", buf, before)
	})
}
