package wire

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// FuzzHeader: accepted input is encoded to the same bytes.
func FuzzHeader(f *testing.F) {
	for _, g := range append(goldens[:len(goldens):len(goldens)], extensions...) {
		f.Add(unhex(f, g.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		peek, peekErr := PeekHeaderLen(b)
		for _, o := range []Order{Little, Big} {
			var h Header
			n, err := h.Decode(b, o)
			_ = h.String()
			if err != nil {
				if n != 0 {
					t.Fatalf("n = %d with error %v", n, err)
				}
				continue
			}
			if peekErr != nil || peek != n {
				t.Fatalf("Decode %d, PeekHeaderLen %d, %v", n, peek, peekErr)
			}
			if h.Size < uint64(n) || h.Size > MaxSize || h.PayloadLen() != h.Size-uint64(n) {
				t.Fatalf("size %d of %d", h.Size, n)
			}
			if got := h.Append(nil, o); !bytes.Equal(got, b[:n]) {
				t.Fatalf("%s order: got %x from %x", o, got, b[:n])
			}
			for cut := range n {
				if _, err := new(Header).Decode(b[:cut], o); err == nil {
					t.Fatalf("accepted after a cut at %d of %d", cut, n)
				}
			}
		}
	})
}

// FuzzCM: accepted input from a little-endian peer is encoded to the same bytes, except unused fields.
func FuzzCM(f *testing.F) {
	for _, g := range cmGoldens {
		f.Add(unhex(f, g.hex))
	}
	f.Add(AppendCMAuth(nil, CMAuth, FeatureAuth, 7, make([]byte, 16)))
	f.Fuzz(func(t *testing.T, b []byte) {
		cm, n, err := ParseCM(b)
		_ = cm.String()
		if err != nil {
			if n != 0 {
				t.Fatalf("n = %d with error %v", n, err)
			}
			return
		}
		if n != CMHeaderLen+len(cm.Data) || len(cm.Data) > MaxCMData {
			t.Fatalf("n = %d, %d bytes of data", n, len(cm.Data))
		}
		got := AppendCM(nil, cm.Type, cm.Data)
		if cm.Type == CMReject || cm.SwapNeeded {
			copy(got[24:CMHeaderLen], b[24:])
		}
		copy(got[4:24], b[4:])
		if !bytes.Equal(got, b[:n]) {
			t.Fatalf("got %x from %x", got, b[:n])
		}
		if _, _, err := ParseCM(b[:n-1]); err == nil {
			t.Fatal("accepted without its last byte")
		}
	})
}

func FuzzRDMBlob(f *testing.F) {
	for _, s := range []string{"", "0100434a0000411d", "8100434a000040f1", "0000435f00004fe6", "ffffffffffffffffff"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRDMBlob(b)
		_ = r.String()
		if (err == nil) != (len(b) >= RDMBlobLen) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err == nil && !bytes.Equal(r.Append(nil), b[:RDMBlobLen]) {
			t.Fatalf("got %x from %x", r.Append(nil), b)
		}
	})
}

// FuzzRef: accepted input is encoded to the same bytes, except flags and bytes without a meaning.
func FuzzRef(f *testing.F) {
	r := Ref{Index: 7, Tagged: true, N: 1, Tag: 8, Size: 30, IOV: [IOVLimit]RMAIov{{Addr: 1, Len: 30}}}
	f.Add(r.Append(nil))
	r.SealAt, r.Number, r.Match = 1<<40, 5, true
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again Ref
		if r.Parse(b) != nil {
			return
		}
		total := uint64(0)
		for _, v := range r.IOV[:r.N] {
			total += v.Len
		}
		if total != r.Size || r.Size > MaxSize || (r.SealAt == 0) != (r.Number == 0) {
			t.Fatalf("%+v", r)
		}
		enc := r.Append(nil)
		if len(enc) > MaxExt || len(enc) > len(b) {
			t.Fatalf("%d bytes of %d", len(enc), len(b))
		}
		if err := again.Parse(enc); err != nil || again != r {
			t.Fatalf("%+v, %v, want %+v", again, err, r)
		}
	})
}
