// This file tests verdicts on remote accesses, and refused operations.

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// withVerdicts connects two ends that have verdicts, with two regions of 100 bytes, of which the second is
// read-only.
func withVerdicts(s *script) *script {
	for _, e := range []*end{s.a, s.b} {
		e.cfg.Features = wire.FeatureExtended | wire.FeatureVerdicts
		e.mem.regions = [][]byte{make([]byte, 100), make([]byte, 100)}
		e.mem.readOnly[1] = true
	}
	s.connect()
	if !s.a.c.Verdicts() || !s.b.c.Verdicts() {
		s.t.Fatal("no verdicts were agreed")
	}
	return s
}

// TestRefused has each reason for a refusal in each kind of operation. The operation ends with the reason, and a
// message and a write behind it arrive on the same connection.
func TestRefused(t *testing.T) {
	type bad struct {
		name string
		v    wire.RMAIov
		text string
	}
	const by = "refused by the peer: "
	bads := []bad{
		{"key", wire.RMAIov{Key: 9, Len: 8}, by + "it has no open memory region with the key 0x9"},
		{"beyond the end", wire.RMAIov{Addr: 96, Len: 8},
			by + "its memory region with the key 0x0 does not hold all of the 8 bytes at 0x60"},
		{"address", wire.RMAIov{Addr: 101, Len: 8},
			by + "its memory region with the key 0x0 does not hold all of the 8 bytes at 0x65"},
		{"overflow", wire.RMAIov{Addr: ^uint64(0), Len: 8},
			by + "its memory region with the key 0x0 does not hold all of the 8 bytes at 0xffffffffffffffff"},
		{"rights", wire.RMAIov{Key: 1, Len: 8},
			by + "its memory region with the key 0x1 was not registered for FI_REMOTE_WRITE"},
	}
	for _, kind := range []Kind{KindWrite, KindRead, KindAtomic, KindFetch, KindCompare} {
		for _, x := range bads {
			if kind == KindRead && x.name == "rights" {
				continue
			}
			for variant, o := range []Send{{}, {Ack: true}, {Inject: true}, {Copy: true}, {Silent: true},
				{Commit: true}, {HasData: true, Data: 5}} {
				if (kind == KindRead || kind >= KindFetch) && (o.Inject || o.Copy || o.HasData) {
					continue
				}
				t.Run(fmt.Sprintf("%d %s %d", kind, x.name, variant), func(t *testing.T) {
					for _, cut := range []int{1, 40, 1 << 20} {
						s := newScript(t)
						s.cut = cut
						withVerdicts(s)
						o.Kind, o.Ctx, o.NRMA, o.RMA = kind, 1, 2, segs(wire.RMAIov{Len: 8}, x.v)
						if kind >= KindAtomic {
							o.Atomic = &Atomic{Type: atomics.Uint64, Op: atomics.Sum}
							if kind == KindCompare {
								o.Atomic.Op = atomics.CSwap
								o.Atomic.Compare, o.Atomic.NCompare = bufs(pattern(9, 16))
							}
							if kind != KindAtomic {
								o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 16))
							}
						}
						s.a.send(o, pattern(5, 16))
						got := make([]byte, 4)
						s.b.recv(2, 2, got)
						s.a.send(Send{Ctx: 3}, []byte("good"))
						s.a.send(Send{Kind: KindWrite, Ctx: 4, NRMA: 1, RMA: segs(wire.RMAIov{Addr: 50, Len: 4})},
							[]byte("also"))
						s.flow()
						text := x.text
						if x.name == "rights" && kind >= KindFetch {
							text = strings.Replace(text, "FI_REMOTE_WRITE", "FI_REMOTE_READ and FI_REMOTE_WRITE", 1)
						}
						name := [...]string{KindRead: "read", KindWrite: "write", KindAtomic: "atomic",
							KindFetch: "fetch", KindCompare: "compare"}[kind] + " 1"
						if o.Inject {
							name = "inject " + name
						} else if o.Silent {
							name = "silent " + name
						}
						refused := name + ": " + text
						for i, ev := range s.a.events {
							if ev == refused {
								s.a.events = append(s.a.events[:i], s.a.events[i+1:]...)
								break
							}
						}
						if len(s.a.events) != 2 {
							t.Fatalf("want %q, got %q", refused, s.a.events)
						}
						s.a.want("send 3", "write 4 len 4")
						s.b.want("recv 2 len 4 src 2", "silent rwrite 0 len 4") // no event of the refused operation
						same(t, "message", got, []byte("good"))
						same(t, "memory", s.b.mem.regions[0],
							append(append(make([]byte, 50), "also"...), make([]byte, 46)...))
						if len(s.b.mem.counted) != 1 {
							t.Errorf("counted %q", s.b.mem.counted)
						}
						if !s.a.c.Idle() {
							t.Error("not idle")
						}
					}
				})
			}
		}
	}
}

