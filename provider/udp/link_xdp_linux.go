package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/dgram"
	"gofabric/internal/mono"
	"gofabric/internal/neigh"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
)

const (
	xdpFrames   = 64      // received at once
	xdpPeers    = 1 << 16 // whose headers are kept; beyond that all are built anew
	kickMost    = 32      // frames that wait for company at most
	socketEvery = 256     // receives, of which one looks at the socket though nobody says that it has something
	socketNear  = 256     // receives that look at the socket, after one that found something there
	restTries   = 1 << 10 // receives in which nothing is the port's, before what others may be about to put aside for it is given up
	lateMin     = 100e3   // ns until what the system had no room for is offered again; doubled each time
	lateMax     = 10e6
	gatewayMax  = 1280     // bytes of a packet that any way beyond a gateway takes (RFC 8200, 5; IPv4 networks that take less are gone)
	joinedBytes = 64 << 12 // for datagrams that came in several frames
)

// xdpLink passes datagrams by the system's stack: an AF_XDP socket, and the headers that the stack would have made. The socket stays, as the link below it:
// it holds the port number, and what AF_XDP cannot or had better not do goes through it: runs, groups, peers whose Ethernet address is not known, fragments.
// Both ends of a datagram cannot tell which way it took.
type xdpLink struct {
	link // of the socket
	fd   netx.FD
	d    *domain

	iface *xdp.Interface
	port  *xdp.Port
	table *neigh.Table
	view  *neigh.View
	rules frame.Rules
	local netip.AddrPort
	index int   // of the interface that the address belongs to
	class uint8 // the type-of-service byte of what is sent, as the socket has it

	frames [xdpFrames]xdp.Frame // the first held of them are lent to the receiver until the next call
	held   int
	got    [xdpFrames]netx.Datagram
	joined []byte // made when first needed
	parts  [][]byte
	dgram  frame.Datagram
	woken  bool // the poller says that there is something, in one of the two
	turn   int  // receives so far
	near   int  // receives to come that look at the socket
	gone   bool // the interface was removed: all goes through the socket
	ended  func(error)
	below  followed // the interface of packets
	above  followed // that of the address: the same, or a VLAN device above it
	here   followedAddresses
	absent bool // the host has not got the address now: what comes is the system's

	peers  map[netip.AddrPort]*xdpPeer
	last   *xdpPeer
	ahead  expected
	out    [netx.SegmentsMax]xdp.Frame
	single []byte // a packet that leaves by itself, past the rings; nil: none does
	id     uint16
	wants  int // frames submitted since the last flush
	g      progress.Gather
	late   time.Duration // until what was submitted is flushed again; 0: nothing waits

	sent, received, bySocket, starved uint64
	refused                           [frame.Reasons]uint64
}

// xdpPeer is a destination with its headers.
type xdpPeer struct {
	addr netip.AddrPort
	dest neigh.Dest
	path *neigh.Path // that header was built for; most is 0 if it leads elsewhere
	h    frame.Header
	most int // bytes of payload in one frame
	long int // bytes of payload in as many frames as a packet may have
}

// Why a port has no AF_XDP link though the interface may be able to.
var (
	errXDPWildcard = errors.New("the endpoint has the address of no interface: bind it to one")
	errXDPNowhere  = errors.New("no interface that is up has the endpoint's address")
	errXDPRemoved  = errors.New("the interface was removed")
	errXDPLoopback = errors.New("the interface is lo, where sockets are faster")
)

// newXDPLink puts an AF_XDP link above that of a socket, which is bound to local on the interface with an index. The thread must be in the interface's network
// namespace. ended is called, locked, when the link has come to an end by itself: alone is to be called then.
func (d *domain) newXDPLink(below link, fd netx.FD, local netip.AddrPort, index int, class uint8, ended func(error)) (expressLink, error) {
	ifc, err := xdpInterface(local.Addr(), index)
	if err != nil {
		return nil, err
	}
	l := &xdpLink{link: below, fd: fd, d: d, local: local, index: index, class: class, ended: ended, peers: map[netip.AddrPort]*xdpPeer{}}
	if err = l.open(ifc); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// xdpInterface is the interface, with an index, of an address, if an AF_XDP link makes sense there.
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

// xdpBelow returns the interface to use for the addresses of one: itself, or, of a VLAN device, that below, where packets have tags. VLAN devices have generic mode
// only, so what is below them is used where driver mode is asked for, or where it is hardware. Over virtual interfaces a VLAN device itself is the better one:
// the tag of a packet that the stack sent lies beside it, where no program sees it (include/linux/if_vlan.h, skb_vlan_tag_present).
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

// isHardware reports whether there is a device behind an interface.
func isHardware(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name + "/device")
	return err == nil
}

