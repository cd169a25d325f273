package udp

import (
	"net/netip"
	"testing"
)

// FuzzShmHello: a hello that is accepted is the one that appendShmHello makes for its sender.
func FuzzShmHello(f *testing.F) {
	at := netip.MustParseAddrPort("127.0.0.1:1000")
	f.Add(appendShmHello(nil, netip.MustParseAddrPort("127.0.0.2:4711"), at))
	f.Add(make([]byte, shmHelloLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		from, ok := parseShmHello(b, at)
		if ok && (from == at || from.Port() == 0 || string(appendShmHello(nil, from, at)) != string(b)) {
			t.Errorf("%v in %x", from, b)
		}
	})
}
