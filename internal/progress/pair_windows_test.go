package progress

import (
	"net/netip"
	"syscall"
	"testing"

	"gofabric/internal/netx"
)

// pair returns two connected sockets.
func pair(t testing.TB) (a, b netx.FD) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := netx.StreamSocket(syscall.AF_INET)
	must(err)
	defer netx.Close(l)
	must(netx.Bind(l, netip.MustParseAddrPort("127.0.0.1:0")))
	must(netx.Listen(l, 1))
	at, err := netx.LocalAddr(l)
	must(err)
	a, err = netx.StreamSocket(syscall.AF_INET)
	must(err)
	if err := netx.Connect(a, at); err != nil && err != syscall.EINPROGRESS {
		t.Fatal(err)
	}
	for !netx.Readable(l) {
	}
	b, _, err = netx.Accept(l)
	must(err)
	must(netx.SetNoDelay(a, true))
	must(netx.SetNoDelay(b, true))
	return a, b
}
