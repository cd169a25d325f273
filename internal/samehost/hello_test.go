package samehost

import (
	"bytes"
	"net/netip"
	"testing"

	"gofabric/internal/shm"
)

// FuzzHello: a hello that is accepted is the one that appendHello makes of its parts.
func FuzzHello(f *testing.F) {
	f.Add(appendHello(nil, []byte("abcd"), true), 4)
	f.Add(appendHello(nil, nil, false), 0)
	f.Add([]byte("gofabric"), 3)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > BodyMax {
			return
		}
		body, memory, ok := parseHello(b, n)
		if !ok {
			return
		}
		if len(body) != n || !bytes.Equal(appendHello(nil, body, memory), b) {
			t.Errorf("%x of %x, memory %v", body, b, memory)
		}
		if memory && shm.Size == 0 {
			t.Error("there is no memory")
		}
	})
}

// TestAddresses checks which addresses may be of one host.
func TestAddresses(t *testing.T) {
	for _, tc := range []struct {
		local, peer string
		want        bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.2", true},
		{"127.0.0.1", "192.0.2.1", true}, // a socket at 127.0.0.1 receives only from this host
		{"198.51.100.3", "127.0.0.2", true},
		{"198.51.100.1", "198.51.100.1", true}, // equal addresses
		{"::ffff:198.51.100.1", "198.51.100.1", true},
		{"::1", "::1", true},
		{"::1", "2001:db8::1", true},
		{"fe80::1%lo", "fe80::1%lo", true},
		{"fe80::1%eth0", "fe80::1%lo", false},
		{"fe80::1%eth0", "fe80::1", false},
		{"192.0.2.2", "192.0.2.1", false}, // no host has it (RFC 5737)
		{"2001:db8::2", "2001:db8::1", false},
		{"::1", "127.0.0.1", false},
		{"127.0.0.1", "224.0.0.1", false},
		{"127.0.0.1", "255.255.255.255", false},
		{"127.0.0.1", "0.0.0.0", false},
	} {
		if got := Addresses(netip.MustParseAddr(tc.local), netip.MustParseAddr(tc.peer)); got != tc.want {
			t.Errorf("%s and %s: %v", tc.local, tc.peer, got)
		}
	}
}
