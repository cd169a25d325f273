package wire

import "testing"

func TestCoalescedHeader(t *testing.T) {
	h := Header{Op: OpTagCoalesced, OpData: 0x2c, IovCnt: 1, Tag: 0x77}
	h.SetPayload(300 * 64)
	b := h.Append(nil, Little)
	var got Header
	n, err := got.Decode(b, Little)
	if err != nil || n != BaseLen+wordLen || got.Tag != 0x77 || got.PayloadLen() != 300*64 {
		t.Fatalf("%+v, %d, %v", got, n, err)
	}
	if s := got.String(); s != "tag_coalesced id 0 size 19224 (24+19200) tag 0x77 messages 300" {
		t.Error(s)
	}
	for cut := range b {
		if _, err := got.Decode(b[:cut], Little); err != ErrShort {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestHelloAndRef(t *testing.T) {
	h := Hello{Host: [16]byte{1, 2}, Process: [16]byte{3}, PIDNS: 4, PID: 5}
	b := h.Append(nil)
	if got, err := ParseHello(b); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	for cut := range b {
		if _, err := ParseHello(b[:cut]); err == nil {
			t.Errorf("hello cut at %d", cut)
		}
	}
}

func TestRef(t *testing.T) {
	for _, r := range []Ref{
		{Index: 7, Tagged: true, HasData: true, N: 2, Tag: 8, CQData: 9, Size: 30},
		{Index: 7, Coll: true, Match: true, N: 2, Tag: 8, CQData: 9, Size: 30, SealAt: 1 << 40, Number: 3},
	} {
		r.IOV[0], r.IOV[1] = RMAIov{Addr: 1, Len: 10}, RMAIov{Addr: 2, Len: 20}
		b := r.Append(nil)
		var got Ref
		if err := got.Parse(b); err != nil || got != r {
			t.Errorf("%+v, %v", got, err)
		}
		for cut := range b {
			if err := got.Parse(b[:cut]); err == nil {
				t.Errorf("reference cut at %d", cut)
			}
		}
		for name, change := range map[string]func(r *Ref){
			"sum":       func(r *Ref) { r.Size++ },
			"too long":  func(r *Ref) { r.IOV[0].Len, r.Size = MaxSize+1, MaxSize+21 },
			"number 0":  func(r *Ref) { r.SealAt, r.Number = 1, 0 },
			"no ranges": func(r *Ref) { r.N = 0 },
		} {
			bad := r
			change(&bad)
			if err := got.Parse(bad.Append(nil)); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		b[3] = IOVLimit + 1
		if err := got.Parse(b); err == nil {
			t.Error("five ranges accepted")
		}
		r.N, r.Size = IOVLimit, 30
		if n := len(r.Append(nil)); n > MaxExt {
			t.Errorf("%d bytes", n)
		}
	}
	if err := new(Ref).Parse((&Ref{SealAt: 1, Number: 1}).Append(nil)[:40]); err == nil {
		t.Error("a seal without a number was accepted")
	}
	noAddr := (&Ref{SealAt: 1, Number: 1}).Append(nil)
	clear(noAddr[32:40])
	if err := new(Ref).Parse(noAddr); err != ErrSeal {
		t.Errorf("a seal at address 0: %v", err)
	}
}

func TestSeal(t *testing.T) {
	challenge := [SealLen]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	if got, want := Seal(&challenge, 0x0102), [SealLen]byte{1, 2, 3, 4, 5, 6, 7, 8, 2, 1}; got != want {
		t.Errorf("%x, want %x", got, want)
	}
}