// xdpConfig is how an interface is opened. Auto is driver mode, but not over veth: there the driver first makes a packet of its own of each that comes, and takes
// runs that go through the socket apart to do so (drivers/net/veth.c, veth_xdp_set, veth_convert_skb_to_xdp_buff). docs/af-xdp.md has figures.
func (s *settings) xdpConfig(name string) xdp.Config {
	c := xdp.Config{Queues: s.xdpQueues, BusyPoll: time.Duration(s.xdpBusy) * time.Microsecond, OneFrame: !s.xdpFrags, NoSingle: !s.xdpSingle, Mode: map[string]xdp.Mode{modeAuto: xdp.Auto, modeDriver: xdp.Driver, modeGeneric: xdp.Generic}[s.xdpMode]}
	if c.Mode == xdp.Auto && isVeth(name) {
		c.Mode = xdp.Generic
	}
	return c
}

// isVeth reports whether the driver of an interface says that it is one end of a virtual cable.
func isVeth(name string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	return err == nil && unix.ByteSliceToString(info.Driver[:]) == "veth"
}

func (l *xdpLink) open(ifc *net.Interface) (err error) {
	if l.table, err = neigh.Open(); err != nil {
		return err
	}
	l.view = l.table.View(l.local.Addr(), l.index)
	l.view.Prepare() // before a program is attached
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
	if l.port.Single() {
		l.single = make([]byte, l.iface.Chunk())
	}
	l.rules.Unfinished = !isHardware(name) // without, checksums are left unfinished by senders in this kernel
	if err := l.port.Attend(l.fd, unix.EPOLLIN); err != nil {
		return err
	}
	if err := l.d.express.join(l); err != nil {
		return err
	}
	return l.follow()
}

func (l *xdpLink) wait() netx.FD { return l.port.FD() }

func (l *xdpLink) want(ev netx.Events) error {
	events := uint32(unix.EPOLLIN)
	if ev&netx.Out != 0 {
		events |= unix.EPOLLOUT
	}
	return l.port.Attend(l.fd, events)
}

func (l *xdpLink) ready() { l.woken = true }

// direct makes the kernel stop telling of what comes while every pass looks: it does so on the time of who sends.
func (l *xdpLink) direct(on bool) error { return l.port.Watch(!on) }

func (l *xdpLink) receive(many bool) (got []netx.Datagram, last bool, err unix.Errno) {
	l.giveBack()
	if l.turn++; l.woken || l.near > 0 || l.turn%socketEvery == 0 {
		l.near = max(l.near-1, 0)
		if got, _, err = l.link.receive(many); err != unix.EAGAIN {
			l.near = socketNear
			return got, false, err
		}
	}
	if l.held = l.port.Receive(l.frames[:]); l.held > 0 {
		if got = l.parse(); len(got) > 0 {
			l.received += uint64(len(got))
			return got, l.held < xdpFrames/2, 0
		}
		l.giveBack()
	}
	if l.woken && !l.gone && l.iface.Err() != nil {
		l.becomeGone(errXDPRemoved)
	}
	l.woken = false
	return nil, true, unix.EAGAIN
}

// rest implements expressLink. Others who receive at the moment have a short time to put aside what is this one's.
func (l *xdpLink) rest() []netx.Datagram {
	l.giveBack()
	if l.port == nil || l.port.Stop() != nil {
		return nil
	}
	for range restTries {
		if l.held = l.port.Receive(l.frames[:]); l.held > 0 {
			if got := l.parse(); len(got) > 0 {
				l.received += uint64(len(got))
				return got
			}
			l.giveBack()
		} else if l.port.Quiet() {
			break
		} else {
			runtime.Gosched()
		}
	}
	return nil
}

// becomeGone is called when the interface was removed, whose descriptor would go on saying that there is something, or when nothing comes by it any more.
func (l *xdpLink) becomeGone(why error) {
	if l.gone {
		return
	}
	l.gone = true
	l.port.Follow(true)
	l.d.prog.After(mono.Now(), func(mono.Time) { // not while a receive goes through the link
		if l.port != nil {
			l.ended(why)
		}
	})
}

// giveBack ends the loan of what was received last.
func (l *xdpLink) giveBack() {
	if l.held > 0 {
		l.port.Release(l.frames[:l.held])
		l.held = 0
	}
}

// parse makes datagrams of the frames held.
func (l *xdpLink) parse() []netx.Datagram {
	n, used := 0, 0
	for i := 0; i < l.held; {
		first := i
		for l.frames[i].More {
			i++
		}
		i++
		m := &l.got[n]
		var why frame.Reason
		if first+1 == i {
			why = l.rules.Parse(&l.dgram, l.frames[first].Data)
			m.Buf = l.dgram.Payload
		} else {
			why, used = l.join(l.frames[first:i], m, used)
		}
		if why == frame.Accepted && (l.dgram.Cast != frame.Unicast || l.dgram.Link != frame.Unicast) {
			why = frame.Destination
		}
		if why != frame.Accepted {
			l.refused[why]++
			continue
		}
		m.N, m.Seg, m.Truncated = l.dgram.Len, 0, false
		if m.From.Set(l.dgram.Src, netx.Family(l.dgram.Src.Addr()), l.scope(l.dgram.Src.Addr())) == nil {
			n++
		}
	}
	return l.got[:n]
}

