package gateway

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"testing"

	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// TestSizes sends messages of all protocols, before and after their receive is posted, tagged and untagged, in one
// buffer and in several.
func TestSizes(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		for _, write := range []bool{false, true} {
			for _, n := range []int{0, 1, 100, 4096, 4097, 16384, 16385, 40000, 131072, 131073, 1 << 20} {
				for _, before := range []bool{false, true} {
					a, b := newPair(t, Config{RndvWrite: write})
					a.low.Lazy, b.low.Lazy = lazy, lazy
					p := pattern(n, uint64(n))
					got, tgot := make([]byte, n), make([]byte, n)
					post := func() {
						b.post(1, got)
						b.postTagged(2, 0x55, tgot[:n/3], tgot[n/3:n/2], tgot[n/2:])
					}
					if before {
						post()
					}
					a.send(3, p[:n/4], p[n/4:n/2], p[n/2:n/2+n/8], p[n/2+n/8:])
					s := sendOf(4, p)
					s.Tagged, s.Tag, s.HasData, s.Data = true, 0x55, true, 99
					a.submit(s)
					settle(a, b)
					if !before {
						post()
						settle(a, b)
					}
					if !bytes.Equal(got, p) || !bytes.Equal(tgot, p) {
						t.Fatalf("%d bytes, lazy %v, write %v, before %v: the data is damaged", n, lazy, write, before)
					}
					if len(a.events) != 2 || len(b.events) != 2 || len(b.done) != 2 {
						t.Fatalf("%d bytes: %q %q", n, a.events, b.events)
					}
					for _, c := range b.done {
						if c.Len != uint64(n) || c.HasData != (c.Ctx == 2) || c.HasData && c.Data != 99 ||
							c.Err != nil {
							t.Fatalf("%+v", c)
						}
					}
					clean(a, b)
				}
			}
		}
	}
}

// TestPackets checks which packets messages become.
func TestPackets(t *testing.T) {
	a, b := newPair(t, Config{})
	for _, c := range []struct {
		n    int
		want []string
	}{
		{16384, []string{"eager"}},
		{16385, []string{"segment", "segment"}},
		{131072, slices.Repeat([]string{"segment"}, 8)},
		{131073, []string{"rndv_req"}},
	} {
		a.send(1, make([]byte, c.n))
		if got := a.types(); !slices.Equal(got, c.want) {
			t.Errorf("%d bytes: %v", c.n, got)
		}
		b.post(1, make([]byte, c.n))
		settle(a, b)
	}
	clean(a, b)
}

// TestOvertaking sends small messages behind a large one without a receive, more than the staging memory holds.
func TestOvertaking(t *testing.T) {
	a, b := newPair(t, Config{})
	big := pattern(1<<20, 1)
	s := sendOf(1, big)
	s.Tagged, s.Tag = true, 1
	a.submit(s)
	for i := range 3000 {
		s := sendOf(2, pattern(1000, uint64(i)))
		s.Tagged, s.Tag = true, 2
		a.submit(s)
		b.postTagged(3, 2, make([]byte, 1000))
		settle(a, b)
	}
	if len(b.events) != 3000 || len(a.events) != 3000 {
		t.Fatal(len(a.events), len(b.events))
	}
	got := make([]byte, 1<<20)
	b.postTagged(4, 1, got)
	settle(a, b)
	if !bytes.Equal(got, big) || len(b.events) != 3001 || len(a.events) != 3001 {
		t.Fatal("the large message did not arrive")
	}
	clean(a, b)
}

// TestTruncated receives into buffers that are too short.
func TestTruncated(t *testing.T) {
	for _, write := range []bool{false, true} {
		for _, n := range []int{100, 20000, 200000} {
			for _, room := range []int{0, 50} {
				a, b := newPair(t, Config{RndvWrite: write})
				p := pattern(n, 5)
				got := make([]byte, room)
				b.post(1, got)
				a.send(2, p[:60], p[60:])
				settle(a, b)
				c := b.done[0]
				if c.Err != xengine.ErrTruncated || c.Len != uint64(room) || c.OLen != uint64(n-room) ||
					!bytes.Equal(got, p[:room]) {
					t.Fatalf("%d bytes into %d: %+v", n, room, c)
				}
				if len(a.done) != 1 || a.done[0].Err != nil {
					t.Fatal(a.events)
				}
				clean(a, b)
			}
		}
	}
}

// TestDelivery checks that an operation with delivery complete ends when the peer has acknowledged it.
func TestDelivery(t *testing.T) {
	a, b := newPair(t, Config{})
	for _, n := range []int{10, 20000, 200000} {
		s := sendOf(1, make([]byte, n))
		s.Ack = true
		a.submit(s)
		a.want()
		b.post(2, make([]byte, n))
		settle(a, b)
		a.want("send 1 len " + itoa(n))
		b.want("recv 2 len " + itoa(n))
	}
	clean(a, b)
}

func itoa(n int) string { return strconv.Itoa(n) }

