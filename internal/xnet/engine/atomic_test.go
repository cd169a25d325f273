// This file tests atomic operations on remote memory, and fences.

package engine

import (
	"encoding/binary"
	"strings"
	"testing"

	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// words encodes 64-bit numbers.
func words(v ...uint64) []byte {
	var b []byte
	for _, w := range v {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

func wantWords(t *testing.T, what string, b []byte, v ...uint64) {
	t.Helper()
	same(t, what, b, words(v...))
}

// bufs makes the array that Atomic needs.
func bufs(b ...[]byte) (a [MaxIOV][]byte, n int) { return a, copy(a[:], b) }

func sumOf(kind Kind, op atomics.Op, iov ...wire.RMAIov) Send {
	return Send{Kind: kind, NRMA: len(iov), RMA: segs(iov...), Atomic: &Atomic{Type: atomics.Uint64, Op: op}}
}

func TestAtomics(t *testing.T) {
	variants(t, func(s *script) {
		s.connect()
		s.a.c.Extended, s.b.c.Extended = true, true
		mem := words(1, 2, 3, 4)
		s.b.mem.regions = [][]byte{mem}
		two := []wire.RMAIov{{Addr: 0, Len: 8}, {Addr: 16, Len: 8}}

		o := sumOf(KindAtomic, atomics.Sum, two...)
		o.Ctx = 1
		s.a.send(o, words(10), words(30))
		o.Ctx, o.Ack = 2, true
		s.a.send(o, words(10, 30))
		o.Ctx, o.Ack, o.HasData, o.Data, o.Inject = 3, false, true, 77, true
		s.a.send(o, words(0, 0))
		s.flow()
		s.a.want("atomic 1 len 16", "inject atomic 3 len 16", "atomic 2 len 16")
		s.b.want("silent atomic rwrite 0 len 16", "silent atomic rwrite 0 len 16", "atomic rwrite 0 len 16 data 77")
		wantWords(t0(s), "after the sums", mem, 21, 2, 63, 4)

		result := make([]byte, 16)
		o = sumOf(KindFetch, atomics.Prod, two...)
		o.Atomic.Result, o.Atomic.NResult = bufs(result[:3], result[3:])
		o.Ctx = 4
		operands := words(2, 3)
		s.a.send(o, operands)
		clear(operands) // the operands were copied
		read := make([]byte, 32)
		s.a.send(Send{Kind: KindRead, Ctx: 5, NRMA: 1, RMA: segs(wire.RMAIov{Len: 32})}, read)
		s.flow()
		s.a.want("fetch 4 len 16", "read 5 len 32")
		s.b.want("silent atomic rread 0 len 16", "silent rread 0 len 32")
		wantWords(t0(s), "fetched", result, 21, 63)
		wantWords(t0(s), "read", read, 42, 2, 189, 4)

		o = sumOf(KindCompare, atomics.CSwap, wire.RMAIov{Addr: 8, Len: 16})
		o.Atomic.Result, o.Atomic.NResult = bufs(result)
		o.Atomic.Compare, o.Atomic.NCompare = bufs(words(2), words(5))
		o.Ctx = 6
		s.a.send(o, words(100, 200))
		o = sumOf(KindFetch, atomics.Read, wire.RMAIov{Len: 8})
		one := make([]byte, 8)
		o.Atomic.Result, o.Atomic.NResult = bufs(one)
		o.Ctx = 7
		s.a.send(o)
		s.flow()
		s.a.want("compare 6 len 16", "fetch 7 len 8")
		s.b.want("silent atomic rread 0 len 16", "silent atomic rread 0 len 8")
		wantWords(t0(s), "compared", result, 2, 189)
		wantWords(t0(s), "read", one, 42)
		wantWords(t0(s), "in the end", mem, 42, 100, 189, 4)
		if got := strings.Join(s.b.mem.counted,
			","); got != "true 16,true 16,true 16,false 16,false 32,false 16,false 8" {
			t0(s).Errorf("counted %s", got)
		}
	})
}

func t0(s *script) *testing.T { return s.t }

// TestLongAtomics executes the longest operations, at odd addresses and with streams cut in pieces.
func TestLongAtomics(t *testing.T) {
	variants(t, func(s *script) {
		s.connect()
		s.a.c.Extended, s.b.c.Extended = true, true
		mem := make([]byte, MaxAtomic+1)
		s.b.mem.regions = [][]byte{mem}
		one, result := make([]byte, MaxAtomic), make([]byte, MaxAtomic)
		for i := range one {
			one[i] = 1
		}
		for range 3 {
			o := Send{Kind: KindFetch, NRMA: 1, RMA: segs(wire.RMAIov{Addr: 1, Len: MaxAtomic}),
				Atomic: &Atomic{Type: atomics.Uint32, Op: atomics.Sum}}
			o.Atomic.Result, o.Atomic.NResult = bufs(result)
			s.a.send(o, one)
			s.flow()
			o.Kind = KindAtomic
			s.a.send(o, one)
			s.flow()
		}
		s.a.want("fetch 0 len 65536", "atomic 0 len 65536", "fetch 0 len 65536", "atomic 0 len 65536",
			"fetch 0 len 65536", "atomic 0 len 65536")
		s.a.events, s.b.events = nil, nil
		for i := range one {
			if mem[i+1] != 6 || result[i] != 4 {
				t.Fatalf("byte %d is %d, was %d", i, mem[i+1], result[i])
			}
		}
	})
}

func TestAtomicArguments(t *testing.T) {
	s := readyPair(t)
	s.b.mem.regions = [][]byte{make([]byte, 100)}
	iov, res := wire.RMAIov{Len: 16}, make([]byte, 16)
	good := sumOf(KindCompare, atomics.CSwapLE, iov)
	good.Atomic.Result, good.Atomic.NResult = bufs(res)
	good.Atomic.Compare, good.Atomic.NCompare = bufs(res)
	good.IOV[0], good.NIOV = res, 1
	for name, spoil := range map[string]func(o *Send){
		"no atomic":         func(o *Send) { o.Atomic = nil },
		"no memory":         func(o *Send) { o.NRMA = 0 },
		"nothing":           func(o *Send) { o.RMA[0].Len = 0 },
		"odd memory":        func(o *Send) { o.RMA[0].Len = 15 },
		"huge memory":       func(o *Send) { o.RMA[0].Len = 1 << 63 },
		"too much":          func(o *Send) { o.RMA[0].Len = MaxAtomic + 8 },
		"short operands":    func(o *Send) { o.IOV[0] = res[:8] },
		"short compare":     func(o *Send) { o.Atomic.Compare[0] = res[:8] },
		"short result":      func(o *Send) { o.Atomic.Result[0] = res[:8] },
		"wrong kind":        func(o *Send) { o.Kind = KindFetch },
		"unknown type":      func(o *Send) { o.Atomic.Type = 200 },
		"unknown operation": func(o *Send) { o.Atomic.Op = 200 },
		"unknown kind":      func(o *Send) { o.Kind = 77 },
	} {
		o := good
		a := *good.Atomic
		o.Atomic = &a
		spoil(&o)
		if err := s.a.c.Submit(&o); err != ErrInvalid && err != ErrTooLong {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.a.c.Extended = false
	good.Ctx = 9
	must(t, s.a.c.Submit(&good))
	s.a.want("compare 9: " + ErrUnsupported.Error())
	if s.a.c.HasPending() || !s.a.c.Idle() {
		t.Error("something is left of it")
	}
}

// TestBadAtomics checks that a forbidden operation of a peer ends the connection before a byte changes.
func TestBadAtomics(t *testing.T) {
	for name, c := range map[string]struct {
		h    wire.Header
		n    uint64
		want error
	}{
		"key": {wire.Header{Op: wire.OpAtomic, OpData: 7, Atomic: 2, IovCnt: 2,
			IOV: segs(wire.RMAIov{Len: 8}, wire.RMAIov{Key: 9, Len: 8})}, 16, ErrAccess},
		"beyond the end": {wire.Header{Op: wire.OpAtomic, OpData: 7, Atomic: 2, IovCnt: 1,
			IOV: segs(wire.RMAIov{Addr: 96, Len: 8})}, 8, ErrAccess},
		"read only": {wire.Header{Op: wire.OpAtomicFetch, OpData: 7, Atomic: 2, IovCnt: 1,
			IOV: segs(wire.RMAIov{Key: 1, Len: 8})}, 8, ErrAccess},
		"half an element": {wire.Header{Op: wire.OpAtomic, OpData: 7, Atomic: 2, IovCnt: 1,
			IOV: segs(wire.RMAIov{Len: 12})}, 12, ErrProtocol},
		"type": {wire.Header{Op: wire.OpAtomic, OpData: 13, Atomic: 2, IovCnt: 1,
			IOV: segs(wire.RMAIov{Len: 16})}, 16, ErrProtocol},
		"operation": {wire.Header{Op: wire.OpAtomic, OpData: 7, Atomic: 12, IovCnt: 1,
			IOV: segs(wire.RMAIov{Len: 16})}, 16, ErrProtocol},
		"unasked response": {wire.Header{Op: wire.OpAtomicRsp}, 8, ErrProtocol},
	} {
		for _, cut := range []int{1 << 20, 50} {
			s := readyPair(t)
			s.b.mem.regions = [][]byte{make([]byte, 100), make([]byte, 100)}
			s.b.mem.readOnly[1] = true
			b := append(header(c.h, c.n), words(^uint64(0), ^uint64(0))[:c.n]...)
			for ; len(b) > 0 && s.b.c.State() == Connected; b = b[min(cut, len(b)):] {
				s.b.inject(b[:min(cut, len(b))])
			}
			s.b.want(`failed "": ` + c.want.Error())
			if s.b.mem.regions[0][0] != 0 || s.b.mem.regions[1][0] != 0 || len(s.b.mem.counted) != 0 {
				t.Errorf("%s: memory was touched", name)
			}
		}
	}
	s := readyPair(t)
	s.b.c.Extended = false
	s.b.inject(append(header(wire.Header{Op: wire.OpAtomic, OpData: 7, Atomic: 2}, 0), 1))
	s.b.want(`failed "": ` + ErrProtocol.Error())

	// A read must not be answered with results, nor a fetch with read data.
	s = readyPair(t)
	s.a.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 8})}, make([]byte, 8))
	s.a.inject(append(header(wire.Header{Op: wire.OpAtomicRsp}, 8), make([]byte, 8)...))
	s.a.want("read 1: "+ErrProtocol.Error(), `failed "": `+ErrProtocol.Error())
	s = readyPair(t)
	o := sumOf(KindFetch, atomics.Read, wire.RMAIov{Len: 8})
	o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 8))
	s.a.send(o)
	s.a.inject(append(header(wire.Header{Op: wire.OpReadRsp}, 8), make([]byte, 8)...))
	s.a.want("fetch 0: "+ErrProtocol.Error(), `failed "": `+ErrProtocol.Error())
}