// scope is the interface that a link-local address belongs to.
func (l *xdpLink) scope(a netip.Addr) uint32 {
	if a.Is6() && a.IsLinkLocalUnicast() {
		return uint32(l.index)
	}
	return 0
}

// join puts a datagram together that came in several frames.
func (l *xdpLink) join(f []xdp.Frame, m *netx.Datagram, used int) (frame.Reason, int) {
	if l.joined == nil {
		l.joined = make([]byte, joinedBytes)
	}
	l.parts = l.parts[:0]
	for i := range f {
		l.parts = append(l.parts, f[i].Data)
	}
	why := l.rules.ParseList(&l.dgram, l.parts)
	if why != frame.Accepted {
		return why, used
	}
	whole := len(l.parts)
	l.parts = l.dgram.AppendParts(l.parts, l.parts)
	at := used
	for _, b := range l.parts[whole:] {
		used += copy(l.joined[used:], b)
	}
	m.Buf = l.joined[at:used]
	return why, used
}

// peer is a destination that frames can go to now, nil if the socket has to send.
func (l *xdpLink) peer(dest netip.AddrPort) *xdpPeer {
	q := l.last
	if q == nil || q.addr != dest {
		q = l.known(dest)
		l.last = q
	}
	if !l.find(q) || q.most == 0 {
		return nil
	}
	return q
}

// known is what is kept of a destination.
func (l *xdpLink) known(dest netip.AddrPort) *xdpPeer {
	q := l.peers[dest]
	if q == nil {
		if len(l.peers) >= xdpPeers {
			clear(l.peers)
		}
		q = &xdpPeer{addr: dest}
		l.peers[dest] = q
	}
	return q
}

// find has the headers of a destination be those of the way there, and reports whether one is known now; otherwise it is asked for.
func (l *xdpLink) find(q *xdpPeer) bool {
	p := l.view.Path(&q.dest, q.addr.Addr())
	if p == nil {
		return false
	}
	if p != q.path {
		l.build(q, p)
	}
	return true
}

// build makes the headers for a way.
func (l *xdpLink) build(q *xdpPeer, p *neigh.Path) {
	q.path, q.most, q.long = p, 0, 0
	tags := p.Tags
	switch l.iface.Index() {
	case p.Device:
		tags = [frame.TagsMax]frame.Tag{} // a VLAN device adds its tag itself
	case p.Link:
	default:
		return
	}
	if p.Cast != frame.Unicast || p.Src != l.local.Addr().WithZone("") {
		return
	}
	c := frame.Config{SrcMAC: p.SrcMAC, DstMAC: p.DstMAC, Tags: tags, Src: l.local, Dst: q.addr, TrafficClass: l.class}
	if q.h.Init(&c) != nil {
		return
	}
	mtu := p.MTU
	if p.NextHop.WithZone("") != q.addr.Addr().WithZone("") {
		mtu = min(mtu, gatewayMax) // what is longer the socket sends, which hears of narrow places
	}
	q.long = max(min(q.h.MaxPayload(mtu), l.iface.MaxParts()*l.iface.Chunk()-q.h.Len()), 0)
	q.most = max(min(q.long, l.iface.Chunk()-q.h.Len()), 0)
}

func (l *xdpLink) drops() (uint32, error) {
	n, _ := l.link.drops() // where the system does not tell of the socket, it still does of the interface
	s, err := l.iface.Stats()
	return n + uint32(s.NoFrame+s.RingFull+s.Dropped) + uint32(l.port.Lost()), err
}

func (l *xdpLink) bypassed(s *dgram.Stats) {
	s.BypassSent, s.BypassReceived, s.BypassRefused = l.sent, l.received, 0
	for _, n := range l.refused {
		s.BypassRefused += n
	}
}

func (l *xdpLink) String() string {
	s := fmt.Sprintf("%v (%d sent, %d left to the socket, %d for want of frames; %d received", l.iface, l.sent, l.bySocket, l.starved, l.received)
	for why, n := range l.refused {
		if n > 0 {
			s += fmt.Sprintf(", %d refused: %v", n, frame.Reason(why))
		}
	}
	if t, err := l.iface.Stats(); err == nil && t.NoFrame+t.RingFull+t.Dropped > 0 {
		s += fmt.Sprintf(", %d dropped by the interface, %d of them because all frames waited to be read", t.NoFrame+t.RingFull+t.Dropped, t.NoFrame)
	}
	if l.absent {
		s += ", nothing comes while the host has not got the address"
	}
	return fmt.Sprintf("%s; %s), beside %v", s, singleSays(l.iface.Prospect()), l.link)
}

func (l *xdpLink) close() {
	l.end()
	l.link.close()
}

func (l *xdpLink) alone() link {
	l.end()
	return l.link
}

// end closes all but the socket.
func (l *xdpLink) end() {
	l.giveBack()
	l.unfollow()
	l.g.Forget(l.d.prog, l)
	if l.port != nil {
		if l.wants > 0 || l.late > 0 {
			l.port.Flush() // what was sent is on its way, as from a socket
		}
		l.d.express.leave(l)
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
