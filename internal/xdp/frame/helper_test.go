package frame

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
)

var (
	macA  = MAC{2, 0, 0, 0, 0, 0xa}
	macB  = MAC{2, 0, 0, 0, 0, 0xb}
	all   = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	addrA = netip.MustParseAddrPort("10.9.0.1:7000")
	addrB = netip.MustParseAddrPort("10.9.0.2:7001")
	sixA  = netip.MustParseAddrPort("[fd09::1]:7000")
	sixB  = netip.MustParseAddrPort("[fd09::2]:7001")
)

func config4() Config { return Config{SrcMAC: macA, DstMAC: macB, Src: addrA, Dst: addrB} }
func config6() Config { return Config{SrcMAC: macA, DstMAC: macB, Src: sixA, Dst: sixB} }

func header(t testing.TB, c Config) *Header {
	t.Helper()
	h := new(Header)
	if err := h.Init(&c); err != nil {
		t.Fatal(err)
	}
	return h
}

// put returns the frame with a payload.
func put(t testing.TB, c Config, payload []byte) []byte {
	t.Helper()
	b := make([]byte, HeaderMax+len(payload))
	n := header(t, c).Put(b, payload, 0)
	if n == 0 {
		t.Fatalf("%d bytes of payload were refused", len(payload))
	}
	return b[:n]
}

// pattern returns n bytes that differ.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// captured reads the frames of a capture file (little-endian pcap).
func captured(t *testing.T, name string) (frames [][]byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte{0xd4, 0xc3, 0xb2, 0xa1}) {
		t.Fatalf("%s is not a pcap file", name)
	}
	for b = b[24:]; len(b) > 16; {
		n := 16 + int(binary.LittleEndian.Uint32(b[8:]))
		frames = append(frames, b[16:n])
		b = b[n:]
	}
	return frames
}

// slowSum computes the checksum as RFC 1071 describes it, word by word in network byte order.
func slowSum(parts ...[]byte) uint16 {
	b := bytes.Join(parts, nil)
	if len(b)%2 != 0 {
		b = append(b, 0)
	}
	var sum uint32
	for ; len(b) > 0; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