// TestRMA reads and writes.
func TestRMA(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		a, b := newPair(t, Config{})
		a.low.Lazy = lazy
		copy(b.mem, pattern(1<<20, 3))
		got := make([]byte, 300000)
		r := sendOf(1, got[:100], got[100:])
		r.Kind, r.NRMA = xengine.KindRead, 2
		r.RMA[0] = xwire.RMAIov{Addr: 1000, Len: 200000, Key: 7}
		r.RMA[1] = xwire.RMAIov{Addr: 500000, Len: 100000, Key: 7}
		a.submit(r)
		p := pattern(200000, 4)
		w := sendOf(2, p[:5], p[5:])
		w.Kind, w.NRMA, w.HasData, w.Data, w.Ack = xengine.KindWrite, 1, true, 0xab, true
		w.RMA[0] = xwire.RMAIov{Addr: 700000, Len: 200000, Key: 7}
		a.submit(w)
		small := sendOf(3, p[:10])
		small.Kind, small.NRMA = xengine.KindWrite, 1
		small.RMA[0] = xwire.RMAIov{Addr: 0, Len: 10, Key: 7}
		a.submit(small)
		settle(a, b)
		b.want("rwrite 0 len 200000 data 0xab")
		slices.Sort(a.events)
		a.want("read 1 len 300000", "write 2 len 200000", "write 3 len 10")
		if !bytes.Equal(got[:200000], pattern(1<<20, 3)[1000:201000]) || !bytes.Equal(b.mem[700000:900000], p) ||
			!bytes.Equal(b.mem[:10], p[:10]) {
			t.Fatal("the data is damaged")
		}
		clean(a, b)
	}
}

// atomicOf makes an atomic operation on unsigned 64-bit numbers of the peer's region.
func atomicOf(ctx uint64, kind xengine.Kind, op atomics.Op, at uint64, operand []byte, compare, result []byte) xengine.Send {
	s := sendOf(ctx, operand)
	s.Kind, s.NRMA = kind, 1
	s.RMA[0] = xwire.RMAIov{Addr: at, Len: uint64(max(len(operand), len(result))), Key: 7}
	s.Atomic = &xengine.Atomic{Type: atomics.Uint64, Op: op}
	if compare != nil {
		s.Atomic.Compare[0], s.Atomic.NCompare = compare, 1
	}
	if result != nil {
		s.Atomic.Result[0], s.Atomic.NResult = result, 1
	}
	return s
}

