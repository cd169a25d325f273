package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// someOps returns one Op of each combination of headers, for a payload of 7 bytes.
func someOps() []*Op {
	iov := [IOVLimit]RMAIov{{0x1000, 3, 1}, {0x2000, 4, 2}}
	one := [IOVLimit]RMAIov{{0x1000, 7, 1}}
	return []*Op{
		{Base: Base{Type: TypeMsg, Flags: FlagInline, Peer: 1, Seq: 2}},
		{Base: Base{Type: TypeMsg, Flags: FlagInline | FlagCQData, Peer: 1, Seq: 2}, CQData: 3},
		{Base: Base{Type: TypeTagged, Flags: FlagTag | FlagInline, Peer: 1}, Tag: 4},
		{Base: Base{Type: TypeTagged, Flags: FlagTag | FlagCQData, Peer: 1}, Tag: 4, CQData: 5, SAR: SAR{Size: 100, NumSegs: 2, TxID: 6}},
		{Base: Base{Type: TypeWrite, Flags: FlagInline}, RMA: one, NRMA: 1},
		{Base: Base{Type: TypeWrite, Flags: FlagCQData}, CQData: 1, RMA: iov, NRMA: 2, SAR: SAR{Size: 7, NumSegs: 1, TxID: 6}},
		{Base: Base{Type: TypeAtomic, Flags: FlagInline}, RMA: one, NRMA: 1, AtomDatatype: 7, AtomOp: 8},
		{Base: Base{Type: TypeAtomicFetch}, RMA: one, NRMA: 1, AtomDatatype: 7, AtomOp: 8, SAR: SAR{Size: 7, TxID: 6}},
		{Base: Base{Type: TypeAtomicCompare}, RMA: iov, NRMA: 2, AtomDatatype: 7, AtomOp: 8, SAR: SAR{Size: 7, TxID: 6}},
	}
}

func someXHeaders() []*XHeader {
	return []*XHeader{
		{Type: XData, ConnID: 1, Offset: 2, Ack: 3, Window: 4, Time: 5, Echo: 6, AckDelay: 7},
		{Type: XData, Flags: FlagXFin | FlagXAckNow},
		{Type: XAck, NSACK: 2, SACK: [MaxSACK]Range{{10, 20}, {30, 40}}},
		{Type: XProbe, NSACK: 1, SACK: [MaxSACK]Range{{10, 20}}},
		{Type: XReset},
	}
}

func TestOpRoundTrip(t *testing.T) {
	for _, want := range someOps() {
		b := append(want.Append(nil), "payload"...)
		var got Op
		payload, err := got.Parse(b)
		if err != nil || string(payload) != "payload" || got != *want {
			t.Errorf("%v: got %+v, %q, %v", want, &got, payload, err)
		}
		for cut := range len(b) - len("payload") {
			if _, err := got.Parse(b[:cut]); !errors.Is(err, ErrShort) {
				t.Errorf("%v cut at %d: %v", want, cut, err)
			}
		}
	}
}

func TestOpFields(t *testing.T) {
	o := Op{Base: Base{Type: TypeWrite, Flags: FlagCQData, Peer: 0x11121314, Seq: 0x2122232425262728}, CQData: 0x3132333435363738,
		SAR: SAR{Size: 0x9f, NumSegs: 0x52, TxID: 0x61626364}, NRMA: 1, RMA: [IOVLimit]RMAIov{{0x7172737475767778, 0x9f, 0x9192939495969798}}}
	const want = "02 04 0100 14131211 2827262524232221" + "3837363534333231" + "9f00000000000000 5200000000000000 64636261 01 000000" +
		"7877767574737271 9f00000000000000 9897969594939291"
	if got := o.Append(nil); !bytes.Equal(got, unhex(t, want)) {
		t.Errorf("got %x", got)
	}
	o = Op{Base: Base{Type: TypeAtomic, Flags: FlagInline}, NRMA: 1, AtomDatatype: 0x01020304, AtomOp: 0x05060708}
	if got := o.Append(nil)[BaseLen+24:]; !bytes.Equal(got, unhex(t, "0403020108070605")) {
		t.Errorf("got %x", got)
	}
}