// TestRefusedLarge checks that a refused payload of any size takes no memory, and that none of its bytes stays.
func TestRefusedLarge(t *testing.T) {
	variants(t, func(s *script) {
		withVerdicts(s)
		s.a.cfg.StageMax = 100
		p := pattern(1, 300_000)
		s.b.recv(1, 2, make([]byte, 10))
		s.a.send(Send{Kind: KindWrite, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Key: 3, Len: uint64(len(p))})}, p)
		s.a.send(Send{Ctx: 2}, []byte("next"))
		s.a.transmit(1 << 30)
		for s.receive(s.b, s.cut) > 0 {
			if s.b.pool.OutChunks > 1 || s.b.rx.UnexpectedBytes() > 0 || s.b.c.Target() != nil {
				t.Fatal("bytes of a refused operation are kept")
			}
		}
		s.flow()
		s.a.want("send 2", "write 1: refused by the peer: it has no open memory region with the key 0x3")
		s.b.want("recv 1 len 4 src 2")
	})
}

// TestVerdictsBatch checks that the verdicts for the bytes of one Receive are one message, and that writes after it
// has left get another one.
func TestVerdictsBatch(t *testing.T) {
	s := withVerdicts(newScript(t))
	const one = wire.BaseLen + wire.VerdictLen
	write := func(n int, key uint64) {
		for i := range n {
			s.a.send(Send{Kind: KindWrite, Ctx: uint64(i), NRMA: 1, RMA: segs(wire.RMAIov{Key: key, Len: 1})},
				[]byte{1})
		}
	}
	want := func(n int) {
		t.Helper()
		for i := range n {
			s.a.want("write " + num(uint64(i)) + " len 1")
		}
	}
	write(50, 0)
	s.flow0(s.a, s.b)
	if got := s.b.c.Queued(); got != one || s.a.c.InFlight() != 50 || len(s.a.events) != 0 {
		t.Fatalf("%d bytes of verdicts for 50 writes; %d of them open", got, s.a.c.InFlight())
	}
	s.flow()
	want(50)

	// An acceptance that was partly transmitted does not change.
	write(3, 0)
	s.flow0(s.a, s.b)
	s.b.transmit(one / 2)
	write(2, 0)
	s.flow0(s.a, s.b)
	if got := s.b.c.Queued(); got != one/2+one {
		t.Fatalf("%d bytes wait", got)
	}
	s.flow()
	want(3)
	want(2)

	// A refusal keeps its place among acceptances, which begin again behind it.
	write(2, 0)
	write(1, 7)
	write(2, 0)
	s.flow0(s.a, s.b)
	if got := s.b.c.Queued(); got != 3*one {
		t.Fatalf("%d bytes wait", got)
	}
	s.flow()
	want(2)
	s.a.want("write 0: refused by the peer: it has no open memory region with the key 0x7")
	want(2)

	// Other answers may stand between an acceptance and those that it takes in.
	s.b.recv(9, 2, make([]byte, 5))
	write(1, 0)
	s.a.send(Send{Ctx: 8, Ack: true}, []byte("mixed"))
	write(1, 0)
	s.flow0(s.a, s.b)
	if got := s.b.c.Queued(); got != one+wire.BaseLen {
		t.Fatalf("%d bytes wait", got)
	}
	s.flow()
	s.a.want("send 8") // acknowledged at once; the writes when the received bytes are used up
	want(1)
	want(1)

	// A withdrawn send moves the bytes behind it in the queue.
	s.b.send(Send{Ctx: 1, Ack: true}, make([]byte, 20))
	s.b.send(Send{Ctx: 2, Ack: true}, make([]byte, 20))
	write(1, 0)
	s.flow0(s.a, s.b)
	if !s.b.c.Cancel(2) {
		t.Fatal("not cancelled")
	}
	s.b.transmit(wire.BaseLen + 20 + one)
	write(1, 0)
	s.a.recv(5, 1, make([]byte, 20))
	s.flow()
	s.a.want("recv 5 len 20 src 1")
	want(1)
	want(1)
	var rest []string
	for _, ev := range s.b.events {
		if ev != "silent rwrite 0 len 1" {
			rest = append(rest, ev)
		}
	}
	if len(rest) != 3 {
		t.Errorf("%q", rest)
	}
	s.b.events = nil
}

