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
	// retransmitMin is the least time after which lost bytes are sent again. It is not below the least time for which Linux' receivers delay an acknowledgement
	// (TCP_DELACK_MIN, include/net/tcp.h), or each message without an answer would be sent twice.
	retransmitMin = 40 * time.Millisecond
)

// tcpCarrier is a TCP connection.
type tcpCarrier struct{ socketCarrier }

func (c *tcpCarrier) register(prog *progress.Engine, bufs *buffers, src progress.Source, connecting bool) (*progress.Handle, error) {
	want := netx.In
	if connecting {
		want = netx.Out
	}
	// An accepted connection is a stream for passes only after it was used (tcpStream.quiet).
	return c.registerSocket(prog, bufs, src, connecting, want)
}

func (c *tcpCarrier) connected() (bool, error) { return true, netx.SocketError(c.fd) }

// delivery: bytes are the peer's when its system has acknowledged them. Closing a socket whose input was not read discards the rest (tcp(7), RFC 9293 3.10.4).
func (c *tcpCarrier) delivery() (d delivery) {
	if d.unacknowledged = uint64(netx.Unacknowledged(c.fd)); d.unacknowledged > 0 {
		d.unread, d.err = netx.Waiting(c.fd), netx.SocketError(c.fd)
	}
	return d
}

func (*tcpCarrier) can() abilities { return tcpAbilities }

var tcpAbilities = abilities{singleCopy: true, moves: true}

func (*tcpCarrier) String() string { return "TCP" }

// configure sets the options that every TCP connection has. An idle or unacknowledging peer must be noticed: by keep-alive the former, by the user time-out the
// latter (tcp(7)).
func configure(fd netx.FD, p *settings, tclass int, local, peer netip.Addr) error {
	// An error of these only makes the connection slower.
	if peer.IsLoopback() || local.IsLoopback() {
		// Congestion between two ends on one host cannot be. Looking for it only costs: BBR arms a timer for each segment.
		netx.SetCongestion(fd, "reno")
		// Bytes in the socket should still be in the processors' caches when the peer receives them; by default the system lets several times as many wait.
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
		if err := netx.SetUserTimeout(fd, t); err != nil && err != syscall.ENOTSUP { // then the patience of the system decides
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

// startConnect configures a socket and begins to connect it to peer, from address src if that is one of its family.
func startConnect(fd netx.FD, p *settings, src netip.Addr, peer netip.AddrPort, tclass core.TrafficClass) error {
	if err := configure(fd, p, tclass.TOS(), src, peer.Addr()); err != nil {
		return err
	}
	if src.IsValid() && !src.IsUnspecified() && src.Is4() == peer.Addr().Unmap().Is4() {
		netx.SetLatePort(fd) // where there is such a thing
		if err := netx.Bind(fd, netip.AddrPortFrom(src, 0)); err != nil {
			return err
		}
	}
	if err := netx.Connect(fd, peer); err != nil && err != syscall.EINPROGRESS {
		return err
	}
	return nil
}

// socketCarrier is what carriers over stream sockets have in common.
type socketCarrier struct {
	fd  netx.FD
	iov *netx.IOV // the engine's
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

// registerSocket is register; stream as progress.Engine.Register has it.
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

// want tells the poller what to look for.
func (c *socketCarrier) want(ev netx.Events) error {
	if ev == 0 {
		ev = netx.Edge // a hang-up is reported all the same, but it cannot be received now: one report is enough
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