func TestOpRefuses(t *testing.T) {
	const base = "00000000 0000000000000000"
	const word = "0700000000000000"
	iov := func(n string) string { return word + n + word }
	for _, c := range []struct {
		name, hex string
		want      error
	}{
		{"version 1", "01000000" + base, ErrVersion},
		{"extension", "f2000000" + base, ErrVersion},
		{"reserved type 3", "02030000" + base, ErrType},
		{"reserved type 5", "02050000" + base, ErrType},
		{"no op", "020e0000" + base, ErrType},
		{"type 255", "02ff0000" + base, ErrType},
		{"an ack", "020b0000" + base + word + word, ErrType},
		{"tagged without tag", "02012000" + base + word, ErrFlags},
		{"untagged with tag", "02003000" + base + word, ErrFlags},
		{"write with tag", "02043000" + base + word + iov(word), ErrFlags},
		{"inline read", "02022000" + base + iov(word), ErrFlags},
		{"inline fetch", "02072000" + base + iov(word) + word, ErrFlags},
		{"inline compare", "02082000" + base + iov(word) + word, ErrFlags},
		{"5 segments", "02040000" + base + word + word + "00000000 05 000000" + strings.Repeat(iov(word), 5), ErrIOV},
		{"255 segments", "02020000" + base + word + word + "00000000 ff 000000" + strings.Repeat(iov(word), 5), ErrIOV},
		{"huge size", "02000000" + base + "0000000000000080" + word + word, ErrSize},
		{"no segment", "02000000" + base + word + "0000000000000000" + word, ErrSize},
		{"more segments than bytes", "02000000" + base + word + "0900000000000000" + word, ErrSize},
		{"one segment that is not all", "02000000" + base + word + "0100000000000000" + word + "00", ErrSize},
		{"more payload than size", "02000000" + base + word + word + word + word + word, ErrSize},
		{"read with payload", "02020000" + base + word + word + "00000000 01 000000" + iov(word) + "00", ErrSize},
		{"read of another length", "02020000" + base + word + word + "00000000 01 000000" + iov("0800000000000000"), ErrIOV},
		{"inline write of another length", "02042000" + base + iov(word) + "00", ErrIOV},
		{"segments that overflow", "02060000" + base + word + word + "00000000 02 000000" + iov("ffffffffffffffff") + iov("0800000000000000") + word, ErrIOV},
	} {
		var o Op
		if _, err := o.Parse(unhex(t, c.hex)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		_ = o.String()
	}
}

func TestDataAck(t *testing.T) {
	d := Data{Base: Base{Type: TypeDataRead, Flags: FlagTag, Peer: 1, Seq: 2}, TxID: 3, RxID: 4, SegNo: 5}
	b := unhex(t, "020d1000 01000000 0200000000000000 03000000 04000000 0500000000000000")
	if got := d.Append(nil); !bytes.Equal(got, b) {
		t.Errorf("got %x", got)
	}
	var d2 Data
	if p, err := d2.Parse(append(b, 'x')); err != nil || string(p) != "x" || d2 != d {
		t.Errorf("%+v, %q, %v", d2, p, err)
	}
	a := Ack{Base: Base{Type: TypeAck, Peer: 1, Seq: 2}, Window: 128}
	b = unhex(t, "020b0000 01000000 0200000000000000 00000000 80000000 0000000000000000")
	if got := a.Append(nil); !bytes.Equal(got, b) {
		t.Errorf("got %x", got)
	}
	var a2 Ack
	if err := a2.Parse(b); err != nil || a2 != a {
		t.Errorf("%+v, %v", a2, err)
	}
	for cut := range b {
		if err := a2.Parse(b[:cut]); !errors.Is(err, ErrShort) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	if _, err := d2.Parse(b); !errors.Is(err, ErrType) {
		t.Errorf("an ACK as DATA: %v", err)
	}
	PutPeerSeq(b, 0x01020304, 0x1112131415161718)
	if err := a2.Parse(b); err != nil || a2.Peer != 0x01020304 || a2.Seq != 0x1112131415161718 || a2.Type != TypeAck {
		t.Errorf("%+v, %v", a2, err)
	}
}

func TestRTSAddresses(t *testing.T) {
	const pad4 = "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
	const pad6 = "0000000000000000000000000000000000000000000000000000000000000000 00000000"
	for _, c := range []struct {
		addr  string
		scope uint32
		hex   string
	}{
		{"127.0.0.1:9228", 0, "0200 240c 7f000001" + "0000000000000000" + pad4},
		{"[fe80::1:2]:1", 3, "0a00 0001 00000000 fe800000000000000000000000010002 03000000" + pad6},
		{"[::ffff:1.2.3.4]:65535", 0, "0a00 ffff 00000000 00000000000000000000ffff01020304 00000000" + pad6},
	} {
		r := RTS{RTSAddr: 0x0102, Source: netip.MustParseAddrPort(c.addr), ScopeID: c.scope}
		want := unhex(t, "02090000 00000000 0000000000000000 0201000000000000"+c.hex)
		if len(want) != RTSLen {
			t.Fatalf("%s: the test's packet has %d bytes", c.addr, len(want))
		}
		if got := r.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s:\ngot  %x\nwant %x", c.addr, got, want)
		}
		var r2 RTS
		rest, err := r2.Parse(append(want, "ext"...))
		r2.Type = 0
		if err != nil || string(rest) != "ext" || r2 != r {
			t.Errorf("%+v, %q, %v", r2, rest, err)
		}
		for cut := range want {
			if _, err := r2.Parse(want[:cut]); !errors.Is(err, ErrShort) {
				t.Errorf("cut at %d: %v", cut, err)
			}
		}
	}
	b := (&RTS{Source: netip.MustParseAddrPort("1.2.3.4:5")}).Append(nil)
	b[24] = 1 // AF_UNIX
	if _, err := new(RTS).Parse(b); !errors.Is(err, ErrAddress) {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an RTS without a source was encoded")
		}
	}()
	new(RTS).Append(nil)
}