// TestResultStall checks that a peer that does not take its results is not read, and that our end does not ask for
// as much.
func TestResultStall(t *testing.T) {
	s := readyPair(t)
	s.b.mem.regions = [][]byte{make([]byte, MaxAtomic)}
	s.b.cfg.InternalMax = 1 << 20
	ask := header(wire.Header{Op: wire.OpAtomicFetch, OpData: 7, Atomic: wire.AtomicRead, IovCnt: 1,
		IOV: segs(wire.RMAIov{Len: MaxAtomic})}, 0)
	n := 0
	for ; !s.b.c.Stalled() && n < 100; n++ {
		s.b.inject(ask)
	}
	if n != 2*fetchMax/MaxAtomic+1 {
		t.Errorf("stalled after %d", n)
	}
	for s.b.c.Stalled() && s.b.transmit(100000) > 0 {
	}
	if s.b.resumed != 1 {
		t.Error("not resumed")
	}
	s.b.events, s.b.wire = nil, nil

	s = readyPair(t)
	s.b.mem.regions = [][]byte{make([]byte, MaxAtomic)}
	s.a.cfg.StageLimit = 1 << 30
	for i := range 40 {
		o := sumOf(KindFetch, atomics.Read, wire.RMAIov{Len: MaxAtomic})
		o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, MaxAtomic))
		o.Ctx = uint64(i)
		s.a.send(o)
	}
	if s.a.c.fetching != fetchMax || s.a.c.waits != 40-fetchMax/MaxAtomic {
		t.Errorf("%d bytes are asked for, %d operations wait", s.a.c.fetching, s.a.c.waits)
	}
	s.flow()
	for i := range uint64(40) {
		s.a.want("fetch " + num(i) + " len " + num(MaxAtomic))
	}
	s.b.events = nil
}

