package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFields compares the layout, field by field.
func TestFields(t *testing.T) {
	ctrl := func(ty, seg, no, id, data string) string {
		return "04" + ty + seg + no + "0b00000000000000" + id + data
	}
	const id7, zero = "0700000000000000", "0000000000000000"
	four := strings.Repeat("00", 3*RangeLen)
	rng := "010000000000000002000000000000000300000000000000"
	for _, c := range []struct {
		name string
		p    Packet
		hex  string
		rest int
	}{
		{"eager", Packet{Type: TypeEager, Conn: 11, Op: OpMsg, Size: 5}, ctrl("00", "0000", "00000000", zero, zero) + "0200000000000000" + "0500000000000000" + zero + zero, 5},
		{"tagged", Packet{Type: TypeEager, Conn: 11, Op: OpTagged, Size: 0, Tag: 0x1122334455667788, Flags: FlagCQData, Data: 9},
			ctrl("00", "0000", "00000000", zero, zero) + "0200010000000200" + zero + "0900000000000000" + "8877665544332211", 0},
		{"segment", Packet{Type: TypeSegment, Conn: 11, MsgID: 7, Part: Middle, SegSize: 300, SegNo: 2, Size: 2000, Op: OpMsg},
			ctrl("01", "2c01", "02000000", id7, "0200000000000000") + "0200000000000000" + "d007000000000000" + zero + zero, 300},
		{"rndv_req", Packet{Type: TypeRndvReq, Conn: 11, MsgID: 7, Size: 2, N: 1, Ranges: [4]Range{{1, 2, 3}}},
			ctrl("02", "0000", "00000000", id7, zero) + "0200000000000000" + "0200000000000000" + zero + zero + rng + four + "0100000000000000", 0},
		{"read_done", Packet{Type: TypeReadDone, Conn: 11, MsgID: 7}, ctrl("03", "0000", "00000000", id7, zero) + "0200000000000000" + zero + zero + zero, 0},
		{"atomic", Packet{Type: TypeAtomic, Conn: 11, MsgID: 7, Op: OpAtomicCompare, Datatype: 7, AtomOp: 12, N: 1, Size: 96 + 32, Ranges: [4]Range{{1, 2, 3}}},
			ctrl("04", "0000", "00000000", id7, zero) + "0200080000000000" + "8000000000000000" + zero + "070c010000000000" + rng + four, 32},
		{"atomic_resp", Packet{Type: TypeAtomicResp, Conn: 11, MsgID: 7, Op: OpAtomic, Datatype: 7, AtomOp: 3, Size: 8, Status: -13},
			ctrl("05", "0000", "00000000", id7, zero) + "0200060000000000" + "0800000000000000" + zero + "0703000000000000" + "fffffff3" + "00000000", 0},
		{"credit", Packet{Type: TypeCredit, Conn: 11, Op: OpCredit, Credits: 64}, ctrl("06", "0000", "00000000", zero, "4000000000000000") + "0200060000000000" + zero + zero + zero, 0},
		{"write_data", Packet{Type: TypeWriteData, Conn: 11, MsgID: 7, N: 1, Ranges: [4]Range{{1, 2, 3}}},
			ctrl("07", "0000", "00000000", id7, zero) + "0200000000000000" + zero + zero + zero + rng + four + "0100000000000000", 0},
		{"write_done", Packet{Type: TypeWriteDone, Conn: 11, MsgID: 7}, ctrl("08", "0000", "00000000", id7, zero) + "0200000000000000" + zero + zero + zero, 0},
	} {
		want := unhex(t, c.hex)
		got := c.p.Append(nil)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%x want\n%x", c.name, got, want)
		}
		if len(got) != c.p.Len() || len(got) > MaxHeader {
			t.Errorf("%s: %d bytes, Len %d", c.name, len(got), c.p.Len())
		}
		var p Packet
		rest, err := p.Parse(append(want, make([]byte, c.rest)...))
		if err != nil || p != c.p || len(rest) != c.rest {
			t.Errorf("%s: %v %d bytes\ngot  %+v\nwant %+v", c.name, err, len(rest), p, c.p)
		}
	}
}