func TestCTSExt(t *testing.T) {
	e := Ext{Flags: 1, ConnID: 0x0102030405060708, Epoch: 2, Cookie: 3, MaxDatagram: 1472, Window: 1 << 20, Features: FeatureAtomics, Nonce: 7}
	want := unhex(t, "67667831 01 01 4000 0807060504030201 0200000000000000 0300000000000000 c0050000 00001000 0100000000000000 0700000000000000 dba038de 00000000")
	b := e.Append((&CTS{RTSAddr: 1, CTSAddr: 2}).Append(nil))
	if !bytes.Equal(b[CTSLen:], want) || !bytes.Equal(b[:CTSLen], unhex(t, "020a0000 00000000 0000000000000000 0100000000000000 0200000000000000")) {
		t.Fatalf("got %x", b)
	}
	var c CTS
	rest, err := c.Parse(b)
	if e2, ok := ParseExt(rest); err != nil || !ok || e2 != e || c.RTSAddr != 1 || c.CTSAddr != 2 {
		t.Errorf("%+v, %+v, %v", c, e2, err)
	}
	if !Intact(b, rest) || !Intact(b[:CTSLen], nil) {
		t.Error("an undamaged packet was refused as damaged")
	}
	for i := range len(b) * 8 {
		bad := bytes.Clone(b)
		bad[i/8] ^= 1 << (i % 8)
		if rest, err := c.Parse(bad); err == nil && Intact(bad, rest) {
			t.Errorf("a flip of bit %d was not noticed", i)
		}
	}
	for cut := range b {
		rest, err := c.Parse(b[:cut])
		if err == nil && cut > CTSLen && Intact(b[:cut], rest) {
			t.Errorf("cut at %d: accepted as undamaged", cut)
		}
		if _, ok := ParseExt(rest); ok || (err == nil) != (cut >= CTSLen) {
			t.Errorf("cut at %d: %v, %v", cut, ok, err)
		}
	}
	longer := append(bytes.Clone(want), 1, 2, 3)
	longer[6] = ExtLen + 3
	if _, ok := ParseExt(longer); !ok {
		t.Error("a longer block was refused")
	}
	for i, bad := range map[int]byte{0: 'G', 4: 2, 6: ExtLen + 1, 7: 1} {
		b := bytes.Clone(want)
		b[i] = bad
		if _, ok := ParseExt(b); ok {
			t.Errorf("accepted %x", b)
		}
	}
	short := bytes.Clone(want)
	short[6] = ExtLen - 1
	if _, ok := ParseExt(short); ok {
		t.Error("a block with a length shorter than its own was accepted")
	}
}

func TestXHeader(t *testing.T) {
	h := XHeader{Type: XAck, Flags: FlagXAckNow, ConnID: 0x0102030405060708, Offset: 0x11, Ack: 0x12, Window: 0x13141516, Time: 0x17,
		Echo: 0x18, AckDelay: 0x191a, NSACK: 2, SACK: [MaxSACK]Range{{0x20, 0x21}, {0x22, 0x23}}}
	want := unhex(t, "f2 09 0500 00000000 0807060504030201 1100000000000000 1200000000000000 16151413 17000000 18000000 02 02 1a19"+
		"2000000000000000 2100000000000000 2200000000000000 2300000000000000")
	if got := h.Append(nil); !bytes.Equal(got, want) || h.Len() != len(want) {
		t.Errorf("got %x", got)
	}
	for _, h := range append(someXHeaders(), &h) {
		b := append(h.Append(nil), "payload"...)
		var h2 XHeader
		payload, err := h2.Parse(b)
		if err != nil || string(payload) != "payload" || h2 != *h {
			t.Errorf("%v: got %+v, %q, %v", h, &h2, payload, err)
		}
		for cut := range h.Len() {
			if _, err := h2.Parse(b[:cut]); !errors.Is(err, ErrShort) {
				t.Errorf("%v cut at %d: %v", h, cut, err)
			}
		}
	}
}

