package dump

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"strings"
	"testing"

	"gofabric/util/rxd/wire"
)

const rxdCaptures = "../../../../util/rxd/wire/testdata/"

// datagram records a datagram. Its last cut bytes are not captured.
func (p *tape) datagram(from int, data []byte, cut int) {
	ports := [2]uint16{5000, 6000}
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, byte(1 + from), 127, 0, 0, byte(2 - from)}
	binary.BigEndian.PutUint16(ip[2:], uint16(28+len(data)))
	for _, v := range []uint16{ports[from], ports[1-from], uint16(8 + len(data)), 0} {
		ip = binary.BigEndian.AppendUint16(ip, v)
	}
	frame := append(ip, data...)
	for _, v := range []int{1700000000, 42, len(frame) - cut, len(frame)} {
		p.b.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
	p.b.Write(frame[:len(frame)-cut])
}

// rxdTexts returns the lines, without time and addresses.
func rxdTexts(t *testing.T, p *tape, o Options) (string, Summary) {
	t.Helper()
	got, sum := lines(t, p.b.Bytes(), o)
	for i, line := range got {
		_, got[i], _ = strings.Cut(line, " rxd ")
	}
	return strings.Join(got, "\n"), sum
}

func rts(e *wire.Ext) []byte {
	b := (&wire.RTS{RTSAddr: 1, Source: netip.MustParseAddrPort("127.0.0.1:5000")}).Append(nil)
	if e != nil {
		b = e.Append(b)
	}
	return b
}

func extension(h wire.XHeader, payload string) []byte {
	b := append(h.Append(nil), payload...)
	wire.PutChecksum(b)
	return b
}

// extensionTape is a conversation of two gofabric peers.
func extensionTape() *tape {
	p := newTape()
	e := wire.Ext{ConnID: 0x1c, Epoch: 2, MaxDatagram: 1472, Window: 1 << 20, Features: wire.FeatureAtomics, Nonce: 7}
	p.datagram(0, rts(&e), 0)
	e.Cookie, e.Flags = 0xc0, wire.ExtUp
	p.datagram(1, e.Append((&wire.CTS{RTSAddr: 1, CTSAddr: 2}).Append(nil)), 0)
	first := extension(wire.XHeader{Type: wire.XData, ConnID: 0x1c, Window: 100}, "first")
	p.datagram(0, first, 0)
	second := extension(wire.XHeader{Type: wire.XData, ConnID: 0x1c, Offset: 5}, "the second")
	third := extension(wire.XHeader{Type: wire.XData, ConnID: 0x1c, Offset: 15, Flags: wire.FlagXFin}, "the end")
	p.datagram(0, append(bytes.Clone(second), third...), 0) // as sent with UDP_SEGMENT
	p.datagram(1, extension(wire.XHeader{Type: wire.XAck, ConnID: 0x2c, Ack: 5, NSACK: 1, SACK: [wire.MaxSACK]wire.Range{{Start: 15, End: 22}}, AckDelay: 3}, ""), 0)
	p.datagram(0, second, 4)
	second[20] ^= 1
	p.datagram(0, second, 0)
	p.datagram(1, []byte("noise"), 0)
	return p
}

func TestExtension(t *testing.T) {
	got, sum := rxdTexts(t, extensionTape(), Options{})
	const want = `rts addr 1 source 127.0.0.1:5000 gfx1 conn 0x1c epoch 0x2 cookie 0x0 datagram 1472 window 1048576 features 0x1 nonce 0x7
cts rts_addr 1 cts_addr 2 gfx1 conn 0x1c epoch 0x2 cookie 0xc0 datagram 1472 window 1048576 features 0x1 nonce 0x7 up
xdata conn 0x1c off 0 ack 0 window 100 time 0 echo 0 payload 5
xdata conn 0x1c off 5 ack 0 window 0 time 0 echo 0 payload 10
xdata conn 0x1c off 15 ack 0 window 0 time 0 echo 0 flags fin payload 7
xack conn 0x2c off 0 ack 5 window 0 time 0 echo 0 delay 24us flags sack [15-22)
xdata conn 0x1c off 5 ack 0 window 0 time 0 echo 0 payload 10
damaged: rxd: the checksum is wrong (f20900005ffb6c911c00000000000000)
damaged: rxd: packet ends within its header (6e6f697365)`
	if got != want || sum.Connections != 1 || sum.Problems != 2 || sum.Frames != 7 {
		t.Errorf("%+v\ngot\n%s\nwant\n%s", sum, got, want)
	}
}

// TestRecognition: dump recognizes a conversation by its handshake, by an extension datagram, or by a port that the
// user named.
func TestRecognition(t *testing.T) {
	ack := (&wire.Ack{Base: wire.Base{Type: wire.TypeAck, Peer: 1, Seq: 2}, Window: 3}).Append(nil)
	p := newTape()
	p.datagram(0, []byte("\x02\x03 whatever else begins so"), 0)
	p.datagram(0, append(rts(nil), 1), 0)
	p.datagram(0, ack, 0)
	if _, sum := rxdTexts(t, p, Options{}); sum.Datagrams != 3 || sum.Connections+sum.Frames+sum.Problems != 0 {
		t.Errorf("%+v", sum)
	}
	if got, sum := rxdTexts(t, p, Options{Ports: []uint16{6000}}); sum.Frames != 2 ||
		!strings.HasSuffix(got, "ack peer 1 seq 2 window 3") {
		t.Errorf("%+v: %s", sum, got)
	}
	p.datagram(1, rts(nil), 0)
	p.datagram(0, ack, 0)
	if _, sum := rxdTexts(t, p, Options{}); sum.Datagrams != 3 || sum.Connections != 1 || sum.Frames != 2 {
		t.Errorf("%+v", sum)
	}
	p = newTape()
	p.datagram(0, extension(wire.XHeader{Type: wire.XProbe, ConnID: 1}, ""), 0)
	if _, sum := rxdTexts(t, p, Options{}); sum.Frames != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestDatagramsCut reads captures of tcpdump -s, which keeps the first bytes of each packet only.
func TestDatagramsCut(t *testing.T) {
	p := newTape()
	p.datagram(0, rts(nil), 0)
	op := wire.Op{Base: wire.Base{Type: wire.TypeWrite, Flags: wire.FlagInline}, NRMA: 1, RMA: [wire.IOVLimit]wire.RMAIov{{Len: 1000}}}
	b := append(op.Append(nil), make([]byte, 1000)...)
	p.datagram(0, b, 990)
	p.datagram(0, b, 1001)
	got, sum := rxdTexts(t, p, Options{})
	const want = "rts addr 1 source 127.0.0.1:5000\nwrite peer 0 seq 0 flags inline [0x0+1000 key 0x0] payload 1000\n" +
		"damaged: rxd: the header was not captured whole (02042000000000000000000000000000)"
	if got != want || sum.Problems != 1 {
		t.Errorf("%+v\ngot\n%s\nwant\n%s", sum, got, want)
	}
}

func TestRxdPortFilter(t *testing.T) {
	b, err := os.ReadFile(rxdCaptures + "native.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if _, sum := lines(t, b, Options{Ports: []uint16{59707}}); sum.Connections != 1 || sum.Frames != 10 {
		t.Errorf("%+v", sum)
	}
}
