package wire

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		v   Verdict
		hex string
	}{
		{Verdict{Kind: ExtAccepted, Number: 0x01020304}, "0d00000004030201"},
		{Verdict{Kind: ExtRefused, Why: RefusedKey, Segment: 3, Number: 7}, "0e01030007000000"},
		{Verdict{Kind: ExtReadRefused, Why: RefusedRange, Segment: 1}, "0f03010000000000"},
	} {
		b := c.v.Append(nil)
		if got := hex.EncodeToString(b); got != c.hex {
			t.Errorf("%+v: %s, want %s", c.v, got, c.hex)
		}
		if len(b) != VerdictLen {
			t.Errorf("%d bytes", len(b))
		}
		if got, err := ParseVerdict(b); err != nil || got != c.v {
			t.Errorf("%s: %+v, %v", c.hex, got, err)
		}
		for n := range b {
			if _, err := ParseVerdict(b[:n]); err != ErrShort {
				t.Errorf("%d bytes of %s: %v", n, c.hex, err)
			}
		}
	}
	for text, want := range map[string]error{
		"0e00000000000000": ErrOp,  // refused without a reason
		"0f00000000000000": ErrOp,  //
		"0e01040000000000": ErrIOV, // a fifth segment
		"0c00000000000000": ErrOp,
		"1000000000000000": ErrOp,
	} {
		b, _ := hex.DecodeString(text)
		if v, err := ParseVerdict(b); err != want {
			t.Errorf("%s: %+v, %v; want %v", text, v, err, want)
		}
	}
	for r, want := range map[Refusal]string{0: "accepted", RefusedKey: "key", RefusedRights: "rights",
		RefusedRange: "range", RefusedPersist: "persist", RefusedOp: "op", 200: "refusal(200)"} {
		if r.String() != want {
			t.Errorf("%d: %q", uint8(r), r)
		}
	}
	for k := range ExtKind(64) {
		if k.IsVerdict() != (k == 13 || k == 14 || k == 15) {
			t.Errorf("kind %d", k)
		}
	}
}

// FuzzVerdict: accepted input is encoded to the same bytes, except unused ones.
func FuzzVerdict(f *testing.F) {
	for _, v := range []Verdict{{Kind: ExtAccepted, Number: 9},
		{Kind: ExtRefused, Why: RefusedRights, Segment: 2, Number: 1}, {Kind: ExtReadRefused, Why: 99}} {
		f.Add(v.Append(nil))
	}
	f.Add([]byte{13})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseVerdict(b)
		if err != nil {
			if v != (Verdict{}) {
				t.Fatalf("%+v with error %v", v, err)
			}
			return
		}
		if !v.Kind.IsVerdict() || v.Segment >= IOVLimit || (v.Kind == ExtAccepted) != (v.Why == 0) {
			t.Fatalf("%x gave %+v", b, v)
		}
		got, want := v.Append(nil), bytes.Clone(b[:VerdictLen])
		want[3] = 0
		if v.Kind == ExtAccepted {
			want[1], want[2] = 0, 0
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %x from %x", got, b)
		}
	})
}
