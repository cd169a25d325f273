package flow

import (
	"encoding/binary"
	"testing"

	"gofabric/util/rxd/wire"

	"pgregory.net/rapid"
)

// FuzzReceive lets a peer send any headers at any time between exchanges that follow the rules. Nothing may panic,
// memory must stay bounded, and all timers must end.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("0123456789012345678901234567890123456789012345678901234567890123456789"))
	f.Fuzz(fuzzOne)
}

func fuzzOne(t *testing.T, script []byte) {
	w := newWorld(1)
	cfg := testConfig([]int{300, 4000}[len(script)%2])
	cfg.RecvWindow, cfg.PeerWindow, cfg.Pool.Budget, cfg.KeepAlive = 100<<10, 100<<10, 8*pageSize, 1e9
	n, _ := w.pair(cfg, nil, nil)
	n.toSend = 20000
	next := func() uint64 {
		var b [8]byte
		k := copy(b[:], script)
		script = script[k:]
		return binary.LittleEndian.Uint64(b[:])
	}
	for len(script) > 0 && n.f.Dead() == nil {
		x := next()
		h := wire.XHeader{Type: wire.XType(x%3 + 1), Flags: wire.XFlags(x >> 8 & 9), Window: uint32(x>>16) & 0xffff, Echo: uint32(x >> 32), AckDelay: uint16(x >> 40), Time: uint32(x >> 20)}
		y := next()
		h.Ack, h.Offset = n.f.sndUna+y%3000, n.f.rcvNxt+y>>16%120000-y>>60*100
		if y>>40%16 == 0 {
			h.Ack, h.Offset = next(), next()
		}
		for k := range min(int(y>>32%8), 4) {
			z := next()
			h.SACK[k] = wire.Range{Start: n.f.sndUna + z%20000, End: n.f.sndUna + z>>16%20000}
			h.NSACK++
		}
		w.Now += int64(x >> 50 * 1000)
		n.f.Receive(w.Now, &h, pattern[:x>>3%300])
		n.stalled = x>>60 == 3
		if x>>60 == 4 {
			n.f.Resume(w.Now)
		}
		if d := n.f.Deadline(); d != 0 && d <= w.Now {
			n.f.Advance(w.Now)
		}
		for k := 0; n.poll(w.Now); k++ {
			if k > 1000 {
				t.Fatal("Poll does not end")
			}
		}
		invariants(t, n)
	}
	for k := 0; n.f.Dead() == nil; k++ {
		d := n.f.Deadline()
		if d == 0 || k > 1000 {
			t.Fatalf("the silent peer is not given up: deadline %d, flags %b", d, n.f.flags)
		}
		w.Now = max(w.Now, d)
		n.f.Advance(w.Now)
		for n.poll(w.Now) {
		}
	}
	if p := n.cfg.Pool; p.used != 0 || p.OutSenders != 0 || p.OutReceivers != 0 {
		t.Fatalf("memory is left over: %+v", p)
	}
}

// fataler is the part of testing.TB that invariants needs.
type fataler interface {
	Fatalf(format string, args ...any)
}

// invariants checks what must be true after every event.
func invariants(t fataler, n *node) {
	f := &n.f
	if f.Dead() != nil {
		return
	}
	if f.sndUna > f.sndNxt || n.acked != f.sndUna || n.handed != f.sndNxt {
		t.Fatalf("una %d, nxt %d, acknowledged %d, handed out %d", f.sndUna, f.sndNxt, n.acked, n.handed)
	}
	if f.payload > uint32(f.maxPayload) || f.payload < min(minPayload, uint32(f.maxPayload)) {
		t.Fatalf("payload %d of %d", f.payload, f.maxPayload)
	}
	if s := f.tx; s != nil {
		if s.search.trying >= uint32(f.maxPayload) || s.search.trying != 0 && s.search.trying < minPayload {
			t.Fatalf("%+v", s.search)
		}
		flight, lost := 0, 0
		off := f.sndUna
		for i := s.head; i != s.tail; i++ {
			g := s.at(i)
			if g.off != off || g.n == 0 {
				t.Fatalf("segment %d at %d, want %d", i, g.off, off)
			}
			off += uint64(g.n)
			switch g.state {
			case segInFlight:
				flight += int(g.n)
			case segLost:
				lost += int(g.n)
			}
		}
		if off != f.sndNxt || flight != s.inFlight || lost != s.lostBytes {
			t.Fatalf("end %d of %d, in flight %d of %d, lost %d of %d",
				off, f.sndNxt, flight, s.inFlight, lost, s.lostBytes)
		}
	}
	if f.sndUna != f.sndNxt && f.Deadline() == 0 {
		t.Fatalf("data in flight without a deadline")
	}
	if r := f.rx; r != nil {
		end, held := f.rcvNxt, 0
		for i, s := range r.spans {
			if s.Start >= s.End || s.Start < end || i > 0 && s.Start == end {
				t.Fatalf("spans %v after %d", r.spans, f.rcvNxt)
			}
			end = s.End
		}
		for _, p := range r.pages {
			if p != nil {
				held++
			}
		}
		if held != r.npages || len(r.spans) == 0 && held != 0 {
			t.Fatalf("%d pages, counted %d, %d spans", held, r.npages, len(r.spans))
		}
	}
}