// TestVerdictsAndFences checks that no write completes before its verdict, and that operations behind a fence leave
// when the one before was refused.
func TestVerdictsAndFences(t *testing.T) {
	s := withVerdicts(newScript(t))
	bad := segs(wire.RMAIov{Key: 9, Len: 4})
	s.a.send(Send{Kind: KindWrite, Ctx: 1, NRMA: 1, RMA: bad}, []byte("none"))
	s.a.send(Send{Kind: KindRead, Ctx: 2, NRMA: 1, RMA: bad}, make([]byte, 4))
	s.a.send(Send{Kind: KindWrite, Ctx: 3, Fence: true, NRMA: 1, RMA: segs(wire.RMAIov{Len: 4})}, []byte("held"))
	s.flow0(s.a, s.b)
	if len(s.a.events) != 0 || s.a.c.waits != 1 || s.a.c.Idle() {
		t.Fatalf("%q, %d wait", s.a.events, s.a.c.waits)
	}
	if w, ok := s.a.c.Oldest(); !ok || w.Kind != KindWrite || w.Why != WhyAck {
		t.Errorf("the oldest waits for %v", w)
	}
	s.flow()
	s.a.want("write 1: refused by the peer: it has no open memory region with the key 0x9",
		"read 2: refused by the peer: it has no open memory region with the key 0x9", "write 3 len 4")
	s.b.want("silent rwrite 0 len 4")

	// The end of the connection ends operations without a verdict once.
	s.a.send(Send{Kind: KindWrite, Ctx: 4, NRMA: 1, RMA: segs(wire.RMAIov{Len: 4})}, []byte("lost"))
	s.a.transmit(1 << 20)
	s.a.send(Send{Kind: KindWrite, Ctx: 5, NRMA: 1, RMA: segs(wire.RMAIov{Len: 4})}, []byte("lost"))
	s.a.c.Fail(ErrPeerClose)
	s.a.want("write 4: the connection ended without a closing message", "write 5: the connection ended without a closing message",
		`failed "": the connection ended without a closing message`)
}

