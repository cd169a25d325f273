package udp

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/internal/dgram"
	"gofabric/internal/netx"
)

// link is how the datagrams of a socket pass the border to the system. The socket has the address, the groups, and what ICMP reports; what moves the data is
// the link's matter: one call for each datagram (plainLink), or for many (batchLink). All of it runs locked.
type link interface {
	// wait is the descriptor that the poller watches.
	wait() netx.FD
	// receive brings what has come, at least one datagram or run if there is no error, in memory that is the link's again at the next call. many says that
	// small datagrams flow; last, that nothing waits behind these, as far as the link can tell.
	receive(many bool) (got []netx.Datagram, last bool, err unix.Errno)
	// ready tells that the poller says that something has come.
	ready()
	// direct tells that from now on every pass receives and nobody looks at the descriptor, or that this has ended.
	direct(on bool) error
	// flood tells that a pass brought many datagrams: runs had better come whole from now on.
	flood()
	// segments is how many datagrams a run has that sendList takes; 1: it takes none.
	segments() int
	// send sends b as one datagram. Errors of this and the others as those of netx.SendTo.
	send(to *netx.SockAddr, b []byte) unix.Errno
	// sendList sends v as one datagram if seg is 0, else as a run of datagrams of seg bytes.
	sendList(to *netx.SockAddr, v *netx.IOV, seg int) unix.Errno
	// sendBurst sends the first datagrams of b, as netx.SendBurst does.
	sendBurst(to *netx.SockAddr, b *netx.Burst) (int, unix.Errno)
	// drops is how many datagrams there was no room for; the number wraps around.
	drops() (uint32, error)
	// String says what the link does.
	String() string
	// close ends the link and closes its descriptors, the socket among them.
	close()
}

// expressLink is a link that sends datagrams by another way than its socket.
type expressLink interface {
	link
	// express sends parts, total bytes, as one datagram or with seg as several, as dgram.Port's Send does; if it does not, nothing has left, and the socket
	// is to send them.
	express(dest netip.AddrPort, parts [][]byte, total, seg int) bool
	// expect makes ready what datagrams to dest will need, as dgram.Expecter's Expect.
	expect(dest netip.AddrPort)
	// bypassed fills in what went by the system's stack.
	bypassed(s *dgram.Stats)
	// want says which readiness of the socket makes the descriptor of wait readable.
	want(ev netx.Events) error
	// rest is receive of what came by the other way than the socket: after the first call nothing new comes by it, and when there is nothing, there was all of it.
	rest() []netx.Datagram
	// alone ends the link but not the socket, whose link it returns.
	alone() link
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
