package gateway

import (
	"encoding/binary"
	"testing"

	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxm/wire"
)

// TestProtocolViolations gives a gateway packets that no peer may send, while an announced message, a requested
// message and an atomic operation are in progress.
func TestProtocolViolations(t *testing.T) {
	for _, c := range []struct {
		name    string
		p       wire.Packet
		n       int
		refused bool // answered with an error; the connection continues
	}{
		{"segment of nothing", wire.Packet{Type: wire.TypeSegment, MsgID: 5, Part: wire.Middle, SegNo: 1, SegSize: 10, Size: 100}, 10, false},
		{"read_done of nothing", wire.Packet{Type: wire.TypeReadDone, MsgID: 77}, 0, false},
		{"read_done of another generation", wire.Packet{Type: wire.TypeReadDone, MsgID: 2 << 32}, 0, false},
		{"write_done of nothing", wire.Packet{Type: wire.TypeWriteDone, MsgID: 77}, 0, false},
		{"write_data of nothing", wire.Packet{Type: wire.TypeWriteData, MsgID: 77, N: 1}, 0, false},
		{"result of nothing", wire.Packet{Type: wire.TypeAtomicResp, Op: wire.OpAtomic, MsgID: 77, Size: wire.ResultLen}, 0, false},
		{"result too short", wire.Packet{Type: wire.TypeAtomicResp, Op: wire.OpAtomicFetch, MsgID: 1 << 32, Size: wire.ResultLen + 4, Result: 4}, 4, false},
		{"type of atomic", wire.Packet{Type: wire.TypeAtomic, Op: wire.OpAtomic, Datatype: 99, N: 1, Size: wire.AtomicLen + 8, Ranges: [4]wire.Range{{Len: 1, Key: 7}}}, 8, true},
		{"atomic of wild count", wire.Packet{Type: wire.TypeAtomic, Op: wire.OpAtomic, Datatype: 7, N: 2, Size: wire.AtomicLen + 8, Ranges: [4]wire.Range{{Len: 1, Key: 7}, {Len: 1<<32 - 1, Key: 7}}}, 8, true},
		{"atomic elsewhere", wire.Packet{Type: wire.TypeAtomic, Op: wire.OpAtomic, Datatype: 7, N: 1, Size: wire.AtomicLen + 8, Ranges: [4]wire.Range{{Len: 1, Key: 8}}}, 8, true},
		{"atomic behind the end", wire.Packet{Type: wire.TypeAtomic, Op: wire.OpAtomic, Datatype: 7, N: 1, Size: wire.AtomicLen + 8, Ranges: [4]wire.Range{{Addr: ^uint64(0) - 3, Len: 1, Key: 7}}}, 8, true},
		{"fetch with too few operands", wire.Packet{Type: wire.TypeAtomic, Op: wire.OpAtomicCompare, Datatype: 7, AtomOp: uint8(atomics.CSwap), N: 1, Size: wire.AtomicLen + 8, Ranges: [4]wire.Range{{Len: 1, Key: 7}}}, 8, true},
	} {
		a, b := newPair(t, Config{})
		a.send(1, make([]byte, 200000))
		a.submit(atomicOf(2, xengine.KindFetch, atomics.Sum, 0, u64(1), nil, make([]byte, 8)))
		a.low.Out = nil
		a.g.Received(0, append(c.p.Append(nil), make([]byte, c.n)...))
		a.g.Pump()
		if got := a.failed == nil; got != c.refused || !got && a.failed != xengine.ErrProtocol {
			t.Errorf("%s: %v", c.name, a.failed)
		}
		if c.refused {
			if types := a.types(); len(types) != 1 || types[0] != "atomic_resp" {
				t.Errorf("%s: answered with %v", c.name, types)
			}
		} else if a.low.Exposed() != 0 || a.pool.OutTx != 0 {
			t.Errorf("%s: resources are left over", c.name)
		}
		_ = b
	}
}

// TestSegments receives segments that break the rules.
func TestSegments(t *testing.T) {
	seg := func(id uint64, no uint32, part wire.Part, n int, size uint64) []byte {
		p := wire.Packet{Type: wire.TypeSegment, MsgID: id, SegNo: no, Part: part, SegSize: uint16(n), Size: size}
		return append(p.Append(nil), make([]byte, n)...)
	}
	for _, c := range []struct {
		name string
		pkt  []byte
	}{
		{"number again", seg(5, 0, wire.Middle, 10, 100)},
		{"number missed", seg(5, 2, wire.Middle, 10, 100)},
		{"too long", seg(5, 1, wire.Middle, 95, 100)},
		{"last too early", seg(5, 1, wire.Last, 10, 100)},
		{"not marked as last", seg(5, 1, wire.Middle, 90, 100)},
		{"another message's", seg(6, 1, wire.Middle, 10, 100)},
	} {
		_, b := newPair(t, Config{})
		if !b.g.Received(0, seg(5, 0, wire.First, 10, 100)) || b.failed != nil {
			t.Fatal("the first segment was refused")
		}
		if b.g.Received(0, c.pkt); b.failed != xengine.ErrProtocol {
			t.Errorf("%s: %v", c.name, b.failed)
		}
	}
}