// TestRefusedReadsInOrder checks that reads are refused in the order of their answers, and that the room for
// results is free again.
func TestRefusedReadsInOrder(t *testing.T) {
	s := withVerdicts(newScript(t))
	s.b.mem.regions[0] = make([]byte, MaxAtomic)
	s.a.cfg.StageLimit = 1 << 30
	for i := range uint64(40) {
		o := sumOf(KindFetch, atomics.Read, wire.RMAIov{Key: 4 * (i & 1), Len: MaxAtomic})
		o.Ctx = i
		o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, MaxAtomic))
		s.a.send(o)
	}
	s.flow()
	for i := range uint64(40) {
		if i&1 != 0 {
			s.a.want("fetch " + num(i) + ": refused by the peer: it has no open memory region with the key 0x4")
		} else {
			s.a.want("fetch " + num(i) + " len " + num(MaxAtomic))
		}
	}
	s.b.events = nil
	var e *RefusedError
	o := sumOf(KindFetch, atomics.Read, wire.RMAIov{Key: 1, Len: 8})
	o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 8))
	s.a.send(o)
	s.flow()
	s.a.want("fetch 0 len 8") // write access is not needed
	s.b.events = nil
	if errors.As(error(&RefusedError{Why: wire.RefusedRights, Kind: KindFetch, Get: true}),
		&e); !strings.HasSuffix(e.Error(), "FI_REMOTE_READ") {
		t.Error(e)
	}
	for why := wire.Refusal(1); why < 9; why++ {
		if text := (&RefusedError{Why: why}).Error(); !strings.Contains(text, "peer") {
			t.Errorf("%v: %s", why, text)
		}
	}
}

// TestForgetRefuses closes a region while a write into it arrives. The write is refused, and the memory is no longer
// written.
func TestForgetRefuses(t *testing.T) {
	const n = 40000
	variants(t, func(s *script) {
		withVerdicts(s)
		region := pattern(1, n)
		s.b.mem.regions[0] = region
		s.a.send(Send{Kind: KindWrite, Ctx: 1, HasData: true, NRMA: 1, RMA: segs(wire.RMAIov{Len: n})}, pattern(3, n))
		s.a.send(Send{Kind: KindWrite, Ctx: 2, NRMA: 1, RMA: segs(wire.RMAIov{Len: 1})}, []byte("x"))
		s.a.transmit(n / 2)
		s.receive(s.b, n/2)
		s.b.c.Forget(0)
		before := append([]byte(nil), region...)
		s.b.mem.regions[0] = make([]byte, 1) // another region with the same key
		s.flow()
		s.a.want("write 1: refused by the peer: it has no open memory region with the key 0x0", "write 2 len 1")
		s.b.want("silent rwrite 0 len 1")
		same(t, "the closed region", region, before)
	})
}

// TestRefusedForOtherReasons checks that memory that cannot be made persistent, and operations that the target does
// not have, concern that operation only.
func TestRefusedForOtherReasons(t *testing.T) {
	s := withVerdicts(newScript(t))
	all := segs(wire.RMAIov{Len: 8})
	s.b.mem.broken = errors.New("no storage")
	s.a.send(Send{Kind: KindWrite, Ctx: 1, Commit: true, NRMA: 1, RMA: all}, make([]byte, 8))
	o := sumOf(KindAtomic, atomics.Sum, wire.RMAIov{Len: 8})
	o.Ctx, o.Commit = 2, true
	s.a.send(o, words(1))
	o = sumOf(KindFetch, atomics.Sum, wire.RMAIov{Len: 8})
	o.Ctx, o.Commit = 3, true
	o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 8))
	s.a.send(o, words(1))
	s.flow()
	const text = ": the peer could not make its memory region with the key 0x0 persistent"
	s.a.want("write 1"+text, "atomic 2"+text, "fetch 3"+text)
	s.b.mem.broken = nil

	op := s.a.c.pool.getTx() // as a later version might ask
	op.Kind, op.NRMA, op.Atomic = KindFetch, 1, s.a.c.pool.getAtomic(&Atomic{})
	s.a.c.reads.push(op)
	s.a.c.ops++
	s.b.inject(append(header(wire.Header{Op: wire.OpAtomicFetch, OpData: 200, Atomic: 77, IovCnt: 1, IOV: all}, 8),
		make([]byte, 8)...))
	s.flow()
	s.a.want("fetch 0: refused by the peer: it does not know this atomic operation on this datatype")
	s.a.send(Send{Kind: KindWrite, Ctx: 4, Commit: true, NRMA: 1, RMA: all}, make([]byte, 8))
	s.flow()
	s.a.want("write 4 len 8")
	s.b.want("silent rwrite 0 len 8")
}