// TestRefused makes valid packets invalid.
func TestRefused(t *testing.T) {
	eager := (&Packet{Type: TypeEager, Size: 4}).Append(nil)
	eager = append(eager, "abcd"...)
	seg := append((&Packet{Type: TypeSegment, Part: First, SegSize: 4, Size: 10}).Append(nil), "abcd"...)
	rndv := (&Packet{Type: TypeRndvReq, Size: 10, N: 2, Ranges: [4]Range{{Len: 5}, {Len: 5}}}).Append(nil)
	atomic := append((&Packet{Type: TypeAtomic, Op: OpAtomic, N: 1, Size: AtomicLen + 8, Ranges: [4]Range{{Len: 1}}}).Append(nil), make([]byte, 8)...)
	resp := append((&Packet{Type: TypeAtomicResp, Op: OpAtomic, Size: ResultLen + 8, Result: 8}).Append(nil), make([]byte, 8)...)
	for _, c := range []struct {
		name string
		b    []byte
		at   int
		to   byte
		want error
	}{
		{"version", eager, 0, 3, ErrVersion},
		{"operation version", eager, 32, 3, ErrVersion},
		{"type", eager, 1, 9, ErrType},
		{"operation", eager, 34, 2, ErrOp},
		{"shorter than its size", eager, 40, 5, ErrSize},
		{"longer than its size", eager, 40, 3, ErrSize},
		{"immense", eager, 47, 0xff, ErrSize},
		{"no part", seg, 24, 0, ErrSize},
		{"first with a number", seg, 4, 1, ErrSize},
		{"last with number 0", seg, 24, 3, ErrSize},
		{"segment size", seg, 2, 5, ErrSize},
		{"segment is all", seg, 40, 4, ErrSize},
		{"segment is more than all", seg, 40, 3, ErrSize},
		{"no ranges", rndv, HeaderLen + 96, 0, ErrRanges},
		{"too many ranges", rndv, HeaderLen + 96, 5, ErrRanges},
		{"ranges too short", rndv, HeaderLen + 8, 4, ErrRanges},
		{"no atomic", atomic, 34, 1, ErrOp},
		{"atomic size", atomic, 40, 0, ErrSize},
		{"atomic without ranges", atomic, 58, 0, ErrRanges},
		{"atomic with too many", atomic, 58, 5, ErrRanges},
		{"immense count", atomic, HeaderLen + 8 + 5, 1, ErrRanges},
		{"result of another operation", resp, 34, 5, ErrOp},
		{"result size", resp, 40, 0, ErrSize},
		{"result length", resp, HeaderLen + 7, 7, ErrSize},
	} {
		b := bytes.Clone(c.b)
		if _, err := new(Packet).Parse(b); err != nil {
			t.Fatalf("%s: the valid packet: %v", c.name, err)
		}
		b[c.at] = c.to
		if _, err := new(Packet).Parse(b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestTrim shortens ranges. Ranges behind the end are ignored.
func TestTrim(t *testing.T) {
	wild := ^uint64(0)
	for _, c := range []struct {
		lens []uint64
		n    uint64
		want []uint64
		ok   bool
	}{
		{[]uint64{5, 5}, 10, []uint64{5, 5}, true},
		{[]uint64{5, 5}, 7, []uint64{5, 2}, true},
		{[]uint64{5, wild, wild}, 5, []uint64{5}, true},
		{[]uint64{5, wild, wild}, 6, []uint64{5, 1}, true},
		{[]uint64{wild, wild}, 0, []uint64{0}, true},
		{[]uint64{1, 2}, 4, []uint64{1, 2}, false},
	} {
		p := Packet{N: uint8(len(c.lens))}
		for i, n := range c.lens {
			p.Ranges[i].Len = n
		}
		ok := p.Trim(c.n)
		var got []uint64
		for _, r := range p.Ranges[:p.N] {
			got = append(got, r.Len)
		}
		if ok != c.ok || len(got) != len(c.want) {
			t.Fatalf("%v to %d: %v %v", c.lens, c.n, got, ok)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v to %d: %v", c.lens, c.n, got)
			}
		}
	}
}

// TestConnect reads the connect data of native peers: of 2.6, then of 1.17.
func TestConnect(t *testing.T) {
	for _, s := range []string{
		"01020403fdb20200 00400000 00100000 00000000af180000",
		"0102040385950200 00400000 00100000 0000000058160000",
	} {
		b := unhex(t, s)
		var c Connect
		if err := c.Parse(append(bytes.Clone(b), "more"...)); err != nil {
			t.Fatal(err)
		}
		if c.FlowCtrl != FlowCtrlOff || c.EagerLimit != 16384 || c.RxSize != 4096 || c.Index != 0 || c.Port < 30000 ||
			ConnIndex(c.Conn) != 0 || ConnPID(c.Conn) < 1000 {
			t.Errorf("%+v", c)
		}
		if !bytes.Equal(c.Append(nil), b) {
			t.Errorf("%x", c.Append(nil))
		}
		for n := range b {
			if c.Parse(b[:n]) != ErrShort {
				t.Error(n)
			}
		}
		for at, want := range map[int]error{0: ErrVersion, 1: ErrOrder, 2: ErrVersion, 3: ErrVersion} {
			bad := bytes.Clone(b)
			bad[at]++
			if err := c.Parse(bad); err != want {
				t.Errorf("byte %d: %v", at, err)
			}
		}
	}
	b := unhex(t, "01000000ad180000 00100000 02000000")
	var a Accept
	if err := a.Parse(b); err != nil || a != (Accept{Conn: ConnID(0x18ad, 1), RxSize: 4096, FlowCtrl: FlowCtrlOff}) ||
		!bytes.Equal(a.Append(nil), b) {
		t.Errorf("%v %+v", err, a)
	}
	if a.Parse(b[:15]) != ErrShort {
		t.Error("a short accept was parsed")
	}
	for b, want := range map[string]Reason{"\x01\x02": ReasonAlready, "\x01\x00": ReasonNone, "\x02\x02": ReasonRefused, "\x01": ReasonRefused, "": ReasonRefused} {
		if got := ParseReject([]byte(b)); got != want {
			t.Errorf("%q: %v", b, got)
		}
	}
	if got := AppendReject(nil, ReasonAlready); !bytes.Equal(got, []byte{1, 2}) {
		t.Errorf("%x", got)
	}
	if ConnIndex(0x12345678ffffffff) != ^uint64(0) {
		t.Error("a sign was not extended, as native extends it")
	}
}

// TestNoAllocs checks that encoding and decoding allocate nothing.
func TestNoAllocs(t *testing.T) {
	p := Packet{Type: TypeRndvReq, Size: 10, N: 1, Ranges: [4]Range{{Len: 10}}}
	buf := make([]byte, 0, MaxHeader)
	if n := testing.AllocsPerRun(100, func() {
		buf = p.Append(buf[:0])
		if _, err := p.Parse(buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Error(n)
	}
}

// FuzzPacket checks that an accepted packet ends with its payload, and is the same after it was encoded again.
func FuzzPacket(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.pkt[:min(len(g.pkt), 300)])
		f.Add(g.pkt)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Packet
		payload, err := p.Parse(b)
		_ = p.String()
		if err != nil {
			if payload != nil {
				t.Fatal("payload with an error")
			}
			return
		}
		if !bytes.HasSuffix(b, payload) || p.N > RangesMax || p.Size > MaxSize && p.Type != TypeCredit {
			t.Fatalf("%+v", p)
		}
		if _, err := again.Parse(append(p.Append(nil), payload...)); err != nil || again != p {
			t.Fatalf("%v\n%+v\n%+v", err, again, p)
		}
	})
}

// FuzzConnect checks that any connect data is parsed without a panic.
func FuzzConnect(f *testing.F) {
	f.Add((&Connect{Port: 1}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Connect
		if c.Parse(b) == nil && !bytes.Equal(c.Append(nil), b[:ConnectLen]) {
			t.Fatalf("%+v", c)
		}
		var a Accept
		_ = a.Parse(b)
		ParseReject(b)
	})
}
