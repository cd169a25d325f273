package udp

import (
	"fmt"
	"net/netip"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/transport/datagram"
)

// link is how the datagrams of a socket pass to and from the kernel. The socket has the address, the multicast groups and the errors that ICMP reports; the link moves the
// data: with one call for each datagram (plainLink), or for many (batchLink). All of it runs locked.
type link interface {
	// wait is the descriptor that the poller watches.
	wait() netx.FD
	// receive brings what has come, at least one datagram or run if there is no error, in memory that is the link's again at the next call. many says that
	// small datagrams flow; last, that nothing waits behind these, as far as the link can tell.
	receive(many bool) (got []netx.Datagram, last bool, err syscall.Errno)
	// ready is called when the poller reports the descriptor readable.
	ready()
	// direct begins or ends a time in which every pass receives, and the poller does not watch the descriptor.
	direct(on bool) error
	// flood is called when a pass has received many datagrams: GRO is to be switched on.
	flood()
	// segments is how many datagrams a run has that sendList takes; 1: it takes none.
	segments() int
	// send sends b as one datagram. Errors of this and the others as those of netx.SendTo.
	send(to *netx.SockAddr, b []byte) syscall.Errno
	// sendList sends v as one datagram if seg is 0, else as a run of datagrams of seg bytes.
	sendList(to *netx.SockAddr, v *netx.IOV, seg int) syscall.Errno
	// sendBurst sends the first datagrams of b, as netx.SendBurst does.
	sendBurst(to *netx.SockAddr, b *netx.Burst) (int, syscall.Errno)
	// drops is how many datagrams there was no room for; the number wraps around.
	drops() (uint32, error)
	// String describes the link.
	String() string
	// close ends the link and closes its descriptors, the socket among them.
	close()
}

// bypassLink is a link that bypasses the kernel's stack, with the link of the socket below it.
type bypassLink interface {
	link
	// sendXDP sends parts, total bytes, as one datagram or with seg as several, as datagram.Port's Send does. false: nothing was sent, and the socket is to send them.
	sendXDP(dest netip.AddrPort, parts [][]byte, total, seg int) bool
	// expect prepares to send to dest, as datagram.Expecter's Expect.
	expect(dest netip.AddrPort)
	// addStats fills in the counters of what bypassed the kernel's stack.
	addStats(s *datagram.Stats)
	// want sets the events of the socket that make the descriptor of wait readable.
	want(ev netx.Events) error
	// drain stops receiving past the kernel's stack, and returns what came that way before; it is called until it returns nothing.
	drain() []netx.Datagram
	// detach ends the link but not the socket, whose link it returns.
	detach() link
}

// The values of FI_UDP_LINK.
const (
	linkAuto    = "auto"
	linkSockets = "sockets"
	linkPlain   = "plain"
	linkBatch   = "batch"
	linkXDP     = "xdp"
)

// newLink makes the link of a socket.
func (d *domain) newLink(fd netx.FD) link {
	plain := plainLink{fd: fd, d: d}
	if d.s.link == linkPlain || d.s.link != linkBatch && !thisSystem().batches {
		return &plain
	}
	l := &batchLink{plainLink: plain, runs: 1, mayGRO: d.s.gro && thisSystem().gro}
	if d.s.gso && thisSystem().gso {
		l.runs = netx.SegmentsMax
	}
	return l
}

// checkLink reports a value of FI_UDP_LINK that makes no sense.
func checkLink(name string) error {
	switch name {
	case linkAuto, linkSockets, linkPlain, linkBatch, linkXDP:
		return nil
	}
	return fmt.Errorf("FI_UDP_LINK is %q; it can be %s, %s, %s, %s or %s", name, linkSockets, linkPlain, linkBatch, linkXDP, linkAuto)
}

// The values of FI_UDP_XDP_MODE.
const (
	modeAuto    = "auto"
	modeDriver  = "driver"
	modeGeneric = "generic"
)

// checkMode reports a value of FI_UDP_XDP_MODE that makes no sense.
func checkMode(name string) error {
	switch name {
	case modeAuto, modeDriver, modeGeneric:
		return nil
	}
	return fmt.Errorf("FI_UDP_XDP_MODE is %q; it can be %s, %s or %s", name, modeAuto, modeDriver, modeGeneric)
}