// TestNoVerdictsForOthers checks that without agreement on verdicts a bad access ends the connection.
func TestNoVerdictsForOthers(t *testing.T) {
	for _, features := range []uint32{0, wire.FeatureExtended, wire.FeatureVerdicts} {
		s := newScript(t)
		s.a.cfg.Features, s.b.cfg.Features = features, wire.FeatureExtended|wire.FeatureVerdicts
		s.connect()
		if s.a.c.Verdicts() || s.b.c.Verdicts() {
			t.Fatalf("agreed with features %d", features)
		}
		s.a.send(Send{Kind: KindWrite, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Key: 9, Len: 1})}, []byte("x"))
		s.flow0(s.a, s.b)
		s.a.want("write 1 len 1")
		s.b.want(`failed "": the peer named memory that it may not access`)
		s.a.c.Fail(ErrPeerClose)
		s.a.want(`failed "": the connection ended without a closing message`)
	}
}

// TestBadVerdicts checks that verdicts that break the rules end the connection.
func TestBadVerdicts(t *testing.T) {
	ext := func(v wire.Verdict) []byte {
		b := v.Append(nil)
		return append(header(wire.Header{Op: wire.OpExt}, uint64(len(b))), b...)
	}
	accepted := func(n uint32) []byte { return ext(wire.Verdict{Kind: wire.ExtAccepted, Number: n}) }
	refused := func(n uint32, why Refusal, segment uint8) []byte {
		return ext(wire.Verdict{Kind: wire.ExtRefused, Why: why, Segment: segment, Number: n})
	}
	for name, b := range map[string][]byte{
		"nothing accepted":              accepted(0),
		"more than there are":           accepted(3),
		"as many again":                 append(accepted(2), accepted(2)...),
		"fewer than before":             append(accepted(2), accepted(1)...),
		"far more":                      accepted(1 << 31),
		"not the oldest":                refused(1, wire.RefusedKey, 0),
		"refused after it was accepted": append(accepted(1), refused(0, wire.RefusedKey, 0)...),
		"refused twice":                 append(refused(0, wire.RefusedKey, 0), refused(0, wire.RefusedKey, 0)...),
		"a third one":                   append(accepted(2), refused(2, wire.RefusedKey, 0)...),
		"no reason":                     refused(0, 0, 0),
		"a segment that does not exist": refused(0, wire.RefusedKey, 1),
		"a fifth segment":               refused(0, wire.RefusedKey, 4),
		"a read that does not exist":    ext(wire.Verdict{Kind: wire.ExtReadRefused, Why: wire.RefusedKey}),
		"cut short":                     append(header(wire.Header{Op: wire.OpExt}, 7), 13, 0, 0, 0, 1, 0, 0),
	} {
		for _, cut := range []int{1, 1000} {
			s := withVerdicts(newScript(t))
			for i := range uint64(2) {
				s.a.send(Send{Kind: KindWrite, Ctx: i, NRMA: 1, RMA: segs(wire.RMAIov{Len: 1})}, []byte{1})
			}
			s.a.transmit(1 << 20)
			s.a.wire = nil
			for i := 0; i < len(b); i += cut {
				s.a.inject(b[i:min(len(b), i+cut)])
			}
			if n := len(s.a.events); s.a.c.State() != Closed || n != 3 ||
				s.a.events[n-1] != `failed "": the peer violated the protocol` {
				t.Errorf("%s: %v, %q", name, s.a.c.State(), s.a.events)
			}
			s.a.events = nil
		}
	}
	s := withVerdicts(newScript(t))
	s.a.inject(accepted(1)) // before the first write
	s.a.want(`failed "": the peer violated the protocol`)
	s = newScript(t)
	s.a.cfg.Features, s.b.cfg.Features = wire.FeatureExtended, wire.FeatureExtended
	s.connect()
	s.a.inject(accepted(1)) // without agreement
	s.a.want(`failed "": the peer violated the protocol`)
}

