package netx

import (
	"net/netip"
	"os"
	"testing"
)

func TestPortUser(t *testing.T) {
	for _, a := range []string{"127.0.0.1:0", "127.0.0.2:0", "[::1]:0"} {
		at := netip.MustParseAddrPort(a)
		fd, err := DatagramSocket(Family(at.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		if err := Bind(fd, at); err != nil {
			t.Logf("%s: %v", a, err) // there is no IPv6 here
			Close(fd)
			continue
		}
		at, err = LocalAddr(fd)
		if err != nil {
			t.Fatal(err)
		}
		if uid, ok := PortUser(at); !ok || uid != os.Geteuid() {
			t.Errorf("%v: %d, %v", at, uid, ok)
		}
		if uid, ok := PortUser(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.3"), at.Port())); ok {
			t.Errorf("no socket is at that address, and its user is %d", uid)
		}
		Close(fd)
		if uid, ok := PortUser(at); ok {
			t.Errorf("%v is closed, and its user is %d", at, uid)
		}
	}
}
