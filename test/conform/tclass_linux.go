package conform

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// checkClass fails the test unless all sockets between the ends of p, and at least one, mark their packets with the traffic class that p was granted (ip(7), IP_TOS;
// RFC 3542, IPV6_TCLASS): every packet that is sent carries what its socket says.
func checkClass(t *testing.T, p *Pair) {
	t.Helper()
	kind := unix.SOCK_STREAM
	if strings.Contains(p.A.Info.Fabric.ProvName, "udp") {
		kind = unix.SOCK_DGRAM
	}
	ports := slices.DeleteFunc([]uint16{p.A.Addr.IP.Port(), p.B.Addr.IP.Port()}, func(n uint16) bool { return n == 0 }) // connected endpoints know one of them
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
		local, _ := unix.Getsockname(fd)
		peer, _ := unix.Getpeername(fd)
		if portOf(local) == 0 || !slices.Contains(ports, portOf(local)) && !slices.Contains(ports, portOf(peer)) {
			continue // not between the ends, as far as IP goes
		}
		found++
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if _, is6 := local.(*unix.SockaddrInet6); is6 {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		if v, err := unix.GetsockoptInt(fd, level, option); err != nil || v != p.A.Info.Tx.TClass.TOS() {
			t.Errorf("traffic class %#x: a socket marks its packets with %#x (%v), want %#x", uint32(p.A.Info.Tx.TClass), v, err, p.A.Info.Tx.TClass.TOS())
		}
	}
	if found == 0 {
		t.Errorf("no socket of the ends %v and %v was found", p.A.Addr, p.B.Addr)
	}
}

// portOf is the port of an IP address, 0 of others.
func portOf(sa unix.Sockaddr) uint16 {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return uint16(sa.Port)
	case *unix.SockaddrInet6:
		return uint16(sa.Port)
	}
	return 0
}
