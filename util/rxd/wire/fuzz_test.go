package wire

import (
	"bytes"
	"net/netip"
	"testing"
)

// FuzzOp and the other fuzz tests encode accepted input again. The bytes must be the same, except reserved ones.

func FuzzOp(f *testing.F) {
	for _, o := range someOps() {
		f.Add(append(o.Append(nil), "payload"...))
	}
	for _, g := range goldens(f) {
		f.Add(g.pkt)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o Op
		payload, err := o.Parse(b)
		_ = o.String()
		if err != nil {
			if payload != nil && len(payload) > len(b) {
				t.Fatal("Parse returns an error, and a payload longer than its input")
			}
			return
		}
		want := bytes.Clone(b[:len(b)-len(payload)])
		clearReserved(&o, want)
		if got := o.Append(nil); !bytes.Equal(got, want) || len(got) != o.Len() || len(got) > MaxOpHeader {
			t.Fatalf("got %x from %x", got, want)
		}
		for cut := range want {
			if _, err := new(Op).Parse(b[:cut]); err == nil {
				t.Fatalf("accepted after a cut at %d of %d", cut, len(want))
			}
		}
	})
}

// clearReserved clears the reserved bytes of SAR in the encoded headers of o.
func clearReserved(o *Op, b []byte) {
	if !o.HasSAR() {
		return
	}
	at := BaseLen + 21
	if o.HasTag() {
		at += tagLen
	}
	if o.HasCQData() {
		at += cqDataLen
	}
	copy(b[at:], []byte{0, 0, 0})
}

func FuzzHandshake(f *testing.F) {
	e := Ext{ConnID: 1, Epoch: 2, Cookie: 3, MaxDatagram: 4, Window: 5, Features: FeatureAuth | 4, Nonce: 7, Proof: [ProofLen]byte{8, 9}}
	for _, a := range []string{"127.0.0.1:5000", "[fe80::1]:1", "[::ffff:1.2.3.4]:2"} {
		r := RTS{RTSAddr: 9, Source: netip.MustParseAddrPort(a), ScopeID: 2}
		f.Add(e.Append(r.Append(nil)))
	}
	f.Add(e.Append((&CTS{RTSAddr: 1, CTSAddr: 2}).Append(nil)))
	e.Features, e.Proof = 5, [ProofLen]byte{}
	f.Add(e.Append((&CTS{RTSAddr: 1, CTSAddr: 2}).Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again, rest []byte
		var r RTS
		var c CTS
		if trailing, err := r.Parse(b); err == nil {
			again, rest = r.Append(nil), trailing
			_ = r.String()
			var r2 RTS
			if _, err := r2.Parse(again); err != nil || r2 != r {
				t.Fatalf("%+v became %+v, %v", r, r2, err)
			}
			again = nil // flow info and padding of the address are not kept
		} else if trailing, err := c.Parse(b); err == nil {
			again, rest = c.Append(nil), trailing
			_ = c.String()
			if !bytes.Equal(again, b[:CTSLen]) {
				t.Fatalf("got %x from %x", again, b)
			}
		} else {
			return
		}
		e, ok := ParseExt(rest)
		if !ok {
			return
		}
		_ = e.String()
		size := ExtLen
		want := bytes.Clone(rest[:ExtLen-8])
		if e.Features&FeatureAuth != 0 {
			size = ExtAuthLen
			want = append(want, e.Proof[:]...)
			if long := int(rest[6])|int(rest[7])<<8 >= size; long &&
				!bytes.Equal(e.Proof[:], rest[ExtLen-8:ExtAuthLen-8]) || !long && e.Proof != [ProofLen]byte{} {
				t.Fatalf("proof %x from %x", e.Proof, rest)
			}
		} else if e.Proof != [ProofLen]byte{} {
			t.Fatalf("proof %x without key", e.Proof)
		}
		want[6], want[7] = byte(size), 0
		pkt := e.Append(bytes.Clone(b[:len(b)-len(rest)]))
		if got := pkt[len(pkt)-size:]; !bytes.Equal(got[:size-8], want) || !Intact(pkt, got) {
			t.Fatalf("got %x from %x", got, want)
		}
	})
}

func FuzzData(f *testing.F) {
	f.Add((&Data{Base: Base{Type: TypeDataRead, Seq: 1}, TxID: 2, RxID: 3, SegNo: 4}).Append(nil))
	f.Add((&Ack{Base: Base{Type: TypeAck, Seq: 1}, Window: 128}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Data
		var a Ack
		if payload, err := d.Parse(b); err == nil {
			if got := append(d.Append(nil), payload...); !bytes.Equal(got, b) {
				t.Fatalf("got %x from %x", got, b)
			}
		}
		if err := a.Parse(b); err == nil {
			var a2 Ack
			if err := a2.Parse(a.Append(nil)); err != nil || a2 != a {
				t.Fatalf("%+v became %+v, %v", a, a2, err)
			}
		}
		_, _ = d.String(), a.String()
	})
}

func FuzzXHeader(f *testing.F) {
	for _, h := range someXHeaders() {
		b := append(h.Append(nil), "payload"...)
		PutChecksum(b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h XHeader
		payload, err := h.Parse(b)
		_, _ = h.String(), Verify(b)
		if err != nil {
			return
		}
		want := bytes.Clone(b[:len(b)-len(payload)])
		clear(want[4:8])
		if got := h.Append(nil); !bytes.Equal(got, want) || len(got) != h.Len() || len(got) > MaxXHeader {
			t.Fatalf("got %x from %x", got, want)
		}
		full := append(bytes.Clone(want), payload...)
		PutChecksum(full)
		if !Verify(full) || Checksum(want, payload) != le.Uint32(full[4:]) {
			t.Fatal("checksums differ")
		}
		for cut := range want {
			if _, err := new(XHeader).Parse(b[:cut]); err == nil {
				t.Fatalf("accepted after a cut at %d of %d", cut, len(want))
			}
		}
	})
}
