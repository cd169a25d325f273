package dump

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofabric/internal/xnet/wire"
)

var update = flag.Bool("update", false, "write the expected output again")

const captures = "../../../../internal/xnet/wire/testdata/"

// lines returns the output for a capture, one line per record.
func lines(t testing.TB, b []byte, o Options) ([]string, Summary) {
	t.Helper()
	var out bytes.Buffer
	sum, err := Run(bytes.NewReader(b), o, func(r Record) { _ = r.WriteLine(&out) })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), sum
}

// TestGolden dumps captures of native peers in all forms of output.
func TestGolden(t *testing.T) {
	for name, file := range map[string]string{"msg": captures + "msg.pcap", "rdm": captures + "rdm.pcap", "rxd": rxdCaptures + "native.pcap", "rxd117": rxdCaptures + "debian.pcap"} {
		for form, write := range map[string]func(*Record, *bytes.Buffer) error{
			"line":    func(r *Record, b *bytes.Buffer) error { return r.WriteLine(b) },
			"verbose": func(r *Record, b *bytes.Buffer) error { return r.WriteVerbose(b) },
			"json":    func(r *Record, b *bytes.Buffer) error { return r.WriteJSON(b) },
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				f, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				var got bytes.Buffer
				sum, err := Run(f, Options{Payload: 16}, func(r Record) {
					if err := write(&r, &got); err != nil {
						t.Fatal(err)
					}
				})
				if err != nil || sum.Problems+sum.Unknown+sum.Datagrams+sum.Undecodable+sum.Ignored != 0 {
					t.Fatalf("%+v, %v", sum, err)
				}
				golden := filepath.Join("testdata", name+"."+form)
				if *update {
					if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
				}
			})
		}
	}
}

func TestPortFilter(t *testing.T) {
	b, err := os.ReadFile(captures + "msg.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if got, sum := lines(t, b, Options{Ports: []uint16{46042}}); len(got) != 2 || sum.Connections != 1 {
		t.Errorf("%q, %+v", got, sum)
	}
	if _, sum := lines(t, b, Options{Ports: []uint16{17126}}); sum.Connections != 3 {
		t.Errorf("%+v", sum)
	}
	if _, sum := lines(t, b, Options{Ports: []uint16{1}}); sum.Frames != 0 || sum.Packets == 0 {
		t.Errorf("%+v", sum)
	}
}

// tape writes a capture of one connection by hand: raw IPv4 (LINKTYPE_RAW).
type tape struct {
	b   bytes.Buffer
	seq [2]uint32
}

func newTape() *tape {
	p := &tape{seq: [2]uint32{1000, 4294967290}}
	p.b.Write(binary.LittleEndian.AppendUint32([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00"), 101))
	p.packet(0, 2, nil, 0)
	p.packet(1, 2, nil, 0)
	return p
}

// packet records a segment. Its last cut bytes are not captured.
func (p *tape) packet(from int, flags byte, data []byte, cut int) {
	tcp := make([]byte, 20, 20+len(data))
	ports := [2]uint16{5000, 6000}
	binary.BigEndian.PutUint16(tcp, ports[from])
	binary.BigEndian.PutUint16(tcp[2:], ports[1-from])
	binary.BigEndian.PutUint32(tcp[4:], p.seq[from])
	tcp[12], tcp[13] = 5<<4, flags|16
	tcp = append(tcp, data...)
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, byte(1 + from), 127, 0, 0, byte(2 - from)}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(tcp)))
	frame := append(ip, tcp...)
	var head []byte
	for _, v := range []int{1700000000, 42, len(frame) - cut, len(frame)} {
		head = binary.LittleEndian.AppendUint32(head, uint32(v))
	}
	p.b.Write(head)
	p.b.Write(frame[:len(frame)-cut])
	p.seq[from] += uint32(len(data))
	if flags&3 != 0 {
		p.seq[from]++
	}
}

func message(n int, o wire.Order, tag uint64) []byte {
	h := wire.Header{Op: wire.OpTag, Tag: tag}
	h.SetPayload(uint64(n))
	return append(h.Append(nil, o), bytes.Repeat([]byte{'p'}, n)...)
}