func u64(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// TestAtomics executes all kinds of atomic operations, and some that are refused.
func TestAtomics(t *testing.T) {
	a, b := newPair(t, Config{})
	copy(b.mem, u64(10, 20, 30))
	old, was, cas := make([]byte, 16), make([]byte, 8), make([]byte, 8)
	a.submit(atomicOf(1, xengine.KindAtomic, atomics.Sum, 0, u64(5), nil, nil))
	a.submit(atomicOf(2, xengine.KindFetch, atomics.Sum, 0, u64(1, 2), nil, old))
	read := atomicOf(3, xengine.KindFetch, atomics.Read, 8, nil, nil, was)
	read.NIOV = 0
	a.submit(read)
	a.submit(atomicOf(4, xengine.KindCompare, atomics.CSwap, 16, u64(77), u64(30), cas))
	settle(a, b)
	a.want("atomic 1 len 8", "fetch 2 len 16", "fetch 3 len 8", "compare 4 len 8")
	if !bytes.Equal(b.mem[:24], u64(16, 22, 77)) || !bytes.Equal(old, u64(15, 20)) || !bytes.Equal(was, u64(22)) ||
		!bytes.Equal(cas, u64(30)) {
		t.Fatal("wrong results: ", b.mem[:24], old, was, cas)
	}
	bad := atomicOf(5, xengine.KindAtomic, atomics.Sum, 0, u64(5), nil, nil)
	bad.RMA[0].Key = 8
	a.submit(bad)
	bad = atomicOf(6, xengine.KindFetch, atomics.Sum, 1<<20-4, u64(5), nil, was)
	a.submit(bad)
	data := atomicOf(7, xengine.KindAtomic, atomics.Sum, 0, u64(5), nil, nil)
	data.HasData = true
	a.submit(data)
	settle(a, b)
	slices.Sort(a.events)
	a.want("atomic 5 len 8 "+xengine.ErrAccess.Error(), "atomic 7 len 8 "+xengine.ErrUnsupported.Error(), "fetch 6 len 8 "+xengine.ErrAccess.Error())
	most := (&Config{}).AtomicMax() / 8 * 8
	a.submit(atomicOf(8, xengine.KindFetch, atomics.Sum, 64, make([]byte, most), nil, make([]byte, most)))
	settle(a, b)
	a.want("fetch 8 len " + itoa(most))
	clean(a, b)
}

// TestFence checks that an operation with FI_FENCE waits for all before it.
func TestFence(t *testing.T) {
	a, b := newPair(t, Config{})
	big := make([]byte, 200000)
	a.send(1, big)
	f := sendOf(2, []byte("x"))
	f.Fence = true
	a.submit(f)
	b.post(3, make([]byte, 200000))
	b.post(4, make([]byte, 1))
	settle(a, b)
	a.want("send 1 len 200000", "send 2 len 1")
	b.want("recv 3 len 200000", "recv 4 len 1")
	clean(a, b)
}

// TestManyAnnounced posts more large messages than there are indices.
func TestManyAnnounced(t *testing.T) {
	a, b := newPair(t, Config{SARLimit: 16384})
	big := make([]byte, 20000)
	n := 0
	for ; n < 400; n++ {
		s := sendOf(uint64(n), big)
		if err := a.up.Submit(&s); err == xengine.ErrAgain {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		a.g.Pump()
	}
	if n != 254 {
		t.Fatal(n)
	}
	for range n {
		b.post(1, make([]byte, 20000))
	}
	settle(a, b)
	if len(a.done) != n || len(b.done) != n {
		t.Fatal(len(a.done), len(b.done))
	}
	clean(a, b)
}

// TestBackPressure fills the budget for unexpected messages. The peer's packets wait, and are received when there
// is room.
func TestBackPressure(t *testing.T) {
	for _, n := range []int{10000, 40000} {
		a, b := newPair(t, Config{})
		b.rx.PeerLimit = 100000
		a.cfg.StageLimit = 1 << 30
		for i := range 20 {
			a.send(uint64(i), pattern(n, uint64(i)))
		}
		settle(a, b)
		if !b.held[0] {
			t.Fatal("the gateway holds no packet back")
		}
		for i := range 20 {
			buf := make([]byte, n)
			b.post(uint64(i), buf)
			settle(a, b)
			if !bytes.Equal(buf, pattern(n, uint64(i))) {
				t.Fatalf("%d bytes: message %d", n, i)
			}
		}
		if len(b.done) != 20 || len(a.done) != 20 {
			t.Fatal(len(b.done))
		}
		clean(a, b)
	}
}

// TestLowerFull has a Lower that takes one operation at a time.
func TestLowerFull(t *testing.T) {
	for _, write := range []bool{false, true} {
		a, b := newPair(t, Config{RndvWrite: write})
		a.low.room, b.low.room = 0, 0
		for i, n := range []int{10, 20000, 200000, 5, 300000} {
			a.send(uint64(i), pattern(n, uint64(n)))
			b.post(uint64(i), make([]byte, n))
		}
		a.submit(atomicOf(9, xengine.KindFetch, atomics.Sum, 0, u64(1), nil, make([]byte, 8)))
		for range 200 {
			a.low.room, b.low.room = 1, 1
			settle(a, b)
		}
		if len(a.done) != 6 || len(b.done) != 5 {
			t.Fatal(a.events, b.events)
		}
		clean(a, b)
	}
}

// TestCredits checks that packets wait for the peer's receives.
func TestCredits(t *testing.T) {
	a, b := newPair(t, Config{FlowControl: true, RxSize: 4})
	for i := range 50 {
		a.send(1, pattern(100, uint64(i)))
		b.post(2, make([]byte, 100))
	}
	if len(a.low.Out) > 1 {
		t.Fatal("a packet was sent without credit")
	}
	settle(a, b)
	if len(a.done) != 50 || len(b.done) != 50 {
		t.Fatal(len(a.done), len(b.done))
	}
	clean(a, b)
}

// TestEnd ends the connection while operations of all kinds are in progress. All operations end, and no memory
// stays accessible.
func TestEnd(t *testing.T) {
	for _, write := range []bool{false, true} {
		a, b := newPair(t, Config{RndvWrite: write})
		a.low.Lazy, b.low.Lazy = true, true
		b.post(1, make([]byte, 200000))
		b.postTagged(2, 5, make([]byte, 10))
		a.send(3, make([]byte, 200000))
		a.send(4, make([]byte, 20000))
		a.send(5, make([]byte, 300000))
		r := sendOf(6, make([]byte, 10))
		r.Kind, r.NRMA, r.RMA[0] = xengine.KindRead, 1, xwire.RMAIov{Len: 10, Key: 7}
		a.submit(r)
		a.submit(atomicOf(7, xengine.KindFetch, atomics.Sum, 0, u64(1), nil, make([]byte, 8)))
		for range 3 {
			a.deliver()
		}
		b.g.Pump()
		a.g.Fail(errLower)
		b.g.Fail(errLower)
		a.g.Fail(errLower)
		for _, e := range []*end{a, b} {
			if e.failed != errLower || e.low.Exposed() != 0 {
				t.Fatal(e.name, e.failed, e.low.Exposed())
			}
			e.g.Pump()
			e.g.Done(tokFlight, nil)
			if !e.g.Received(0, nil) || !e.g.Idle() {
				t.Fatal("a gateway is not idle after its end")
			}
		}
		if len(a.done) != 5 || len(b.done) != 1 || b.done[0].Ctx != 1 {
			t.Fatal(a.events, b.events)
		}
		for _, c := range append(a.done, b.done...) {
			if c.Err != errLower {
				t.Fatalf("%+v", c)
			}
		}
		if a.pool.OutTx != 0 || b.pool.OutTx != 0 || a.pool.OutChunks != 0 {
			t.Fatal("resources are left over")
		}
	}
}
