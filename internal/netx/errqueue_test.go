package netx

import (
	"net/netip"
	"syscall"
	"testing"
)

// TestReadError: a datagram to a port without a socket returns as an error with its destination.
func TestReadError(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "::1"} {
		t.Run(ip, func(t *testing.T) {
			addr := netip.MustParseAddr(ip)
			family := Family(addr)
			open := func() (FD, netip.AddrPort) {
				fd, err := DatagramSocket(family)
				if err != nil {
					t.Fatal(err)
				}
				if err := Bind(fd, netip.AddrPortFrom(addr, 0)); err != nil {
					Close(fd)
					t.Skipf("no %s on this machine: %v", ip, err)
				}
				at, err := LocalAddr(fd)
				if err != nil {
					t.Fatal(err)
				}
				return fd, at
			}
			fd, _ := open()
			defer Close(fd)
			if err := ReportErrors(fd, family); err != nil {
				t.Skipf("errors are not reported here: %v", err)
			}
			if _, _, ok := ReadError(fd); ok {
				t.Error("an error before anything was sent")
			}
			gone, at := open()
			Close(gone)
			var to SockAddr
			if err := to.Set(at, family, 0); err != nil {
				t.Fatal(err)
			}
			if errno := SendTo(fd, &to, []byte("anybody?")); errno != 0 {
				t.Fatal(errno)
			}
			dest, errno, ok := ReadError(fd)
			if !ok || dest != at || errno != syscall.ECONNREFUSED {
				t.Errorf("%v, %v, %v; want %v refused", dest, errno, ok, at)
			}
			if _, _, ok := ReadError(fd); ok {
				t.Error("one datagram, two errors")
			}
		})
	}
}
