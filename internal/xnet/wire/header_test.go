package wire

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldenHeaders(t *testing.T) {
	for _, g := range append(goldens[:len(goldens):len(goldens)], extensions...) {
		t.Run(g.order.String()+" "+g.name, func(t *testing.T) {
			b := unhex(t, g.hex)
			if n, err := PeekHeaderLen(b[:BaseLen]); n != len(b) || err != nil {
				t.Fatalf("PeekHeaderLen = %d, %v, want %d", n, err, len(b))
			}
			var h Header
			n, err := h.Decode(append(b, "payload"...), g.order)
			if n != len(b) || err != nil {
				t.Fatalf("Decode = %d, %v, want %d", n, err, len(b))
			}
			if h != g.want {
				t.Errorf("decoded %+v\nwant    %+v", h, g.want)
			}
			if h.Len() != n || h.PayloadLen() != g.want.Size-uint64(n) {
				t.Errorf("Len %d PayloadLen %d", h.Len(), h.PayloadLen())
			}
			h.HdrLen = 0
			if got := hex.EncodeToString(h.Append(nil, g.order)); got != g.hex {
				t.Errorf("encoded %s\nwant    %s", got, g.hex)
			}
			for cut := range b {
				if _, err := h.Decode(b[:cut], g.order); !errors.Is(err, ErrShort) {
					t.Errorf("cut at %d: %v, want ErrShort", cut, err)
				}
			}
		})
	}
}

