package fabric

import (
	"encoding/binary"
	"testing"
)

// frame4 and frame6 make the headers of an IP packet of a protocol from one host to another, and append rest.
func frame4(to, protocol byte, fragment uint16, rest ...byte) []byte {
	b := make([]byte, 34, 64)
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	b[14], b[23], b[33] = 0x45, protocol, to
	binary.BigEndian.PutUint16(b[20:], fragment)
	return append(append(b, rest...), make([]byte, 16)...)
}

func frame6(to, protocol byte, rest ...byte) []byte {
	b := make([]byte, 54, 96)
	binary.BigEndian.PutUint16(b[12:], 0x86dd)
	b[14], b[20], b[53] = 0x60, protocol, to
	return append(append(b, rest...), make([]byte, 16)...)
}

// TestFlowHash: frames of one flow use one path, because otherwise they would overtake each other. Frames of
// different flows use several.
func TestFlowHash(t *testing.T) {
	const tcp, udp, icmp, fragment, icmp6 = 6, 17, 1, 44, 58
	same := map[string][2][]byte{
		"UDP over IPv4, two payloads":               {frame4(1, udp, 0, 1, 2, 3, 4, 5), frame4(1, udp, 0, 1, 2, 3, 4, 9)},
		"pings over IPv4":                           {frame4(1, icmp, 0, 8, 0, 3, 4), frame4(1, icmp, 0, 8, 0, 7, 9)},
		"fragments over IPv4, the first with ports": {frame4(1, udp, 0x2000, 1, 2, 3, 4), frame4(1, udp, 0x00b9, 7, 8, 9, 6)},
		"TCP over IPv6, two payloads":               {frame6(1, tcp, 1, 2, 3, 4, 5), frame6(1, tcp, 1, 2, 3, 4, 9)},
		"pings over IPv6":                           {frame6(1, icmp6, 128, 0, 3, 4), frame6(1, icmp6, 128, 0, 7, 9)},
		"fragments over IPv6":                       {frame6(1, fragment, udp, 0, 0, 1), frame6(1, fragment, udp, 0, 5, 0xa8)},
	}
	for name, f := range same {
		if flowHash(f[0], 7) != flowHash(f[1], 7) {
			t.Errorf("%s use two paths", name)
		}
	}
	flows := map[string]func(n byte) []byte{
		"source ports over IPv4":      func(n byte) []byte { return frame4(1, udp, 0, 0, n, 0, 1) },
		"destination ports over IPv4": func(n byte) []byte { return frame4(1, tcp, 0, 0, 1, 0, n) },
		"hosts over IPv4":             func(n byte) []byte { return frame4(n, icmp, 0) },
		"protocols over IPv4":         func(n byte) []byte { return frame4(1, 100+n, 0) },
		"source ports over IPv6":      func(n byte) []byte { return frame6(1, udp, 0, n, 0, 1) },
		"destination ports over IPv6": func(n byte) []byte { return frame6(1, tcp, 0, 1, 0, n) },
		"hosts over IPv6":             func(n byte) []byte { return frame6(n, icmp6) },
		"protocols over IPv6":         func(n byte) []byte { return frame6(1, 100+n) },
	}
	const count = 64
	for name, frame := range flows {
		hashes, ways := map[uint64]bool{}, [4]int{}
		for n := range byte(count) {
			h := flowHash(frame(n), 7)
			hashes[h] = true
			ways[h%4]++
		}
		if len(hashes) != count {
			t.Errorf("%s: %d different hashes of %d", name, len(hashes), count)
		}
		for _, n := range ways {
			if n < count/16 {
				t.Errorf("%s: four paths have %v of %d", name, ways, count)
				break
			}
		}
	}
}