// TestFence checks that nothing behind a fence leaves before all operations before it are complete.
func TestFence(t *testing.T) {
	s := readyPair(t)
	mem, buf := pattern(1, 5000), make([]byte, 5000)
	want := pattern(1, 5000)
	s.b.mem.regions = [][]byte{mem}
	all := segs(wire.RMAIov{Len: 5000})
	s.a.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: all}, buf)
	s.a.send(Send{Kind: KindWrite, Ctx: 2, NRMA: 1, RMA: all, Ack: true, Fence: true}, make([]byte, 5000))
	s.a.send(Send{Ctx: 3, Inject: true}, []byte("after"))
	s.a.send(Send{Ctx: 4, Fence: true}, []byte("last"))
	if s.a.c.Queued() > 100 || s.a.c.InFlight() != 4 {
		t.Errorf("%d bytes wait, %d operations", s.a.c.Queued(), s.a.c.InFlight())
	}
	s.a.transmit(1 << 20)
	s.receive(s.b, 1<<20) // the request is served only while the transport takes bytes
	if s.a.c.HasPending() {
		t.Error("bytes left although the read is not answered")
	}
	s.flow()
	s.a.want("read 1 len 5000", "inject send 3", "write 2 len 5000", "send 4")
	s.b.want("silent rread 0 len 5000", "silent rwrite 0 len 5000")
	same(t, "read", buf, want)
	s.b.recv(5, AnySource, buf)
	s.b.recv(6, AnySource, buf[5:])
	s.b.want("recv 5 len 5 src 2", "recv 6 len 4 src 2")
	same(t, "messages", buf[:9], []byte("afterlast"))
	if s.a.replied == 0 {
		t.Error("the driver was not asked to transmit")
	}

	s.a.send(Send{Ctx: 7, Fence: true}, []byte("alone")) // no operation before it
	s.flow()
	s.a.want("send 7")

	s.a.send(Send{Kind: KindRead, Ctx: 8, NRMA: 1, RMA: all}, buf)
	s.a.send(Send{Ctx: 9, Fence: true}, []byte("x"))
	s.a.send(Send{Ctx: 10}, []byte("y"))
	if !s.a.c.Cancel(9) || s.a.c.waits != 0 {
		t.Error("without the fence the next one goes")
	}
	s.a.transmit(1 << 20)
	s.a.want("send 9: operation canceled", "send 10")
	s.a.send(Send{Ctx: 11, Fence: true}, []byte("z"))
	s.a.c.Fail(ErrPeerClose)
	s.a.want("read 8: the connection ended without a closing message", "send 11: the connection ended without a closing message",
		`failed "": the connection ended without a closing message`)
	s.b.rx.Release()
}