// wantTexts compares the lines, without time and addresses.
func wantTexts(t *testing.T, p *tape, want ...string) Summary {
	t.Helper()
	got, sum := lines(t, p.b.Bytes(), Options{})
	for i, line := range got {
		_, got[i], _ = strings.Cut(line, " xnet ")
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return sum
}

func TestBigEndianPeer(t *testing.T) {
	p := newTape()
	p.packet(0, 0, wire.AppendCM(nil, wire.CMConnReq, nil), 0)
	resp := wire.AppendCM(nil, wire.CMConnResp, nil)
	resp[24], resp[31] = 0, 1
	p.packet(1, 0, resp, 0)
	p.packet(0, 0, message(3, wire.Big, 0x1234), 0)
	p.packet(1, 0, message(2, wire.Big, 7), 0)
	wantTexts(t, p, "connreq little data 0", "connresp big data 0", "tag id 0 size 27 (24+3) tag 0x1234", "tag id 0 size 26 (24+2) tag 0x7")
}

func TestCutAndCoalesced(t *testing.T) {
	p := newTape()
	all := wire.AppendCM(nil, wire.CMConnReq, []byte("private"))
	for i := range 5 {
		all = append(all, message(i*10, wire.Little, uint64(i))...)
	}
	for len(all) > 0 {
		n := min(len(all), 7)
		p.packet(0, 0, all[:n], 0)
		all = all[n:]
	}
	wantTexts(t, p, "connreq little data 7", "tag id 0 size 24 (24+0) tag 0x0", "tag id 0 size 34 (24+10) tag 0x1", "tag id 0 size 44 (24+20) tag 0x2",
		"tag id 0 size 54 (24+30) tag 0x3", "tag id 0 size 64 (24+40) tag 0x4")
}

// TestPayloadNotCaptured reads captures of tcpdump -s, which keeps the first bytes of each packet only.
func TestPayloadNotCaptured(t *testing.T) {
	p := newTape()
	p.packet(0, 0, wire.AppendCM(nil, wire.CMConnReq, nil), 0)
	p.packet(0, 0, message(1000, wire.Little, 1), 900)
	p.packet(0, 0, message(1000, wire.Little, 2), 1000)
	sum := wantTexts(t, p, "connreq little data 0", "tag id 0 size 1024 (24+1000) tag 0x1", "tag id 0 size 1024 (24+1000) tag 0x2")
	if sum.Problems != 0 {
		t.Errorf("%+v", sum)
	}
}

func TestLostPacket(t *testing.T) {
	p := newTape()
	p.packet(0, 0, wire.AppendCM(nil, wire.CMConnReq, nil), 0)
	p.seq[0] += 50 // lost
	p.packet(0, 0, []byte("the middle of something"), 0)
	p.packet(0, 0, message(1, wire.Little, 3), 0)
	p.packet(0, 0, message(1, wire.Little, 4), 0)
	sum := wantTexts(t, p, "connreq little data 0",
		"damaged: 50 bytes from byte 32 on are not in the capture; decoding resumes at the next packet that begins with a header",
		"tag id 0 size 25 (24+1) tag 0x3", "tag id 0 size 25 (24+1) tag 0x4")
	if sum.Problems != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestDamage(t *testing.T) {
	p := newTape()
	p.packet(0, 0, wire.AppendCM(nil, wire.CMConnReq, nil), 0)
	p.packet(0, 0, []byte("GET / HTTP/1.1\r\n\r\n"), 0)
	p.packet(0, 0, message(1, wire.Little, 3), 0)
	p.packet(1, 0, wire.AppendCM(nil, wire.CMConnResp, nil), 0)
	p.packet(1, 1, message(9, wire.Little, 3)[:30], 0)
	wantTexts(t, p, "connreq little data 0",
		"damaged: xnet: unknown protocol version at byte 32 (474554202f20485454502f312e310d0a); the rest of this direction is not decoded",
		"connresp little data 0", "tag id 0 size 33 (24+9) tag 0x3", "damaged: ends 3 bytes before the end of a frame's payload")
}

func TestOtherStreams(t *testing.T) {
	p := newTape()
	p.packet(0, 0, []byte("GET / HTTP/1.1\r\n\r\n"), 0)
	p.packet(1, 0, []byte{3}, 0) // could be the beginning of a connection response
	sum := wantTexts(t, p, "")
	if sum.Unknown != 2 || sum.Connections != 0 {
		t.Errorf("%+v", sum)
	}
}

func TestCutFile(t *testing.T) {
	b, err := os.ReadFile(captures + "msg.pcap")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := Run(bytes.NewReader(b[:len(b)/2+1]), Options{}, func(Record) { n++ }); err == nil || n == 0 {
		t.Errorf("%d records, %v", n, err)
	}
	if _, err := Run(strings.NewReader("no capture"), Options{}, func(Record) {}); err == nil ||
		!strings.Contains(err.Error(), "neither pcap nor pcapng") {
		t.Errorf("%v", err)
	}
}

func FuzzRun(f *testing.F) {
	for _, file := range []string{captures + "msg.pcap", captures + "rdm.pcap", rxdCaptures + "native.pcap", rxdCaptures + "debian.pcap"} {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	p := newTape()
	p.packet(0, 0, wire.AppendCM(nil, wire.CMConnReq, nil), 0)
	p.packet(0, 0, message(100, wire.Little, 1), 90)
	f.Add(p.b.Bytes())
	f.Add(extensionTape().b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		_, _ = Run(bytes.NewReader(b), Options{Payload: 20}, func(r Record) {
			out.Reset()
			if err := r.WriteJSON(&out); err != nil || !json.Valid(out.Bytes()) {
				t.Fatalf("%v: %s", err, &out)
			}
			if len(r.Payload) > 20 {
				t.Fatalf("%d bytes of payload", len(r.Payload))
			}
			_ = r.WriteVerbose(&out)
		})
	})
}

// TestAuthorizationKeys: both ends prove that they have a key before the connection is up.
func TestAuthorizationKeys(t *testing.T) {
	p := newTape()
	p.packet(0, 0, wire.AppendCMAuth(nil, wire.CMConnReq, wire.FeatureAuth, 1, []byte("hi")), 0)
	p.packet(1, 0, wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, 2, nil), 0)
	p.packet(0, 0, wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, 0, make([]byte, 16)), 0)
	p.packet(1, 0, wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, 0, make([]byte, 16)), 0)
	p.packet(1, 0, append(wire.AppendCM(nil, wire.CMConnResp, nil), message(2, wire.Little, 7)...), 0)
	p.packet(0, 0, message(3, wire.Little, 8), 0)
	wantTexts(t, p, "connreq little data 2", "auth little data 0", "auth little data 16", "auth little data 16", "connresp little data 0",
		"tag id 0 size 26 (24+2) tag 0x7", "tag id 0 size 27 (24+3) tag 0x8")
}