// TestNativeBigRendezvousIsRefused: native 2.6 makes the data header of a rendezvous from a header that is still
// swapped in memory, and so sends wrong values.
func TestNativeBigRendezvousIsRefused(t *testing.T) {
	var h Header
	if _, err := h.Decode(unhex(t, "03070000010010009001000000000010"), Big); !errors.Is(err, ErrSize) {
		t.Errorf("got %v, want ErrSize", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	const iov = "40000000000000000700000000000000eeffc00000000000"
	for _, c := range []struct {
		name, hex string
		want      error
		peek      error // of PeekHeaderLen
	}{
		{"version 2", "02000000000010001d00000000000000", ErrVersion, ErrVersion},
		{"operation 8", "03080000000010001d00000000000000", ErrOp, ErrOp},
		{"operation 36", "03240000000010001d00000000000000", ErrOp, ErrOp},
		{"atomic: operands do not fit the memory",
			"0320000207012800300000000000000040000000000000001000000000000000eeffc00000000000", ErrSize, nil},
		{"atomic compare: no compare operands",
			"03220012070128003000000000000000" + "40000000000000000800000000000000eeffc00000000000", ErrSize, nil},
		{"atomic fetch: a read with operands",
			"0321000a070128003000000000000000" + "40000000000000000800000000000000eeffc00000000000", ErrSize, nil},
		{"atomic: more than 64 KiB", "03200002070128002900010000000000" +
			"40000000000000000100010000000000eeffc00000000000", ErrSize, nil},
		{"atomic: five segments", "0320000207058800880000000000000000", ErrIOV, ErrIOV},
		{"operation 255", "03ff0000000010001d00000000000000", ErrOp, ErrOp},
		{"msg: header length 0", "03000000000000001d00000000000000", ErrHeaderLen, ErrHeaderLen},
		{"msg: header length 15", "0300000000000f001d00000000000000", ErrHeaderLen, ErrHeaderLen},
		{"msg: header length 255", "030000000000ff001d00000000000000", ErrHeaderLen, ErrHeaderLen},
		{"msg: header too long for its flags", "03000000000018001d000000000000000000000000000000", ErrHeaderLen, nil},
		{"msg: header too short for its flags", "03000100000010001d00000000000000", ErrHeaderLen, nil},
		{"msg: size 15", "03000000000010000f00000000000000", ErrSize, nil},
		{"msg: size 0", "03000000000010000000000000000000", ErrSize, nil},
		{"msg: size of all ones", "0300000000001000ffffffffffffffff", ErrSize, nil},
		{"msg: size too large", "03000000000010001000000000000040", ErrSize, nil},
		{"ack with payload", "03000000020010001100000000000000", ErrSize, nil},
		{"ack with CQ data", "030001000200180018000000000000000000000000000000", ErrSize, nil},
		{"tag: header of 16", "03010000000010001d00000000000000", ErrHeaderLen, ErrHeaderLen},
		{"tag: size below header", "030100000000180017000000000000004200000000000010", ErrSize, nil},
		{"read_req: five segments", "030200000005880088000000000000000000000000000000", ErrIOV, ErrIOV},
		{"read_req: 255 segments", "0302000000ff280028000000000000000000000000000000", ErrIOV, ErrIOV},
		{"read_req: header for fewer segments", "03020000000228002800000000000000" + iov, ErrHeaderLen, ErrHeaderLen},
		{"read_req: with CQ data", "03020100000130003000000000000000" + "0000000000000000" + iov, ErrHeaderLen,
			ErrHeaderLen},
		{"read_req: with payload", "03020000000128002f00000000000000" + iov, ErrSize, nil},
		{"read_req: segment too long", "03020000000128002800000000000000" +
			"0000000000000000ffffffffffffffff0000000000000000", ErrIOV, nil},
		{"read_rsp: long header", "030300000000180018000000000000000000000000000000", ErrHeaderLen, ErrHeaderLen},
		{"write: five segments", "03040000000588008800000000000000", ErrIOV, ErrIOV},
		{"write: less payload than segments", "03040000000128002e00000000000000" + iov, ErrIOV, nil},
		{"write: more payload than segments", "03040000000128003000000000000000" + iov, ErrIOV, nil},
		{"write: no segments but payload", "03040000000010001100000000000000", ErrIOV, nil},
		{"write: CQ data without its flag", "03040000000130003700000000000000" + "0000000000000000" + iov,
			ErrHeaderLen, nil},
		{"write: lengths overflow", "03040000000240004700000000000000" +
			"0000000000000000ffffffffffffffff0000000000000000" +
			"000000000000000008000000000000000000000000000000", ErrIOV, nil},
		{"write: sum of lengths too large",
			"03040000000240004700000000000000" + "000000000000000000000000000000400000000000000000" +
				"000000000000000001000000000000000000000000000000", ErrIOV, nil},
		{"tag_rts: no size", "030500000100180018000000000000004500000000000000", ErrHeaderLen, ErrHeaderLen},
		{"tag_rts: with payload", "03050000010020002100000000000000" + "45000000000000009001000000000000",
			ErrSize, nil},
		{"tag_rts: message too large", "03050000010020002000000000000000" + "45000000000000000100000000000040",
			ErrSize, nil},
		{"cts: with payload", "03060000010010001100000000000000", ErrSize, nil},
		{"cts: long header", "030600000100180018000000000000000000000000000000", ErrHeaderLen, ErrHeaderLen},
		{"data: long header", "030700000100180018000000000000000000000000000000", ErrHeaderLen, ErrHeaderLen},
		{"data: size below header", "03070000010010000800000000000000", ErrSize, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := unhex(t, c.hex)
			var h Header
			if n, err := h.Decode(b, Little); n != 0 || !errors.Is(err, c.want) {
				t.Errorf("Decode = %d, %v, want %v", n, err, c.want)
			}
			if n, err := PeekHeaderLen(b); !errors.Is(err, c.peek) || (err == nil) != (n != 0) {
				t.Errorf("PeekHeaderLen = %d, %v, want %v", n, err, c.peek)
			}
		})
	}
}

func TestSmallMessagesClearWhatTheyDoNotHave(t *testing.T) {
	h := Header{CQData: 5, Tag: 6}
	if _, err := h.Decode(unhex(t, "03000000000010001d00000000000000"), Little); err != nil || h.CQData != 0 ||
		h.Tag != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	h = Header{CQData: 5, Tag: 6}
	if _, err := h.Decode(unhex(t, "03010000000018001e000000000000004200000000000010"), Little); err != nil ||
		h.CQData != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestHeaderRoundTrip checks that any header that the engine can write is read back unchanged.
func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Order(rapid.IntRange(0, 1).Draw(t, "order"))
		h := Header{
			Op:     Op(rapid.IntRange(0, 7).Draw(t, "op")),
			Flags:  Flags(rapid.SampledFrom([]Flags{0, 1, 4, 5, 8, 9, 0x300}).Draw(t, "flags")),
			OpData: rapid.Uint8Max(1).Draw(t, "opdata"), ID: rapid.Uint8().Draw(t, "id"),
		}
		payload := rapid.Uint64Max(min(1<<40, MaxSize-MaxHeader)).Draw(t, "payload")
		switch h.Op {
		case OpMsg, OpTag, OpTagRTS:
			if h.Flags&FlagCQData != 0 {
				h.CQData = rapid.Uint64().Draw(t, "cq data")
			}
			if h.Op != OpMsg {
				h.Tag = rapid.Uint64().Draw(t, "tag")
			}
			if h.Op == OpTagRTS {
				h.MsgSize, payload = payload, 0
			}
		case OpCTS:
			payload = 0
		case OpReadReq, OpWrite:
			h.IovCnt = uint8(rapid.IntRange(0, IOVLimit).Draw(t, "segments"))
			payload = 0
			for i := range h.IOV[:h.IovCnt] {
				h.IOV[i] = RMAIov{rapid.Uint64().Draw(t, "addr"),
					rapid.Uint64Max(min(1<<40, MaxSize/IOVLimit-MaxHeader)).Draw(t, "len"),
					rapid.Uint64().Draw(t, "key")}
				payload += h.IOV[i].Len
			}
			if h.Op == OpReadReq {
				payload = 0
			} else if h.Flags&FlagCQData != 0 {
				h.CQData = rapid.Uint64().Draw(t, "cq data")
			}
		}
		h.SetPayload(payload)
		b := h.Append(nil, o)
		if n, err := PeekHeaderLen(b); n != len(b) || err != nil || n != h.Len() {
			t.Fatalf("PeekHeaderLen = %d, %v, want %d", n, err, len(b))
		}
		var got Header
		if n, err := got.Decode(b, o); n != len(b) || err != nil {
			t.Fatalf("Decode = %d, %v of %s", n, err, &h)
		}
		if got != h {
			t.Fatalf("got  %+v\nwant %+v", got, h)
		}
	})
}