func TestXHeaderRefuses(t *testing.T) {
	good := (&XHeader{Type: XAck, NSACK: MaxSACK, SACK: [MaxSACK]Range{{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2},
		{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}}).Append(nil)
	for _, c := range []struct {
		at   int
		b    byte
		want error
	}{{0, 2, ErrVersion}, {1, 10, ErrVersion}, {45, 0, ErrType}, {45, 5, ErrType}, {44, 17, ErrSACK}, {44, 255, ErrSACK}, {44, 0, ErrSACK}, {2, 0, ErrSACK}, {56, 1, ErrSACK}} {
		b := bytes.Clone(good)
		b[c.at] = c.b
		if _, err := new(XHeader).Parse(append(b, make([]byte, 4096)...)); !errors.Is(err, c.want) {
			t.Errorf("byte %d as %d: %v, want %v", c.at, c.b, err, c.want)
		}
	}
	if _, err := new(XHeader).Parse(good); err != nil {
		t.Error(err)
	}
}

func TestChecksum(t *testing.T) {
	// The check value of CRC-32C.
	if got := Checksum([]byte("123"), []byte("456"), nil, []byte("789")); got != 0xE3069283 {
		t.Errorf("got %#x", got)
	}
	hdr := someXHeaders()[0].Append(nil)
	PutChecksum(hdr, []byte("pay"), []byte("load"))
	b := append(hdr, "payload"...)
	if !Verify(b) {
		t.Error("an undamaged datagram was refused")
	}
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if Verify(b) {
			t.Errorf("bit %d flipped and accepted", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	for cut := range b {
		if Verify(b[:cut]) {
			t.Errorf("cut at %d and accepted", cut)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{someOps()[3].String(), "tagged peer 1 seq 0 flags cq_data|tag tag 0x4 cq_data 0x5 size 100 segs 2 tx 6"},
		{someOps()[6].String(), "atomic peer 0 seq 0 flags inline [0x1000+7 key 0x1] datatype 7 op 8"},
		{someXHeaders()[3].String(), "probe conn 0x0 off 0 ack 0 window 0 time 0 echo 0 [10-20)"},
		{Type(3).String() + Type(200).String() + TypeDataRead.String(), "type(3)type(200)data_read"},
		{XType(0).String() + XReset.String(), "xtype(0)reset"},
		{(FlagTag | 0x8000).String() + Flags(0).String(), "tag|0x80000"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestAllocs(t *testing.T) {
	buf := make([]byte, 0, 2048)
	op, x := someOps()[5], someXHeaders()[3]
	var o2 Op
	var x2 XHeader
	rts := RTS{Source: netip.MustParseAddrPort("[fe80::1]:5")}
	n := testing.AllocsPerRun(100, func() {
		b := append(op.Append(buf), "payload"...)
		if _, err := o2.Parse(b); err != nil {
			t.Fatal(err)
		}
		b = x.Append(buf)
		PutChecksum(b, b[:16], b[:8])
		if _, err := x2.Parse(b); err != nil {
			t.Fatal(err)
		}
		_ = Verify(b)
		b = Ext{}.Append(rts.Append(buf))
		rest, err := rts.Parse(b)
		if _, ok := ParseExt(rest); !ok || err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkXHeader(b *testing.B) {
	h := *someXHeaders()[0]
	buf := make([]byte, 0, 2048)
	pkt := append(h.Append(nil), make([]byte, 1440)...)
	PutChecksum(pkt)
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			h.Append(buf)
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			_, _ = h.Parse(pkt)
		}
	})
	b.Run("verify 64", func(b *testing.B) {
		for b.Loop() {
			Verify(pkt[:112])
		}
	})
	b.Run("verify 1440", func(b *testing.B) {
		for b.Loop() {
			Verify(pkt)
		}
	})
	b.Run("checksum 1440", func(b *testing.B) {
		for b.Loop() {
			Checksum(pkt[:48], pkt[48:])
		}
	})
}
