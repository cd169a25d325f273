package conform

import (
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// checkClass checks that there is a socket between the ends of p, and that all such sockets mark their packets with
// the traffic class that p was granted (ip(7), IP_TOS; RFC 3542, IPV6_TCLASS). Every packet gets the class of its
// socket.
func checkClass(t *testing.T, p *Pair) {
	t.Helper()
	kind := unix.SOCK_STREAM
	if strings.Contains(p.A.Info.Fabric.ProvName, "udp") {
		kind = unix.SOCK_DGRAM
	}
	// With connected endpoints one of the names is unknown.
	ends := slices.DeleteFunc([]netip.AddrPort{p.A.Addr.IP, p.B.Addr.IP},
		func(a netip.AddrPort) bool { return a.Port() == 0 })
	between := func(a netip.AddrPort) bool {
		return slices.ContainsFunc(ends, func(b netip.AddrPort) bool {
			return a.Port() == b.Port() &&
				(a.Addr() == b.Addr().Unmap().WithZone("") || a.Addr().IsUnspecified() || b.Addr().IsUnspecified())
		})
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range fds {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || typ != kind {
			continue
		}
		if on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || on != 0 {
			continue
		}
		name, _ := unix.Getsockname(fd)
		local := addrOf(name)
		peer, _ := unix.Getpeername(fd)
		if local.Port() == 0 || !between(local) && !between(addrOf(peer)) {
			continue // its addresses are not those of the ends
		}
		found++
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if _, is6 := name.(*unix.SockaddrInet6); is6 {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		v, err := unix.GetsockoptInt(fd, level, option)
		if again, _ := unix.Getsockname(fd); addrOf(again) != local {
			continue // another test of this process has reused the descriptor
		}
		if err != nil || v != p.A.Info.Tx.TClass.TOS() {
			t.Errorf("traffic class %#x: a socket marks its packets with %#x (%v), want %#x",
				uint32(p.A.Info.Tx.TClass), v, err, p.A.Info.Tx.TClass.TOS())
		}
	}
	if found == 0 {
		t.Errorf("no socket of the ends %v and %v was found", p.A.Addr, p.B.Addr)
	}
}

// addrOf returns an IP address with its port, and the zero value for other addresses.
func addrOf(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}