// TestSegmentsOverAuxConn has segments on an auxiliary connection overtake the first of their message, and messages
// behind it that wait for its end.
func TestSegmentsOverAuxConn(t *testing.T) {
	_, b := newPair(t, Config{})
	p := pattern(100, 1)
	seg := func(no uint32, part wire.Part, from, to int) []byte {
		x := wire.Packet{Type: wire.TypeSegment, MsgID: 5, SegNo: no, Part: part, SegSize: uint16(to - from), Size: 100}
		return append(x.Append(nil), p[from:to]...)
	}
	eager := append((&wire.Packet{Type: wire.TypeEager, Size: 3}).Append(nil), "end"...)
	got, end := make([]byte, 100), make([]byte, 3)
	b.post(1, got)
	b.post(2, end)
	for i, s := range []struct {
		conn int
		pkt  []byte
		ok   bool
	}{
		{1, seg(1, wire.Middle, 40, 70), false},
		{0, seg(0, wire.First, 0, 40), true},
		{0, eager, false},
		{1, seg(1, wire.Middle, 40, 70), true},
		{0, eager, false},
		{1, seg(2, wire.Last, 70, 100), true},
		{0, eager, true},
	} {
		if ok := b.g.Received(s.conn, s.pkt); ok != s.ok {
			t.Fatal(i, ok)
		}
	}
	b.want("recv 1 len 100", "recv 2 len 3")
	if string(got) != string(p) || string(end) != "end" {
		t.Fatal("the data is damaged")
	}
	clean(b)
}

// FuzzReceived gives packets, each with its length and connection in front, to a gateway with operations of all
// kinds in progress. It must not crash, must keep no more than a small multiple of the input, and must hold nothing
// after the end.
func FuzzReceived(f *testing.F) {
	add := func(pkts ...[]byte) {
		var b []byte
		for _, p := range pkts {
			b = append(append(binary.LittleEndian.AppendUint16(b, uint16(len(p))), 0), p...)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	// The seeds are short: the fuzzer minimizes each input that it keeps byte by byte, and does nothing else
	// meanwhile.
	cfg := Config{EagerLimit: 512, BufferSize: 512}
	a, _ := newPair(f, cfg)
	a.send(1, make([]byte, 3))
	a.send(1, make([]byte, 700))
	a.send(1, make([]byte, 5000))
	a.submit(atomicOf(2, xengine.KindFetch, atomics.Sum, 0, u64(1), nil, make([]byte, 8)))
	var all [][]byte
	for _, o := range a.low.Out {
		add(o.Bytes())
		all = append(all, o.Bytes())
	}
	add(all...)
	for _, p := range []wire.Packet{
		{Type: wire.TypeReadDone, MsgID: 1 << 32}, {Type: wire.TypeWriteDone, MsgID: 1 << 32}, {Type: wire.TypeCredit, Credits: 5},
		{Type: wire.TypeWriteData, MsgID: 1 << 32, N: 2, Ranges: [4]wire.Range{{Len: 5}, {Len: 1 << 40}}},
		{Type: wire.TypeAtomicResp, Op: wire.OpAtomicFetch, MsgID: 1 << 32, Size: 8, Status: -13},
	} {
		add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte, write bool) {
		e := newSmallEnd(t, "e", &Config{RndvWrite: write, FlowControl: write, RxSize: 2, EagerLimit: 1 << 10, BufferSize: 1 << 10}, 4096)
		e.low.Lazy = true
		e.rx.PeerLimit = 1 << 16
		for i := range 3 {
			e.post(uint64(i), make([]byte, 100*i))
			e.postTagged(uint64(i), uint64(i), make([]byte, 100*i))
		}
		e.send(1, make([]byte, 10000))
		e.submit(atomicOf(2, xengine.KindFetch, atomics.Sum, 0, u64(1), nil, make([]byte, 8)))
		for len(b) >= 3 {
			n, conn := int(binary.LittleEndian.Uint16(b)), int(b[2]&1)
			b = b[3:]
			n = min(n, len(b))
			e.g.Received(conn, b[:n])
			e.g.Pump()
			if b = b[n:]; len(e.low.unsent) > 0 {
				e.sent(0)
			}
		}
		if e.rx.UnexpectedBytes() > 1<<20 {
			t.Fatal("the gateway keeps too much memory")
		}
		e.g.Fail(errLower)
		e.rx.Flush(errLower)
		e.rx.Release() // a complete message outlives its connection, until its receive context is closed
		if e.low.Exposed() != 0 || e.pool.OutTx != 0 || e.pool.OutRx != 0 || e.pool.OutUnexp != 0 ||
			e.pool.OutChunks != 0 || e.pool.OutAtomic != 0 {
			t.Fatalf("resources are left over: %d %+v", e.low.Exposed(), &e.pool)
		}
	})
}
