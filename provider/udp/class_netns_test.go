//go:build linux

package udp

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/netx"
)

// TestTrafficClass: datagrams carry the class that the Info asks for, by either datapath. They carry none
// if the Info asks for none.
func TestTrafficClass(t *testing.T) {
	a, b := places(t)
	for _, c := range []struct {
		name      string
		variables []string
		bypass    bool
	}{
		{"sockets", nil, false},
		{"single", []string{"LINK", linkXDP}, true},
		{"rings", []string{"LINK", linkXDP, "XDP_SINGLE", "0"}, true},
	} {
		for _, at := range [][2]string{{"10.98.0.1", "10.98.0.2"}, {"fd98::1", "fd98::2"}} {
			for _, class := range []core.TrafficClass{core.TCUnspec, core.TCLowLatency, core.TCDSCP | 18} {
				t.Run(c.name, func(t *testing.T) {
					b.Enter()
					fd, to := classSocket(t, netip.MustParseAddr(at[1]))
					a.Enter()
					d := testDomain(t, c.variables...)
					d.info.Tx.TClass = class
					p, _ := testPort(t, d, netip.MustParseAddr(at[0]))
					if c.bypass && p.xdp == nil {
						t.Fatal(p.noXDP)
					}
					// The first datagrams leave through the socket.
					for deadline := time.Now().Add(patience); c.bypass && p.counts().BypassSent < 4; {
						must(t, p.send(to, 0, []byte("single")))
						if got := classThatCame(t, fd); got != class.TOS() {
							t.Fatalf("%s: a datagram of class %#x to %v carries %#x", c.name, uint32(class), to, got)
						}
						if time.Now().After(deadline) {
							t.Fatalf("no datagram leaves through AF_XDP: %v", p)
						}
					}
					must(t, p.send(to, 1000, make([]byte, 10_000)))
					for range 10 {
						if got := classThatCame(t, fd); got != class.TOS() {
							t.Fatalf("%s: a datagram of a run of class %#x to %v carries %#x",
								c.name, uint32(class), to, got)
						}
					}
				})
			}
		}
	}
}

// classSocket opens a socket that reports the class of received datagrams (ip(7), IP_RECVTOS; RFC 3542,
// IPV6_RECVTCLASS).
func classSocket(t *testing.T, at netip.Addr) (int, netip.AddrPort) {
	t.Helper()
	fd, err := netx.DatagramSocket(netx.Family(at))
	must(t, err)
	t.Cleanup(func() { netx.Close(fd) })
	must(t, netx.Bind(fd, netip.AddrPortFrom(at, 0)))
	level, option := unix.IPPROTO_IP, unix.IP_RECVTOS
	if at.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS
	}
	must(t, unix.SetsockoptInt(int(fd), level, option, 1))
	local, err := netx.LocalAddr(fd)
	must(t, err)
	return int(fd), local
}

// classThatCame receives a datagram and returns its class.
func classThatCame(t *testing.T, fd int) int {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, int(patience.Milliseconds())); n != 1 || err != nil {
		t.Fatalf("no datagram arrives: %v", err)
	}
	oob := make([]byte, 128)
	_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 2048), oob, 0)
	must(t, err)
	list, err := unix.ParseSocketControlMessage(oob[:n])
	must(t, err)
	for _, m := range list {
		if m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_TOS ||
			m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_TCLASS {
			return int(m.Data[0])
		}
	}
	t.Fatal("the system does not report the class")
	return 0
}