// TestVerdictStall checks that a peer whose writes are refused, and that does not read that, costs bounded memory.
func TestVerdictStall(t *testing.T) {
	s := withVerdicts(newScript(t))
	msg := header(wire.Header{Op: wire.OpWrite, IovCnt: 1, IOV: segs(wire.RMAIov{Key: 9})}, 0)
	var many []byte
	for range 1024 {
		many = append(many, msg...)
	}
	n := 0
	for ; !s.b.c.Stalled() && n < 1000; n++ {
		s.b.inject(many)
	}
	if n == 1000 || s.b.c.Staged() > 4<<20 {
		t.Fatalf("%d bytes of refusals are queued", s.b.c.Staged())
	}
	for s.b.c.Stalled() {
		if s.b.transmit(1<<15) == 0 {
			t.Fatal("stalled for ever")
		}
		s.b.unpause()
	}
	for s.b.transmit(1<<20) > 0 {
	}
	// Accepted writes use no memory at all.
	msg = header(wire.Header{Op: wire.OpWrite}, 0)
	many = many[:0]
	for range 1024 {
		many = append(many, msg...)
	}
	for range 1000 {
		s.b.inject(many)
		s.b.events = nil
	}
	if s.b.c.Stalled() || s.b.c.Staged() != wire.BaseLen+wire.VerdictLen {
		t.Errorf("%d bytes for a million acceptances", s.b.c.Staged())
	}
}

// TestVerdictsWait checks that an acceptance waits for data that is coming, as long as it is little and certain to
// come.
func TestVerdictsWait(t *testing.T) {
	const one = wire.BaseLen + wire.VerdictLen
	write := func(n int) []byte {
		h := header(wire.Header{Op: wire.OpWrite, IovCnt: 1, IOV: segs(wire.RMAIov{Len: uint64(n)})}, uint64(n))
		return append(h, make([]byte, n)...)
	}
	small, mid, large := write(10), write(60<<10), header(wire.Header{Op: wire.OpMsg}, 70<<10)
	for name, c := range map[string]struct {
		in   [][]byte
		want []int // verdicts that wait after each one
	}{
		"end of a message": {[][]byte{small}, []int{1}},
		"part of a header": {[][]byte{append(append([]byte(nil), small...), small[:5]...), small[5:]},
			[]int{0, 1}},
		"part of a short message": {[][]byte{append(append([]byte(nil), small...), mid[:100]...), mid[100:5000],
			mid[5000:]}, []int{0, 0, 1}},
		"part of a long message": {[][]byte{append(append([]byte(nil), small...), large...)}, []int{1}},
		"what stays long": {[][]byte{append(append([]byte(nil), small...), large[:10]...), large[10:]},
			[]int{0, 1}},
		"many": {[][]byte{append(bytes.Repeat(small, 15), small[0]),
			append(small[1:len(small):len(small)], small[0])}, []int{0, 1}},
		"many bytes": {[][]byte{append(bytes.Repeat(mid, 5), mid[0])}, []int{1}},
		"a message without a room": {[][]byte{append(append([]byte(nil), small...),
			header(wire.Header{Op: wire.OpMsg}, 4000)...)}, []int{1}},
	} {
		s := withVerdicts(newScript(t))
		s.b.mem.regions[0] = make([]byte, 1<<20)
		if strings.HasSuffix(name, "room") {
			s.b.rx.Limit = 10
		}
		for i, b := range c.in {
			s.b.inject(b)
			if got := s.b.c.Queued(); got != c.want[i]*one {
				t.Errorf("%s, step %d: %d bytes wait, want %d verdicts", name, i, got, c.want[i])
			}
		}
		s.b.events = nil
		s.b.c.Drop(ErrClosed)
		s.b.events = nil
		s.b.rx.Release()
	}
}