// TestAtomicAllocs checks that fetches, compares and fences allocate nothing in the steady state.
func TestAtomicAllocs(t *testing.T) {
	s := readyPair(t)
	qa, _ := s.silence()
	mem := make([]byte, 4096)
	s.b.c.mem = quietMemory{mem}
	operand, result := words(1, 2), make([]byte, 16)
	long := make([]byte, 4096)
	iov := wire.RMAIov{Addr: 16, Len: 16}
	base, fetch, compare := sumOf(KindAtomic, atomics.Sum, iov), sumOf(KindFetch, atomics.Sum, iov),
		sumOf(KindCompare, atomics.MSwap, iov)
	big := sumOf(KindFetch, atomics.BXor, wire.RMAIov{Len: 4096})
	fetch.Fence = true
	for _, o := range []*Send{&base, &fetch, &compare, &big} {
		o.IOV[0], o.NIOV = operand, 1
		o.Atomic.Result, o.Atomic.NResult = bufs(result)
		o.Atomic.Compare, o.Atomic.NCompare = bufs(operand)
	}
	big.IOV[0], big.Atomic.Result[0] = long, long
	p := directPump{gather: make([][]byte, 0, 64), scratch: make([]byte, 0, 2<<20)}
	round := func() {
		for _, o := range []*Send{&base, &fetch, &compare, &big, &base} {
			must(t, s.a.c.Submit(o))
		}
		for range 3 {
			p.move(s.a.c, s.b.c)
			p.move(s.b.c, s.a.c)
		}
	}
	round()
	if n := testing.AllocsPerRun(50, round); n != 0 || qa.n != 52*5 {
		t.Errorf("%v allocations, %d completions", n, qa.n)
	}
}

// TestAtomicAfterTheEnd checks that a driver's Atomic does not go to the pool when its operation is refused because
// the peer has ended. Otherwise the next two operations would share it, and the result of one would be in the buffer
// of the other.
func TestAtomicAfterTheEnd(t *testing.T) {
	variants(t, func(s *script) {
		s.connect()
		s.a.c.Extended, s.b.c.Extended = true, true
		o := sumOf(KindFetch, atomics.Sum, wire.RMAIov{Len: 8})
		o.Atomic.Result, o.Atomic.NResult = bufs(make([]byte, 8))
		o.SetIOV([][]byte{words(1)})
		s.a.c.Break(ErrGoodbye)
		if err := s.a.c.Submit(&o); err != nil {
			t0(s).Fatal(err)
		}
		s.a.want("fetch 0: the peer has closed its endpoint")
		pool := s.a.c.pool
		first, second := pool.getAtomic(&Atomic{}), pool.getAtomic(&Atomic{})
		if first == o.Atomic || second == o.Atomic || o.Atomic.NResult != 1 {
			t0(s).Error("the pool has what belongs to the driver")
		}
		pool.putAtomic(first)
		pool.putAtomic(second)
	})
}
