package wire

import "testing"

func TestRunHeader(t *testing.T) {
	h := Header{Op: OpTagRun, OpData: 0x2c, IovCnt: 1, Tag: 0x77}
	h.SetPayload(300 * 64)
	b := h.Append(nil, Little)
	var got Header
	n, err := got.Decode(b, Little)
	if err != nil || n != BaseLen+wordLen || got.Tag != 0x77 || got.PayloadLen() != 300*64 {
		t.Fatalf("%+v, %d, %v", got, n, err)
	}
	if s := got.String(); s != "tag_run id 0 size 19224 (24+19200) tag 0x77 messages 300" {
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
	r := Ref{Index: 7, Tagged: true, HasData: true, N: 2, Tag: 8, CQData: 9, Size: 30}
	r.IOV[0], r.IOV[1] = RMAIov{Addr: 1, Len: 10}, RMAIov{Addr: 2, Len: 20}
	b = r.Append(nil)
	if len(b) > MaxExt {
		t.Errorf("%d bytes", len(b))
	}
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
		"sum":      func(r *Ref) { r.Size++ },
		"too long": func(r *Ref) { r.IOV[0].Len, r.Size = MaxSize+1, MaxSize+21 },
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
}
