package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

func TestGoldenCM(t *testing.T) {
	for _, g := range cmGoldens {
		t.Run(g.from+" "+g.name, func(t *testing.T) {
			b := unhex(t, g.hex)
			cm, n, err := ParseCM(append(bytes.Clone(b), "first header"...))
			if n != len(b) || err != nil {
				t.Fatalf("ParseCM = %d, %v, want %d", n, err, len(b))
			}
			if cm.Type != g.want.Type || cm.OrderMark != g.want.OrderMark || cm.SwapNeeded ||
				!bytes.Equal(cm.Data, g.want.Data) {
				t.Errorf("got %+v, want %+v", cm, g.want)
			}
			if cap(cm.Data) != len(cm.Data) {
				t.Error("appending to Data would overwrite what follows")
			}
			if got := hex.EncodeToString(AppendCM(nil, cm.Type, cm.Data)); got != g.hex {
				t.Errorf("encoded %s\nwant    %s", got, g.hex)
			}
			for cut := range b {
				if _, n, err := ParseCM(b[:cut]); n != 0 || !errors.Is(err, ErrShort) {
					t.Errorf("cut at %d: %d, %v, want ErrShort", cut, n, err)
				}
			}
			if g.blob == nil {
				return
			}
			r, err := ParseRDMBlob(cm.Data)
			if err != nil || r != *g.blob {
				t.Errorf("blob %+v, %v, want %+v", r, err, *g.blob)
			}
			if got := r.Append(nil); !bytes.Equal(got, cm.Data) {
				t.Errorf("blob encoded %x, want %x", got, cm.Data)
			}
			for cut := range cm.Data {
				if _, err := ParseRDMBlob(cm.Data[:cut]); !errors.Is(err, ErrShort) {
					t.Errorf("blob cut at %d: %v", cut, err)
				}
			}
		})
	}
}

func TestCMFromBigEndian(t *testing.T) {
	b := unhex(t, "0300000500000000000000000000000000000000000000000000000000000001"+"68656c6c6f")
	cm, _, err := ParseCM(b)
	if err != nil || !cm.SwapNeeded || string(cm.Data) != "hello" {
		t.Errorf("%+v, %v", cm, err)
	}
	if got := cm.String(); got != "connreq big data 5" {
		t.Error(got)
	}
}

func TestParseCMRefuses(t *testing.T) {
	const tail = "00000000000000000000000000000000000000000100000000000000"
	for _, c := range []struct {
		name, hex string
		want      error
	}{
		{"another protocol", hex.EncodeToString([]byte("GET / HTTP/1.1\r\n")), ErrVersion},
		{"version 2", "02", ErrVersion},
		{"type 2", "0302", ErrOp},
		{"type 5", "03050000" + tail, ErrOp},
		{"257 bytes of data", "03000101" + tail, ErrSize},
		{"64 KiB of data", "0301ffff" + tail, ErrSize},
		{"no order mark", "0300000000000000000000000000000000000000000000000000000000000000", ErrOrder},
		{"odd order mark", "0301000000000000000000000000000000000000000000000000010000000000", ErrOrder},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, n, err := ParseCM(unhex(t, c.hex)); n != 0 || !errors.Is(err, c.want) {
				t.Errorf("%d, %v, want %v", n, err, c.want)
			}
		})
	}
}

func TestCMData(t *testing.T) {
	most := bytes.Repeat([]byte{7}, MaxCMData)
	cm, n, err := ParseCM(AppendCM(nil, CMConnResp, most))
	if err != nil || n != CMHeaderLen+MaxCMData || !bytes.Equal(cm.Data, most) {
		t.Errorf("%d, %v", n, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("one byte more than MaxCMData was encoded")
		}
	}()
	AppendCM(nil, CMConnReq, append(most, 7))
}

func TestCMStrings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{CM{Type: CMConnResp, OrderMark: 1, Data: make([]byte, 8)}.String(), "connresp little data 8"},
		{CM{Type: CMReject}.String(), "reject - data 0"},
		{RDMBlob{Version: 0x81, Port: 17226, PID: 4711}.String(), "rdm v1 checked port 17226 pid 4711"},
		{RDMBlob{Features: FeatureFirewall, Port: 1, PID: 2}.String(), "rdm v0 features 0x1 port 1 pid 2"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
