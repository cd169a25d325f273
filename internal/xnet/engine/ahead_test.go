// This file tests transports that take bytes ahead of what they release (Conn.Next).

package engine

import (
	"bytes"
	"fmt"
	"testing"

	"gofabric/internal/xnet/wire"

	"pgregory.net/rapid"
)

// readyPair is a script whose ends need no handshake.
func readyPair(t *testing.T) *script {
	s := newScript(t)
	for _, e := range []*end{s.a, s.b} {
		e.c = NewReady(&e.pool, &e.cfg, e.rx, &e.mem, e)
		e.c.Extended = true
	}
	s.a.c.Src, s.b.c.Src = 1, 2
	return s
}

// ahead is a transport that keeps the slices that it was given, and a copy of their content.
type ahead struct {
	t    *rapid.T
	c    *Conn
	lent [][]byte
	was  []byte
	out  []byte // handed out and not received by the peer
}

func (h *ahead) next(slices, n int) int {
	list, got := h.c.Next(make([][]byte, 0, slices), n)
	sum := 0
	for _, b := range list {
		if len(b) == 0 {
			h.t.Fatal("an empty slice")
		}
		h.lent = append(h.lent, b)
		h.was = append(h.was, b...)
		h.out = append(h.out, b...)
		sum += len(b)
	}
	if sum != got || got > n || len(list) > slices {
		h.t.Fatalf("%d bytes in %d slices, result %d, of at most %d in %d", sum, len(list), got, n, slices)
	}
	return got
}

// release checks that n bytes have not changed, and releases them.
func (h *ahead) release(n int) {
	if got := bytes.Join(h.lent, nil); !bytes.Equal(got, h.was) {
		h.t.Fatal("handed out bytes have changed")
	}
	h.c.Transmitted(n)
	h.was = h.was[n:]
	for n > 0 {
		k := min(n, len(h.lent[0]))
		if h.lent[0], n = h.lent[0][k:], n-k; len(h.lent[0]) == 0 {
			h.lent = h.lent[1:]
		}
	}
}

// TestAheadModel checks that the bytes handed out, in any pieces and as far ahead as wanted, are the stream, and
// that cancelled operations were not handed out.
func TestAheadModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := readyPair(t)
		s.a.cfg.TxDepth = 1000
		h := &ahead{t: rt, c: s.a.c}
		var want []uint64 // contexts of sends, in order
		ctx, total := uint64(0), 0
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(250, 3000), rapid.IntRange(30000, 70000))
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				ctx++
				n := size.Draw(rt, "size")
				o := Send{Ctx: ctx, HasData: true, Data: ctx, Ack: rapid.Bool().Draw(rt, "ack")}
				o.Inject = n < 1000 && rapid.Bool().Draw(rt, "inject")
				p := pattern(int(ctx), n)
				must(t, o.SetIOV([][]byte{p[:n/3], p[n/3:]}))
				if err := s.a.c.Submit(&o); err == nil {
					want = append(want, ctx)
				} else if err != ErrAgain {
					rt.Fatal(err)
				}
			},
			"hand out": func(rt *rapid.T) {
				before := s.a.c.Unsent()
				got := h.next(rapid.IntRange(1, 8).Draw(rt, "slices"),
					rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 100000)).Draw(rt, "bytes"))
				if total += got; before > 0 && got == 0 || s.a.c.Unsent() != before-got {
					rt.Fatalf("%d of %d bytes, then %d", got, before, s.a.c.Unsent())
				}
			},
			"arrive": func(rt *rapid.T) {
				n := rapid.IntRange(0, len(h.out)).Draw(rt, "n")
				s.b.c.Receive(0, h.out[:n])
				h.out = h.out[n:]
			},
			"release": func(rt *rapid.T) {
				if n := s.a.c.Handed() - len(h.out); n > 0 {
					h.release(rapid.IntRange(1, n).Draw(rt, "n"))
				}
			},
			"cancel": func(rt *rapid.T) {
				if len(want) == 0 {
					return
				}
				i := rapid.IntRange(max(0, len(want)-4), len(want)-1).Draw(rt, "which")
				if s.a.c.Cancel(want[i]) {
					want = append(want[:i:i], want[i+1:]...)
				}
			},
			"": func(rt *rapid.T) {
				if got := s.a.c.Handed() + s.a.c.Unsent(); got != s.a.c.Queued() || s.a.c.Handed() != len(h.was) {
					rt.Fatalf("%d handed, %d not, of %d", s.a.c.Handed(), s.a.c.Unsent(), s.a.c.Queued())
				}
			},
		})
		for h.next(3, 5000) > 0 {
		}
		s.b.c.Receive(0, h.out)
		if n := s.a.c.Handed(); n > 0 {
			h.release(n)
		}
		if s.b.c.State() != Connected || s.b.rx.Unexpected() != len(want) {
			rt.Fatalf("%v, %d messages of %d", s.b.c.State(), s.b.rx.Unexpected(), len(want))
		}
		buf := make([]byte, 70000)
		s.b.events = nil
		for _, ctx := range want {
			s.b.recv(ctx, AnySource, buf)
			var id, n, src, data uint64
			_, err := fmt.Sscanf(s.b.events[0], "recv %d len %d src %d data %d", &id, &n, &src, &data)
			if err != nil || data != ctx || !bytes.Equal(buf[:n], pattern(int(ctx), int(n))) {
				rt.Fatalf("message %d: %q, %v", ctx, s.b.events[0], err)
			}
			s.b.events = s.b.events[1:]
		}
		s.a.c.Drop(ErrClosed)
		s.b.c.Drop(ErrClosed)
		s.a.checkPool()
		s.b.checkPool()
		s.a.events, s.b.events = nil, nil
	})
}

// TestAheadJoins checks that adjacent bytes in a chunk are one slice, even if they belong to several operations.
func TestAheadJoins(t *testing.T) {
	s := readyPair(t)
	for i := range uint64(20) {
		s.a.send(Send{Ctx: i, Ack: true}, pattern(0, 50))
	}
	list, n := s.a.c.Next(make([][]byte, 0, 4), 1<<20)
	if len(list) != 1 || n != 20*(wire.BaseLen+50) || s.a.c.Unsent() != 0 {
		t.Errorf("%d bytes in %d slices", n, len(list))
	}
	s.a.c.Drop(ErrClosed)
	s.a.events = nil
}

// TestAheadAllocs checks that Pending works after Next, and that Next allocates nothing in the steady state.
func TestAheadAllocs(t *testing.T) {
	s := readyPair(t)
	qa, qb := s.silence()
	small, large, list := Send{NIOV: 1}, Send{NIOV: 1}, make([][]byte, 0, 8)
	small.IOV[0], large.IOV[0] = make([]byte, 64), make([]byte, 20000)
	buf := make([]byte, 20000)
	round := func() {
		for range 6 {
			for _, o := range []*Send{&small, &large} {
				op := s.b.rx.NewOp()
				op.SetBuf(buf)
				s.b.rx.PostMsg(op, AnySource)
				must(t, s.a.c.Submit(o))
			}
			var n int
			for list, n = s.a.c.Next(list[:0], 1400); n > 0; list, n = s.a.c.Next(list[:0], 1400) {
				for _, b := range list {
					s.b.c.Receive(0, b)
				}
				if s.a.c.Handed() > 5000 {
					s.a.c.Transmitted(3000)
				}
			}
		}
		s.a.c.Transmitted(s.a.c.Handed())
	}
	round()
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if qa.n != qb.n || qa.n != 52*12 || s.a.c.HasPending() {
		t.Errorf("%d and %d completions", qa.n, qb.n)
	}
}
