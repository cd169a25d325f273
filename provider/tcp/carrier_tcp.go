package tcp

import (
	"net/netip"
	"syscall"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
)

const (
	// loopbackSendBuf is the send buffer on loopback, bytes.
	loopbackSendBuf = 1 << 20
	// retransmitMin is the minimum retransmission time-out (RFC 6298; tcp(7)). It is not below the minimum delay of
	// an acknowledgement by Linux' receivers (TCP_DELACK_MIN, include/net/tcp.h). Otherwise each message without an
	// answer would be sent twice.
	retransmitMin = 40 * time.Millisecond
)

// tcpCarrier is a TCP connection.
type tcpCarrier struct{ socketCarrier }

func (c *tcpCarrier) register(prog *progress.Engine, bufs *buffers, src progress.Source, connecting bool) (*progress.Handle, error) {
	want := netx.In
	if connecting {
		want = netx.Out
	}
	// An accepted connection does not count as a polled stream before its first message (tcpStream.quiet).
	return c.registerSocket(prog, bufs, src, connecting, want)
}

func (c *tcpCarrier) connected() (bool, error) { return true, netx.SocketError(c.fd) }

// delivery: bytes have arrived when the peer's system has acknowledged them. A close with unread input sends a
// reset and discards the rest (tcp(7), RFC 9293 3.10.4).
func (c *tcpCarrier) delivery() (d delivery) {
	if d.unacknowledged = uint64(netx.Unacknowledged(c.fd)); d.unacknowledged > 0 {
		d.unread, d.err = netx.Waiting(c.fd), netx.SocketError(c.fd)
	}
	return d
}

func (*tcpCarrier) can() abilities { return tcpAbilities }

var tcpAbilities = abilities{singleCopy: true, moves: true}

func (*tcpCarrier) String() string { return "TCP" }

// configure sets the options of every TCP connection. Keep-alive detects a dead peer of an idle connection. The
// user time-out detects a peer that does not acknowledge (tcp(7), RFC 5482).
func configure(fd netx.FD, p *settings, tclass int, local, peer netip.Addr) error {
	// Errors of the next calls are ignored: without these options the connection is only slower.
	if peer.IsLoopback() || local.IsLoopback() {
		// There is no congestion between two ends on one host. BBR would arm a timer for each segment.
		netx.SetCongestion(fd, "reno")
		// Bytes in the socket should still be in the processor's caches when the peer receives them. The default
		// buffer is several times as large.
		netx.SetBuffers(fd, loopbackSendBuf, 0)
	} else {
		netx.SetRetransmitMin(fd, retransmitMin)
	}
	if p.noDelay {
		if err := netx.SetNoDelay(fd, true); err != nil {
			return err
		}
	}
	if t := p.peerTimeout; t > 0 {
		if err := netx.SetKeepAlive(fd, t/2, max(t/8, 1), 4); err != nil {
			return err
		}
		// ENOTSUP: the system's own time-out applies.
		if err := netx.SetUserTimeout(fd, t); err != nil && err != syscall.ENOTSUP {
			return err
		}
	}
	if tclass != 0 {
		if err := netx.SetDSCP(fd, tclass); err != nil {
			return err
		}
	}
	return nil
}

// startConnect configures a socket and starts to connect it to peer. It binds the socket to src if src is of the
// same family.
func startConnect(fd netx.FD, p *settings, src netip.Addr, peer netip.AddrPort, tclass core.TrafficClass) error {
	if err := configure(fd, p, tclass.TOS(), src, peer.Addr()); err != nil {
		return err
	}
	if src.IsValid() && !src.IsUnspecified() && src.Is4() == peer.Addr().Unmap().Is4() {
		netx.SetLatePort(fd) // where the system has IP_BIND_ADDRESS_NO_PORT (ip(7))
		if err := netx.Bind(fd, netip.AddrPortFrom(src, 0)); err != nil {
			return err
		}
	}
	if err := netx.Connect(fd, peer); err != nil && err != syscall.EINPROGRESS {
		return err
	}
	return nil
}

// socketCarrier is the common part of carriers over stream sockets.
type socketCarrier struct {
	fd  netx.FD
	iov *netx.IOV // shared by the engine's streams
	h   *progress.Handle
}

func (c *socketCarrier) transmit(first []byte, list [][]byte) (n int, errno syscall.Errno) {
	if first != nil {
		return netx.Send(c.fd, first, false)
	}
	v := c.iov
	v.Reset()
	for _, b := range list {
		v.Append(b)
	}
	n, errno = netx.SendV(c.fd, v, false)
	v.Reset()
	return n, errno
}

func (c *socketCarrier) receive(target, head []byte) (n int, more bool, errno syscall.Errno) {
	if target == nil {
		n, errno = netx.Recv(c.fd, head)
		return n, n == len(head), errno
	}
	v := c.iov
	v.Reset()
	v.Append(target)
	v.Append(head)
	n, errno = netx.RecvV(c.fd, v)
	v.Reset()
	return n, n == len(target)+len(head), errno
}

// registerSocket is register. stream is as in progress.Engine.Register.
func (c *socketCarrier) registerSocket(prog *progress.Engine, bufs *buffers, src progress.Source, stream bool, want netx.Events) (h *progress.Handle, err error) {
	h, err = prog.Register(c.fd, src, stream, want)
	if err == nil {
		c.h, c.iov = h, bufs.iov
	}
	return h, err
}

func (c *socketCarrier) detach() { c.h = nil }

func (c *socketCarrier) watch(receive, transmit bool) error {
	var want netx.Events
	if receive {
		want |= netx.In
	}
	if transmit {
		want |= netx.Out
	}
	return c.want(want)
}

// want selects the poller's events.
func (c *socketCarrier) want(ev netx.Events) error {
	if ev == 0 {
		// The poller reports a hang-up even without events. It cannot be received now, so one report is enough.
		ev = netx.Edge
	}
	return c.h.Want(ev)
}

func (*socketCarrier) ready(in, out bool) (receive, transmit bool) { return in, out }
func (*socketCarrier) direct(bool)                                 {}
func (c *socketCarrier) socket() netx.FD                           { return c.fd }

func (c *socketCarrier) close(reset bool) {
	if reset {
		netx.SetLinger(c.fd, 0)
	}
	netx.Close(c.fd)
}
