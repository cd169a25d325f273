package udp

import (
	"fmt"
	"net/netip"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/transport/datagram"
)

// datapath passes the datagrams of a socket to and from the kernel. The socket has the address, the multicast groups
// and the errors that ICMP reports. The datapath moves the data, with one call for each datagram (plainDatapath) or for
// many (batchDatapath). All methods are called locked.
type datapath interface {
	// wait returns the descriptor that the poller watches.
	wait() netx.FD
	// receive returns received datagrams, at least one datagram or run if there is no error. They are in memory
	// that the datapath uses again at the next call. many says that many small datagrams come. last
	// reports that no more datagrams wait, as far as the datapath knows.
	receive(many bool) (got []netx.Datagram, last bool, err syscall.Errno)
	// ready is called when the poller reports the descriptor readable.
	ready()
	// direct begins or ends a period in which every pass receives and the poller does not watch the descriptor.
	direct(on bool) error
	// flood is called when a pass has received many datagrams, so that the datapath can switch GRO on.
	flood()
	// segments returns the largest number of datagrams in a run that sendList takes, 1 if it takes no runs.
	segments() int
	// send sends b as one datagram. Its errors, and those of the other sends, are those of netx.SendTo.
	send(to *netx.SockAddr, b []byte) syscall.Errno
	// sendList sends v as one datagram if seg is 0, otherwise as a run of datagrams of seg bytes.
	sendList(to *netx.SockAddr, v *netx.IOV, seg int) syscall.Errno
	// sendBurst sends the first datagrams of b, as netx.SendBurst does.
	sendBurst(to *netx.SockAddr, b *netx.Burst) (int, syscall.Errno)
	// drops returns how many datagrams were lost for lack of room. The number wraps around.
	drops() (uint32, error)
	// String describes the datapath to users.
	String() string
	// close ends the datapath and closes its descriptors, including the socket.
	close()
}

// bypassDatapath is a datapath that bypasses the kernel's network stack. The datapath of the socket is below it.
type bypassDatapath interface {
	datapath
	// sendXDP sends parts, of total bytes, as one datagram, or with seg as several, as datagram.Port's Send does.
	// If it returns false, nothing was sent, and the socket must send them.
	sendXDP(dest netip.AddrPort, parts [][]byte, total, seg int) bool
	// expect prepares to send to dest (datagram.Expecter).
	expect(dest netip.AddrPort)
	// addStats sets the counters of datagrams that bypassed the kernel's stack.
	addStats(s *datagram.Stats)
	// want sets the events of the socket that make the descriptor of wait readable.
	want(ev netx.Events) error
	// drain stops receiving past the kernel's stack, and returns datagrams that came that way before. The caller
	// repeats it until it returns none.
	drain() []netx.Datagram
	// detach ends the datapath but not the socket. It returns the socket's datapath.
	detach() datapath
}

// The values of FI_UDP_LINK.
const (
	linkAuto    = "auto"
	linkSockets = "sockets"
	linkPlain   = "plain"
	linkBatch   = "batch"
	linkXDP     = "xdp"
)

// newDatapath makes the datapath of a socket.
func (d *domain) newDatapath(fd netx.FD) datapath {
	plain := plainDatapath{fd: fd, d: d}
	if d.s.link == linkPlain || d.s.link != linkBatch && !thisSystem().batches {
		return &plain
	}
	l := &batchDatapath{plainDatapath: plain, runs: 1, mayGRO: d.s.gro && thisSystem().gro}
	if d.s.gso && thisSystem().gso {
		l.runs = netx.SegmentsMax
	}
	return l
}

// checkLink returns an error for an invalid value of FI_UDP_LINK.
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

// checkMode returns an error for an invalid value of FI_UDP_XDP_MODE.
func checkMode(name string) error {
	switch name {
	case modeAuto, modeDriver, modeGeneric:
		return nil
	}
	return fmt.Errorf("FI_UDP_XDP_MODE is %q; it can be %s, %s or %s", name, modeAuto, modeDriver, modeGeneric)
}
