package gateway

import (
	"bytes"
	"testing"

	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"

	"pgregory.net/rapid"
)

// traffic is random traffic from one end to the other, with the expected results.
type traffic struct {
	from, to *end
	sends    int // posted
	sent     map[uint64][]byte
	tags     map[uint64][]uint64 // contexts of messages by tag (0: untagged), in order
	bufs     map[uint64][]byte   // of receives, by context
	ctx      uint64
	adds     uint64 // to the number in the peer's memory
	reads    map[uint64][]byte
}

func newTraffic(from, to *end) *traffic {
	return &traffic{from: from, to: to, sent: map[uint64][]byte{}, tags: map[uint64][]uint64{}, bufs: map[uint64][]byte{}, reads: map[uint64][]byte{}}
}

// post posts an operation that rapid chooses. It returns false if there was no room.
func (w *traffic) post(r *rapid.T) bool {
	w.ctx++
	switch kind := rapid.IntRange(0, 9).Draw(r, "kind"); kind {
	case 8:
		w.adds++
		return w.submit(atomicOf(w.ctx, xengine.KindAtomic, atomics.Sum, 1<<19, u64(1), nil, nil))
	case 9:
		buf := make([]byte, rapid.SampledFrom([]int{8, 5000, 200000}).Draw(r, "read"))
		s := sendOf(w.ctx, buf)
		s.Kind, s.NRMA, s.RMA[0] = xengine.KindRead, 1, xwire.RMAIov{Addr: 64, Len: uint64(len(buf)), Key: 7}
		w.reads[w.ctx] = buf
		return w.submit(s)
	}
	n := rapid.SampledFrom([]int{0, 7, 4095, 4097, 16384, 16385, 50000, 131073, 200000}).Draw(r, "size")
	b := pattern(n, w.ctx)
	s := sendOf(w.ctx, b[:n/2], b[n/2:])
	s.Tagged = rapid.Bool().Draw(r, "tagged")
	if s.Tagged {
		s.Tag = rapid.Uint64Range(1, 3).Draw(r, "tag")
	}
	s.Ack = rapid.IntRange(0, 5).Draw(r, "ack") == 0
	s.Fence = rapid.IntRange(0, 9).Draw(r, "fence") == 0
	if !w.submit(s) {
		return false
	}
	w.sent[w.ctx] = b
	w.tags[s.Tag] = append(w.tags[s.Tag], w.ctx)
	return true
}

func (w *traffic) submit(s xengine.Send) bool {
	if err := w.from.up.Submit(&s); err == xengine.ErrAgain {
		delete(w.reads, s.Ctx)
		if s.Kind == xengine.KindAtomic {
			w.adds--
		}
		return false
	} else if err != nil {
		w.from.t.Fatal(err)
	}
	w.sends++
	w.from.g.Pump()
	return true
}

// receive posts a receive for a tag. Its context names tag and number.
func (w *traffic) receive(tag uint64) {
	ctx := tag<<32 | uint64(len(w.bufs))
	buf := make([]byte, 200000)
	w.bufs[ctx] = buf
	if tag == 0 {
		w.to.post(ctx, buf)
	} else {
		w.to.postTagged(ctx, tag, buf[:5000], buf[5000:])
	}
}

// check compares the results.
func (w *traffic) check(r *rapid.T) {
	next := map[uint64]int{}
	got := 0
	posted := map[uint64][]uint64{} // receives are used in the order in which they were posted
	for _, c := range w.to.done {
		if c.Kind != xengine.KindRecv {
			continue
		}
		got++
		posted[c.Ctx>>32] = append(posted[c.Ctx>>32], c.Ctx)
		if c.Err != nil {
			r.Fatalf("%+v", c)
		}
	}
	if got != len(w.sent) {
		r.Fatalf("received %d of %d messages", got, len(w.sent))
	}
	for tag, list := range posted {
		sortU64(list)
		for _, ctx := range list {
			want := w.sent[w.tags[tag][next[tag]]]
			next[tag]++
			if !bytes.Equal(w.bufs[ctx][:len(want)], want) {
				r.Fatalf("tag %d: message %d is a different one or damaged", tag, next[tag])
			}
		}
	}
	ended := 0
	for _, c := range w.from.done {
		if c.Kind != xengine.KindRecv && c.Kind != xengine.KindRemoteWrite {
			if ended++; c.Err != nil {
				r.Fatalf("%+v", c)
			}
		}
	}
	if ended != w.sends {
		r.Fatalf("completed %d of %d operations", ended, w.sends)
	}
	for _, buf := range w.reads {
		if !bytes.Equal(buf, w.to.mem[64:64+len(buf)]) {
			r.Fatal("the read returned other data")
		}
	}
	if !bytes.Equal(w.to.mem[1<<19:1<<19+8], u64(w.adds)) {
		r.Fatalf("%v, want %d", w.to.mem[1<<19:1<<19+8], w.adds)
	}
}

func sortU64(s []uint64) {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// TestTraffic runs random traffic in both directions, with receives before and after the messages, over a Lower
// that is sometimes full and releases memory late.
func TestTraffic(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg := Config{RndvWrite: rapid.Bool().Draw(r, "write"), FlowControl: rapid.Bool().Draw(r, "credits"), RxSize: 6}
		cfg.Spread = rapid.Bool().Draw(r, "spread")
		a, b := newPair(t, cfg)
		if cfg.Spread {
			a.low.AuxConns = rapid.IntRange(1, 3).Draw(r, "conns")
			b.low.AuxConns = a.low.AuxConns
			a.low.auxFirst = rapid.Bool().Draw(r, "hasty")
			b.low.auxFirst = a.low.auxFirst
		}
		a.low.Lazy, b.low.Lazy = rapid.Bool().Draw(r, "lazy a"), rapid.Bool().Draw(r, "lazy b")
		for _, e := range []*end{a, b} {
			copy(e.mem[64:], pattern(1<<18, 8))
			e.cfg.TxDepth = 20
		}
		ab, ba := newTraffic(a, b), newTraffic(b, a)
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			w := ab
			if rapid.Bool().Draw(r, "side") {
				w = ba
			}
			switch rapid.IntRange(0, 5).Draw(r, "what") {
			case 0, 1:
				w.post(r)
			case 2:
				if tag := rapid.Uint64Range(0, 3).Draw(r, "for"); len(w.tags[tag]) > w.count(tag) {
					w.receive(tag)
				}
			case 3:
				w.from.deliverOn(rapid.IntRange(0, w.from.low.AuxConns).Draw(r, "conn"))
			case 4:
				if n := len(w.from.low.unsent); n > 0 {
					w.from.sent(rapid.IntRange(0, n-1).Draw(r, "which"))
				}
			case 5:
				w.from.low.room = rapid.IntRange(-1, 2).Draw(r, "room")
				w.from.g.Pump()
			}
		}
		a.low.room, b.low.room = -1, -1
		settle(a, b)
		for _, w := range []*traffic{ab, ba} {
			for tag, list := range w.tags {
				for w.count(tag) < len(list) {
					w.receive(tag)
				}
			}
		}
		settle(a, b)
		ab.check(r)
		ba.check(r)
		clean(a, b)
	})
}

// count returns how many receives were posted for a tag.
func (w *traffic) count(tag uint64) (n int) {
	for ctx := range w.bufs {
		if ctx>>32 == tag {
			n++
		}
	}
	return n
}
