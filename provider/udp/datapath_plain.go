package udp

import (
	"syscall"

	"gofabric/internal/netx"
)

// plainDatapath makes one system call for each datagram, which works on every system.
type plainDatapath struct {
	fd netx.FD
	d  *domain // has the scratch buffers
}

func (l *plainDatapath) wait() netx.FD { return l.fd }

func (l *plainDatapath) receive(bool) ([]netx.Datagram, bool, syscall.Errno) {
	err := netx.RecvPlain(l.fd, &l.d.in[0])
	return l.d.in[:], false, err
}

func (l *plainDatapath) ready() {}

func (l *plainDatapath) direct(bool) error { return nil }

func (l *plainDatapath) flood() {}

func (l *plainDatapath) segments() int { return 1 }

func (l *plainDatapath) send(to *netx.SockAddr, b []byte) syscall.Errno {
	return netx.SendTo(l.fd, to, b)
}

func (l *plainDatapath) sendList(to *netx.SockAddr, v *netx.IOV, seg int) syscall.Errno {
	if seg != 0 {
		return syscall.EOPNOTSUPP
	}
	return netx.SendToV(l.fd, to, v, 0)
}

func (l *plainDatapath) sendBurst(to *netx.SockAddr, b *netx.Burst) (int, syscall.Errno) {
	return netx.SendBurst(l.fd, to, b, 1)
}

func (l *plainDatapath) drops() (uint32, error) { return netx.Drops(l.fd) }

func (l *plainDatapath) String() string { return "plain socket" }

func (l *plainDatapath) close() {
	netx.Close(l.fd)
	l.fd = netx.NoFD
}