// TestModel runs two flows over a path on which the test decides the fate of each datagram.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(1)
		cfg := testConfig(rapid.IntRange(150, 3000).Draw(t, "mtu"))
		cfg.RecvWindow = uint32(rapid.IntRange(4000, 200000).Draw(t, "window"))
		cfg.PeerWindow, cfg.PeerTimeout = cfg.RecvWindow, 0
		a, b := w.pair(cfg, nil, nil)
		a.chunk = rapid.IntRange(0, 500).Draw(t, "chunk")
		nodes := []*node{a, b}
		var wires [2][]packet
		loss := rapid.IntRange(0, 40).Draw(t, "loss")
		most := rapid.SampledFrom([]int{512, 700, 1452, 3000}).Draw(t, "longest that arrives")
		transmit := func(i int, chance func(string) int) {
			n := nodes[i]
			for n.poll(w.Now) {
				p := packet{h: n.dg.Header}
				for _, part := range n.dg.Parts {
					p.b = append(p.b, part...)
				}
				// Arrives, with luck twice.
				for k := 100 - loss; chance("fate") < k && wire.XHeaderLen+len(p.b) <= most; k = 10 {
					wires[i] = append(wires[i], p)
				}
			}
			invariants(t, n)
		}
		step := func(chance func(string) int) {
			for i := range nodes {
				transmit(i, chance)
			}
			w.Now++ // a datagram takes at least a nanosecond
			var came [2][]packet
			came, wires = wires, came
			for i, n := range []*node{b, a} {
				q := came[i]
				for len(q) > 0 {
					k := 0
					if chance("order") < 20 {
						k = chance("which") % len(q)
					}
					n.f.Receive(w.Now, &q[k].h, q[k].b)
					q = append(q[:k], q[k+1:]...)
					invariants(t, n)
				}
				if chance("answer") < 30 { // before the pass that finds nothing
					n.toSend += uint64(chance("answered")) * 10
					transmit(1-i, chance)
				}
				n.f.PassDone(w.Now)
			}
			w.Now += int64(chance("time")) * 1000
			for _, n := range nodes {
				if d := n.f.Deadline(); d != 0 && (d <= w.Now || chance("late") < 10) {
					w.Now = max(w.Now, d)
					n.f.Advance(w.Now)
				}
			}
		}
		rnd := rapid.Uint64().Draw(t, "seed")
		chance := func(string) int {
			rnd = rnd*6364136223846793005 + 1442695040888963407
			return int(rnd >> 33 % 100)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			for _, n := range nodes {
				switch chance("act") % 6 {
				case 0:
					n.toSend += uint64(chance("bytes")) * 100
					n.awaited = chance("awaited") < 30
				case 1:
					n.stalled = true
				case 2, 3:
					n.stalled = false
					n.f.Resume(w.Now)
				}
			}
			step(chance)
		}
		for _, n := range nodes {
			n.stalled = false
			n.f.Resume(w.Now)
		}
		loss = 0
		for range 3000 {
			if a.acked == a.toSend && b.acked == b.toSend {
				break
			}
			step(chance)
			if d := a.f.Deadline(); d != 0 {
				w.Now = max(w.Now, d)
				a.f.Advance(w.Now)
			}
			if d := b.f.Deadline(); d != 0 {
				w.Now = max(w.Now, d)
				b.f.Advance(w.Now)
			}
		}
		for _, n := range nodes {
			if n.acked != n.toSend || n.peer.got != n.toSend || n.bad {
				t.Fatalf("sent %d, acknowledged %d, delivered %d, bad %v: %+v",
					n.toSend, n.acked, n.peer.got, n.bad, n.f.Stats())
			}
		}
	})
}