// TestVerdictNumbersWrap runs past the end of the 32-bit numbers.
func TestVerdictNumbersWrap(t *testing.T) {
	s := withVerdicts(newScript(t))
	s.a.c.needAnswers().verdicts.ours, s.b.c.needAnswers().verdicts.peers,
		s.b.c.needAnswers().verdicts.reported = ^uint32(2), ^uint32(2), ^uint32(2)
	for i := range uint64(10) {
		s.a.send(Send{Kind: KindWrite, Ctx: i, NRMA: 1, RMA: segs(wire.RMAIov{Key: 9 * (i & 4), Len: 1})}, []byte{1})
	}
	s.flow()
	for i := range uint64(10) {
		if i&4 != 0 {
			s.a.want("write " + num(i) + ": refused by the peer: it has no open memory region with the key 0x24")
		} else {
			s.a.want("write " + num(i) + " len 1")
			s.b.want("silent rwrite 0 len 1")
		}
	}
}

// TestDisownWithoutVerdict checks that an owner that closes before its writes have a verdict gets no completion.
func TestDisownWithoutVerdict(t *testing.T) {
	s := withVerdicts(newScript(t))
	owner := &counting{}
	for range 2 {
		s.a.send(Send{Kind: KindWrite, Owner: owner, NRMA: 1, RMA: segs(wire.RMAIov{Len: 1})}, []byte{1})
	}
	s.a.transmit(1 << 20)
	s.a.c.Disown(owner)
	s.flow()
	if owner.n != 0 || !s.a.c.Idle() {
		t.Errorf("told of %d", owner.n)
	}
	s.b.events = nil
}

type counting struct{ n int }

func (c *counting) Done(*Completion) { c.n++ }

// TestVerdictAllocs checks that verdicts, refusals among them, allocate nothing in the steady state.
func TestVerdictAllocs(t *testing.T) {
	s := withVerdicts(newScript(t))
	s.b.c.mem = quietMemory{make([]byte, 100000)}
	qa, qb := s.silence()
	small := Send{Kind: KindWrite, NRMA: 1, RMA: segs(wire.RMAIov{Len: 64}), NIOV: 1}
	small.IOV[0] = make([]byte, 64)
	large := Send{Kind: KindWrite, NRMA: 1, RMA: segs(wire.RMAIov{Len: 100000}), NIOV: 1}
	large.IOV[0] = make([]byte, 100000)
	atomic := sumOf(KindAtomic, atomics.Sum, wire.RMAIov{Len: 8})
	atomic.IOV[0], atomic.NIOV = words(1), 1
	p := directPump{gather: make([][]byte, 0, 64), scratch: make([]byte, 0, 2<<20)}
	round := func() {
		for range 10 {
			for _, o := range []*Send{&small, &small, &large, &atomic} {
				must(t, s.a.c.Submit(o))
			}
		}
		p.move(s.a.c, s.b.c)
		p.move(s.b.c, s.a.c)
	}
	round()
	if qa.n != 40 || qb.n != 40 {
		t.Fatalf("%d and %d completions", qa.n, qb.n)
	}
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations in forty writes", n)
	}

	// A refusal allocates nothing at the target, either, for a discarded payload of any size.
	s.b.c.mem = &s.b.mem
	refuse := header(wire.Header{Op: wire.OpWrite, IovCnt: 1, IOV: segs(wire.RMAIov{Key: 9, Len: 1 << 20})}, 1<<20)
	chunk := make([]byte, 1<<16)
	p2 := make([][]byte, 0, 4)
	round = func() {
		s.b.c.Receive(0, refuse)
		for range 16 {
			s.b.c.Receive(0, chunk)
		}
		for {
			first, _ := s.b.c.Pending(p2, 1<<20)
			if first == nil {
				break
			}
			s.b.c.Transmitted(len(first))
		}
	}
	round()
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations for a refused megabyte", n)
	}
	s.a.events = nil
}
