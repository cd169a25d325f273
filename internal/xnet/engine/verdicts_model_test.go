package engine

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gofabric/internal/xnet/wire"
)

// TestVerdictModel has allowed and forbidden accesses, messages and withdrawals in any order, over a transport that
// hands out bytes ahead of what it releases. Each access ends with its own verdict, in order, and no byte that was
// handed out changes.
func TestVerdictModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := readyPair(t)
		for _, e := range []*end{s.a, s.b} {
			e.c.Ours = true
			e.c.Agreed |= wire.FeatureExtended | wire.FeatureVerdicts
			e.cfg.TxDepth = 1000
			e.mem.regions = [][]byte{make([]byte, 5000)}
		}
		back := &ahead{t: rt, c: s.b.c} // b's transport takes bytes ahead
		var writes, reads []string      // events expected at a, each kind in order
		ctx := uint64(0)
		post := func(kind Kind) func(rt *rapid.T) {
			return func(rt *rapid.T) {
				ctx++
				n, bad := rapid.SampledFrom([]int{0, 1, 300, 4000}).Draw(rt, "size"), rapid.Bool().Draw(rt, "bad")
				o := Send{Kind: kind, Ctx: ctx, NRMA: 1, Ack: rapid.Bool().Draw(rt, "ack"),
					RMA: segs(wire.RMAIov{Len: uint64(n)})}
				name := [...]string{KindRead: "read", KindWrite: "write"}[kind]
				want := fmt.Sprintf("%s %d len %d", name, ctx, n)
				if bad {
					o.RMA[0].Key = 4
					want = fmt.Sprintf("%s %d: refused by the peer: it has no open memory region with the key 0x4",
						name, ctx)
				}
				must(t, o.SetIOV([][]byte{make([]byte, n)}))
				if s.a.c.Submit(&o) != nil {
					return
				}
				if kind == KindRead {
					reads = append(reads, want)
				} else {
					writes = append(writes, want)
				}
			}
		}
		check := func(rt *rapid.T) {
			for _, ev := range s.a.events {
				list := &writes
				if strings.HasPrefix(ev, "read") {
					list = &reads
				} else if !strings.HasPrefix(ev, "write") {
					continue
				}
				if len(*list) == 0 || (*list)[0] != ev {
					rt.Fatalf("event %q of %q", ev, *list)
				}
				*list = (*list)[1:]
			}
			s.a.events, s.b.events = nil, nil
		}
		arrive := func(n int) {
			s.a.c.Receive(0, back.out[:n])
			back.out = back.out[n:]
		}
		there := func(n int) {
			// Bytes that have arrived are released before the bytes that came with their acknowledgement are
			// received (Conn.Next).
			if n := s.b.c.Handed() - len(back.out); n > 0 {
				back.release(n)
			}
			s.a.transmit(n)
			s.receive(s.b, n)
		}
		var sent []uint64
		rt.Repeat(map[string]func(*rapid.T){
			"write": post(KindWrite),
			"read":  post(KindRead),
			"there": func(rt *rapid.T) {
				there(rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 20000)).Draw(rt, "bytes"))
			},
			"say": func(rt *rapid.T) {
				ctx++
				o := Send{Ctx: ctx, Ack: true}
				must(t, o.SetIOV([][]byte{make([]byte, rapid.IntRange(0, 600).Draw(rt, "size"))}))
				if s.b.c.Submit(&o) == nil {
					sent = append(sent, ctx)
				}
			},
			"take back": func(rt *rapid.T) {
				if n := len(sent); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(rt, "which")
					s.b.c.Cancel(sent[i])
				}
			},
			"hand out": func(rt *rapid.T) {
				back.next(rapid.IntRange(1, 5).Draw(rt, "slices"),
					rapid.OneOf(rapid.IntRange(1, 50), rapid.IntRange(1, 9000)).Draw(rt, "bytes"))
			},
			"arrive": func(rt *rapid.T) { arrive(rapid.IntRange(0, len(back.out)).Draw(rt, "n")) },
			"release": func(rt *rapid.T) {
				if n := s.b.c.Handed() - len(back.out); n > 0 {
					back.release(rapid.IntRange(1, n).Draw(rt, "n"))
				}
			},
			"": check,
		})
		for again := true; again; {
			there(1 << 20)
			again = back.next(8, 1<<20) > 0
			arrive(len(back.out))
			if n := s.b.c.Handed(); n > 0 {
				back.release(n)
			}
			check(rt)
		}
		if len(writes)+len(reads) > 0 || s.a.c.State() != Connected || s.b.c.State() != Connected {
			rt.Fatalf("%v, %v, without end: %q %q", s.a.c.State(), s.b.c.State(), writes, reads)
		}
		s.a.c.Drop(ErrClosed)
		s.b.c.Drop(ErrClosed)
		s.a.rx.Release()
		s.a.checkPool()
		s.b.checkPool()
		s.a.events, s.b.events = nil, nil
	})
}