func TestHeaderString(t *testing.T) {
	for _, c := range []struct{ hex, want string }{
		{"03000000020010071000000000000000", "ack id 7 size 16 (16+0)"},
		{"03010100000020002800000000000000d7d6d5d4d3d2d1d04300000000000000",
			"tag id 0 flags cq_data size 40 (32+8) cq_data 0xd0d1d2d3d4d5d6d7 tag 0x43"},
		{"03050000010020002000000000000000" + "45000000000000009001000000000000",
			"tag_rts id 0 size 32 (32+0) tag 0x45 ctx 1 msg 400"},
		{"03070500010010006e01000000000000", "data id 0 flags cq_data|delivery size 366 (16+350) ctx 1"},
		{"03040000000128002f00000000000000" + "40000000000000000700000000000000eeffc00000000000",
			"write id 0 size 47 (40+7) [0x40+7 key 0xc0ffee]"},
	} {
		var h Header
		if _, err := h.Decode(unhex(t, c.hex), Little); err != nil {
			t.Fatal(err)
		}
		if got := h.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := (Flags(0x4000) | FlagCommit | FlagTagged).String(); got != "commit|tagged|0x4000" {
		t.Error(got)
	}
	if got := Flags(0).String() + Op(9).String() + CMType(5).String(); got != "0op(9)cm(5)" {
		t.Error(got)
	}
}

func TestNoAllocation(t *testing.T) {
	buf := make([]byte, 0, MaxCMData+CMHeaderLen)
	for _, g := range goldens {
		b := unhex(t, g.hex)
		var h Header
		if n := testing.AllocsPerRun(100, func() {
			if _, err := PeekHeaderLen(b); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Decode(b, g.order); err != nil {
				t.Fatal(err)
			}
			buf = h.Append(buf[:0], g.order)
		}); n != 0 {
			t.Errorf("%s: %v allocations", g.name, n)
		}
	}
	for _, g := range cmGoldens {
		b := unhex(t, g.hex)
		if n := testing.AllocsPerRun(100, func() {
			cm, _, err := ParseCM(b)
			if err != nil {
				t.Fatal(err)
			}
			buf = AppendCM(buf[:0], cm.Type, cm.Data)
		}); n != 0 {
			t.Errorf("%s: %v allocations", g.name, n)
		}
	}
	// A header is part of every pooled operation, so its size matters.
	if n := reflect.TypeFor[Header]().Size(); n > 136 {
		t.Errorf("Header has grown to %d bytes", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, g := range goldens[:25] {
		b.Run(g.want.Op.String()+"/"+g.name, func(b *testing.B) {
			p := unhex(b, g.hex)
			var h Header
			for b.Loop() {
				if _, err := h.Decode(p, Little); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, MaxHeader)
	for _, g := range goldens[:25] {
		b.Run(g.want.Op.String()+"/"+g.name, func(b *testing.B) {
			h := g.want
			for b.Loop() {
				buf = h.Append(buf[:0], Little)
			}
		})
	}
}
