package udp

import (
	"syscall"

	"gofabric/internal/netx"
)

// plainLink makes one system call for each datagram, which works on every system.
type plainLink struct {
	fd netx.FD
	d  *domain // has the scratch buffers
}

func (l *plainLink) wait() netx.FD { return l.fd }

func (l *plainLink) receive(bool) ([]netx.Datagram, bool, syscall.Errno) {
	err := netx.RecvPlain(l.fd, &l.d.in[0])
	return l.d.in[:], false, err
}

func (l *plainLink) ready() {}

func (l *plainLink) direct(bool) error { return nil }

func (l *plainLink) flood() {}

func (l *plainLink) segments() int { return 1 }

func (l *plainLink) send(to *netx.SockAddr, b []byte) syscall.Errno { return netx.SendTo(l.fd, to, b) }

func (l *plainLink) sendList(to *netx.SockAddr, v *netx.IOV, seg int) syscall.Errno {
	if seg != 0 {
		return syscall.EOPNOTSUPP
	}
	return netx.SendToV(l.fd, to, v, 0)
}

func (l *plainLink) sendBurst(to *netx.SockAddr, b *netx.Burst) (int, syscall.Errno) {
	return netx.SendBurst(l.fd, to, b, 1)
}

func (l *plainLink) drops() (uint32, error) { return netx.Drops(l.fd) }

func (l *plainLink) String() string { return "plain socket" }

func (l *plainLink) close() {
	netx.Close(l.fd)
	l.fd = netx.NoFD
}
