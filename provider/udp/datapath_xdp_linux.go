package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/batch"
	"gofabric/internal/neigh"
	"gofabric/internal/netx"
	"gofabric/internal/transport/datagram"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
)

const (
	xdpFrames   = 64      // frames of one receive
	xdpPeers    = 1 << 16 // destinations whose headers are kept; beyond that all are built anew
	socketEvery = 256     // one in socketEvery receives reads the socket though the poller has reported nothing
	socketAgain = 256     // receives that also read the socket after one that found data there
	drainTries  = 1 << 10 // receives without a packet, while another port may be appending one to the backlog
	retryMin    = 100e3   // ns until frames for which the kernel had no room are flushed again; doubled each time
	retryMax    = 10e6
	gatewayMax  = 1280     // bytes of a packet that any path takes (RFC 8200 section 5), in practice also with IPv4
	joinedBytes = 64 << 12 // buffer that joins datagrams of several frames
)

// frameLimits sets how many frames wait in the ring at most.
var frameLimits = batch.Limits{Copied: 32}

// xdpDatapath sends and receives datagrams past the kernel's stack by AF_XDP, with the headers that the stack would
// have made. The UDP socket remains, as the datapath below. It holds the port number. It carries what AF_XDP cannot
// send or sends more slowly: runs (UDP_SEGMENT), multicast, fragments, and datagrams to peers whose Ethernet
// address is unknown. The datagrams are the same either way.
type xdpDatapath struct {
	datapath // of the socket
	fd       netx.FD
	d        *domain

	iface *xdp.Interface
	port  *xdp.Port
	table *neigh.Table
	view  *neigh.View
	rules frame.Rules
	local netip.AddrPort
	index int   // index of the interface that has the address
	class uint8 // type-of-service byte of sent packets, as the socket has it

	frames      [xdpFrames]xdp.Frame // the first `held` of them are lent to the receiver until the next call
	held        int
	got         [xdpFrames]netx.Datagram
	joined      []byte // made when first needed
	parts       [][]byte
	dgram       frame.Datagram
	woken       bool // the poller reported port.FD: the socket or the AF_XDP sockets have data
	turns       int  // number of receives so far
	socketTurns int  // number of receives to come that read the socket first
	ended       bool // the datapath is no longer usable, and all datagrams go through the socket
	onEnd       func(error)
	lower       followedLink // the interface with the AF_XDP sockets
	upper       followedLink // the interface with the address: the same one, or a VLAN device above it
	addrs       followedAddrs
	stopped     bool // the host does not have the address now, so packets to it go to the kernel's stack

	peers      map[netip.AddrPort]*xdpPeer
	last       *xdpPeer
	expected   expectedPeers
	txFrames   [netx.SegmentsMax]xdp.Frame
	packet     []byte // buffer for what leaves by the packet socket; nil if there is none
	id         uint16 // identification of the next IPv4 packet
	unflushed  int    // frames submitted since the last flush
	batch      batch.Stream
	retryAfter time.Duration // delay until submitted frames are flushed again; 0 if none wait

	sent, received, bySocket, noFrames uint64
	refused                            [frame.Reasons]uint64
}

// Reasons why a port has no AF_XDP datapath although the interface may support one.
var (
	errXDPWildcard = errors.New("the endpoint is not bound to the address of an interface: bind it to one")
	errXDPNowhere  = errors.New("no interface that is up has the endpoint's address")
	errXDPRemoved  = errors.New("the interface was removed")
	errXDPLoopback = errors.New("the interface is lo, where sockets are faster")
)

// newXDPDatapath opens an AF_XDP datapath above that of a socket, which is bound to local on the interface with the
// given index. The thread must be in the interface's network namespace. onEnd is called, locked, when AF_XDP is no
// longer usable; it calls detach.
func (d *domain) newXDPDatapath(below datapath, fd netx.FD, local netip.AddrPort, index int, class uint8, onEnd func(error)) (bypassDatapath, error) {
	ifc, err := xdpInterface(local.Addr(), index)
	if err != nil {
		return nil, err
	}
	l := &xdpDatapath{datapath: below, fd: fd, d: d, local: local, index: index, class: class, onEnd: onEnd, peers: map[netip.AddrPort]*xdpPeer{}}
	if err = l.open(ifc); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// xdpInterface returns the interface of an address, given its index, or the reason why AF_XDP is not used there.
func xdpInterface(local netip.Addr, index int) (*net.Interface, error) {
	switch {
	case local.IsUnspecified():
		return nil, errXDPWildcard
	case index == 0:
		return nil, errXDPNowhere
	}
	ifc, err := net.InterfaceByIndex(index)
	if err == nil && ifc.Flags&net.FlagLoopback != 0 {
		err = errXDPLoopback
	}
	return ifc, err
}

// xdpBelow returns the interface to use for the addresses of ifc. This is ifc itself, or, for a VLAN device, the
// device below it, where packets have tags. VLAN devices only have generic mode, so the device below is used in
// driver mode and if it is hardware. Over virtual interfaces the VLAN device itself is better: the stack keeps the
// tag of a packet that it sends outside of the packet, where no program sees it (include/linux/if_vlan.h,
// skb_vlan_tag_present).
func (s *settings) xdpBelow(ifc *net.Interface) (name string, tags []frame.Tag, err error) {
	link, tags, err := neigh.Below(ifc.Index)
	if err != nil || len(tags) == 0 {
		return ifc.Name, nil, err
	}
	below, err := net.InterfaceByIndex(link)
	if err != nil {
		return "", nil, err
	}
	if s.xdpMode == modeDriver || s.xdpMode == modeAuto && isHardware(below.Name) {
		return below.Name, tags, nil
	}
	return ifc.Name, nil, nil
}

// isHardware reports whether an interface has a device.
func isHardware(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name + "/device")
	return err == nil
}

