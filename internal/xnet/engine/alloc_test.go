// This file checks that the steady state allocates nothing.

package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

// countingSink counts completions and keeps nothing.
type countingSink struct {
	n int
}

func (q *countingSink) Completed(*Completion)       { q.n++ }
func (q *countingSink) Sent(*Send)                  { q.n++ }
func (q *countingSink) Received(*RxOp)              { q.n++ }
func (q *countingSink) Requested(*Conn, []byte)     {}
func (q *countingSink) Connected(*Conn, []byte)     {}
func (q *countingSink) Failed(*Conn, error, []byte) {}
func (q *countingSink) Replied(*Conn)               {}
func (q *countingSink) Resumed(*Conn)               {}

// silence gives both ends sinks that do not allocate.
func (s *script) silence() (a, b *countingSink) {
	a, b = &countingSink{}, &countingSink{}
	s.a.c.Attach(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, a)
	s.b.c.Attach(&s.b.pool, &s.b.cfg, s.b.rx, s.b.c.mem, b)
	s.b.rx.Sink = b
	return a, b
}

// directPump moves all bytes without an allocation.
type directPump struct {
	gather  [][]byte
	scratch []byte
}

func (p *directPump) move(from, to *Conn) {
	for {
		first, list := from.Pending(p.gather, 1<<20)
		if first != nil {
			list = append(p.gather[:0], first)
		}
		if len(list) == 0 {
			return
		}
		p.scratch = p.scratch[:0]
		for _, b := range list {
			p.scratch = append(p.scratch, b...)
		}
		from.Transmitted(len(p.scratch))
		for b := p.scratch; len(b) > 0; {
			k := min(len(b), 8192)
			direct := copy(to.Target(), b[:k])
			to.Receive(direct, b[direct:k])
			b = b[k:]
		}
	}
}

func TestNoAllocs(t *testing.T) {
	small, large := make([]byte, 64), make([]byte, 100000)
	for name, o := range map[string]Send{
		"small": {}, "small tagged": {Tagged: true, Tag: 3, HasData: true}, "small acknowledged": {Ack: true},
		"inject": {Inject: true},
		"write":  {Kind: KindWrite, NRMA: 1, RMA: segs(wire.RMAIov{Len: 64})},
		"read":   {Kind: KindRead, NRMA: 1, RMA: segs(wire.RMAIov{Len: 64})},
		"large":  {Ctx: 1}, "large acknowledged": {Ctx: 1, Ack: true}, "rendezvous": {Ctx: 1, Tagged: true},
		"large write": {Kind: KindWrite, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 100000})},
		"large read":  {Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 100000})},
	} {
		for _, late := range []bool{false, true} { // large unexpected messages allocate
			if late && o.Ctx == 1 && name != "rendezvous" {
				continue
			}
			s := newScript(t)
			s.a.cfg.RendezvousOver = 50000
			s.connect()
			s.a.c.Rendezvous = true
			s.b.mem.regions = [][]byte{make([]byte, 100000)}
			s.b.c.mem = quietMemory{s.b.mem.regions[0]}
			qa, qb := s.silence()
			payload := small
			if o.Ctx == 1 {
				payload = large
			}
			buf := make([]byte, len(payload))
			o.IOV[0], o.NIOV = payload, 1
			p := directPump{gather: make([][]byte, 0, 64), scratch: make([]byte, 0, 2<<20)}
			post := func() {
				op := s.b.rx.NewOp()
				op.SetBuf(buf)
				if o.Tagged {
					s.b.rx.PostTagged(op, 2, 3&o.Tag, 0)
				} else {
					s.b.rx.PostMsg(op, AnySource)
				}
			}
			round := func() {
				for range 5 {
					if o.Kind == KindSend && !late {
						post()
					}
					if err := s.a.c.Submit(&o); err != nil {
						t.Fatal(err)
					}
				}
				p.move(s.a.c, s.b.c)
				for range 5 {
					if o.Kind == KindSend && late {
						post()
					}
				}
				p.move(s.b.c, s.a.c)
				p.move(s.a.c, s.b.c)
				p.move(s.b.c, s.a.c)
			}
			round()
			if qa.n != 5 || qb.n != 5 {
				t.Fatalf("%s: %d and %d completions", name, qa.n, qb.n)
			}
			if n := testing.AllocsPerRun(50, round); n != 0 {
				t.Errorf("%s, late %v: %v allocations in five", name, late, n)
			}
		}
	}
}

type quietMemory struct{ mem []byte }

func (m quietMemory) Verify(_, addr, length uint64, _ bool) ([]byte, Region, Refusal) {
	return m.mem[addr : addr+length], nil, 0
}
