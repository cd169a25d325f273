package link

import (
	"encoding/binary"
	"testing"

	"gofabric/internal/mono"
)

// ip4 makes an IPv4 frame with the traffic class tos and a correct checksum.
func ip4(tos byte) []byte {
	b := make([]byte, 64)
	b[0] = 2
	binary.BigEndian.PutUint16(b[12:], typeIPv4)
	ip := b[14:34]
	copy(ip, []byte{0x45, tos, 0, 50, 0xab, 0xcd, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2})
	binary.BigEndian.PutUint16(ip[10:], ^sum(ip))
	return b
}

// sum computes the sum of the Internet checksum (RFC 1071).
func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

func ip6(class byte) []byte {
	b := make([]byte, 64)
	b[0] = 2
	binary.BigEndian.PutUint16(b[12:], typeIPv6)
	binary.BigEndian.PutUint32(b[14:], 6<<28|uint32(class)<<20|0xabcde)
	return b
}

func tagged(b []byte) []byte {
	out := append([]byte{}, b[:12]...)
	out = binary.BigEndian.AppendUint16(out, typeVLAN)
	out = binary.BigEndian.AppendUint16(out, 5)
	return append(out, b[12:]...)
}

// TestMark: ECN-capable frames are marked, others are not, and headers remain valid.
func TestMark(t *testing.T) {
	for tos := range 256 {
		for name, make := range map[string]func(byte) []byte{"4": ip4, "6": ip6} {
			b := make(byte(tos))
			able := tos&3 != 0
			if got := mark(b); got != able {
				t.Fatalf("ip%s, class %#x: marked is %v", name, tos, got)
			}
			want := byte(tos)
			if able {
				want |= 3
			}
			switch name {
			case "4":
				if b[15] != want || sum(b[14:34]) != 0xffff {
					t.Fatalf("class %#x became %#x, sum %#x", tos, b[15], sum(b[14:34]))
				}
			default:
				if v := binary.BigEndian.Uint32(b[14:]); v != 6<<28|uint32(want)<<20|0xabcde {
					t.Fatalf("class %#x became header %#x", tos, v)
				}
			}
		}
	}
	for id := range 1 << 16 { // all sums, including those with two carries
		b := ip4(1)
		binary.BigEndian.PutUint16(b[18:], uint16(id))
		binary.BigEndian.PutUint16(b[24:], 0)
		binary.BigEndian.PutUint16(b[24:], ^sum(b[14:34]))
		if mark(b); sum(b[14:34]) != 0xffff {
			t.Fatalf("id %#x: sum %#x", id, sum(b[14:34]))
		}
	}
	if b := tagged(ip4(2)); !mark(b) || b[19] != 3 {
		t.Error("a frame with a VLAN tag is not marked")
	}
	for _, whole := range [][]byte{ip4(2), ip6(2), tagged(ip4(2))} {
		for n := range len(whole) {
			mark(whole[:n:n]) // must not panic
		}
	}
	if mark(make([]byte, 64)) {
		t.Error("a frame without IP is marked")
	}
}

// TestMarkInQueue: a queue marks frames from the threshold on.
func TestMarkInQueue(t *testing.T) {
	l, w := New(1, 1), &wire{}
	l.Set(Faults{Rate: 1e6, ECN: 10})
	for range 30 {
		l.Send(mono.Time(1), &Frame{B: ip4(1)}, false, w)
	}
	for i, f := range w.got {
		if marked := f.B[15] == 3; marked != (i >= 10) {
			t.Errorf("frame %d: marked is %v", i, marked)
		}
	}
	if s := l.Stats(1); s.Marked != 20 {
		t.Errorf("%+v", s)
	}
}