// xdpConfig returns how to open an interface. Auto is driver mode, except over veth. There the driver first copies
// each packet that it receives, and splits the runs that go through the socket (drivers/net/veth.c, veth_xdp_set,
// veth_convert_skb_to_xdp_buff). docs/af-xdp-measurements.md has figures.
func (s *settings) xdpConfig(name string) xdp.Config {
	c := xdp.Config{Queues: s.xdpQueues, BusyPoll: time.Duration(s.xdpBusy) * time.Microsecond, NoMultiBuffer: !s.xdpFrags, NoPacketSocket: !s.xdpSingle, Mode: map[string]xdp.Mode{modeAuto: xdp.Auto, modeDriver: xdp.Driver, modeGeneric: xdp.Generic}[s.xdpMode]}
	if c.Mode == xdp.Auto && isVeth(name) {
		c.Mode = xdp.Generic
	}
	return c
}

// isVeth reports whether an interface is one end of a veth pair (veth(4)).
func isVeth(name string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	return err == nil && unix.ByteSliceToString(info.Driver[:]) == "veth"
}

func (l *xdpDatapath) open(ifc *net.Interface) (err error) {
	if l.table, err = neigh.Open(); err != nil {
		return err
	}
	l.view = l.table.View(l.local.Addr(), l.index)
	l.view.Prepare() // done before a program is attached
	name, tags, err := l.d.s.xdpBelow(ifc)
	if err != nil {
		return err
	}
	if l.iface, err = xdp.Open(name, l.d.s.xdpConfig(name)); err != nil {
		return err
	}
	if l.port, err = l.iface.Bind(l.local, tags...); err != nil {
		return err
	}
	if l.port.HasPacketSocket() {
		l.packet = make([]byte, l.iface.Chunk())
	}
	// Between virtual interfaces senders in this kernel leave checksums unfinished.
	l.rules.Unfinished = !isHardware(name)
	if err := l.port.WatchSocket(l.fd, syscall.EPOLLIN); err != nil {
		return err
	}
	if err := l.d.xdp.join(l); err != nil {
		return err
	}
	return l.follow()
}

func (l *xdpDatapath) drops() (uint32, error) {
	n, _ := l.datapath.drops() // the interface's counters are useful even without the socket's
	s, err := l.iface.Stats()
	return n + uint32(s.NoFrame+s.RingFull+s.Dropped) + uint32(l.port.Lost()), err
}

func (l *xdpDatapath) addStats(s *datagram.Stats) {
	s.BypassSent, s.BypassReceived, s.BypassRefused = l.sent, l.received, 0
	for _, n := range l.refused {
		s.BypassRefused += n
	}
}

func (l *xdpDatapath) String() string {
	s := fmt.Sprintf("%v (%d sent, %d sent through the socket, %d times no frame was free; %d received", l.iface, l.sent, l.bySocket, l.noFrames, l.received)
	for why, n := range l.refused {
		if n > 0 {
			s += fmt.Sprintf(", %d refused: %v", n, frame.Reason(why))
		}
	}
	if t, err := l.iface.Stats(); err == nil && t.NoFrame+t.RingFull+t.Dropped > 0 {
		s += fmt.Sprintf(", %d dropped by the interface, %d of them because all frames waited to be read", t.NoFrame+t.RingFull+t.Dropped, t.NoFrame)
	}
	if l.stopped {
		s += ", receives through the socket while the host does not have the address"
	}
	return fmt.Sprintf("%s; %s), beside %v", s, singleText(l.iface.Usage()), l.datapath)
}

func (l *xdpDatapath) close() {
	l.end()
	l.datapath.close()
}

func (l *xdpDatapath) detach() datapath {
	l.end()
	return l.datapath
}

// end closes everything but the socket.
func (l *xdpDatapath) end() {
	l.release()
	l.unfollow()
	l.batch.Forget(l.d.prog.Batch(), l)
	if l.port != nil {
		if l.unflushed > 0 || l.retryAfter > 0 {
			l.port.Flush() // transmits what was sent, as closing a socket does
		}
		l.d.xdp.leave(l)
		l.port.Close()
		l.port = nil
	}
	if l.iface != nil {
		l.iface.Close()
		l.iface = nil
	}
	if l.table != nil {
		l.table.Close()
		l.table = nil
	}
}
