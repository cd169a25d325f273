package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/dgram"
	"gofabric/internal/mono"
	"gofabric/internal/neigh"
	"gofabric/internal/netx"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
)

const (
	xdpFrames   = 64      // received at once
	xdpPeers    = 1 << 16 // whose headers are kept; beyond that all are built anew
	socketEvery = 32      // receives, of which one looks at the socket though nobody says that it has something
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
	set   netx.FD // what the poller watches: the AF_XDP socket, and the other one
	table *neigh.Table
	view  *neigh.View
	rules frame.Rules
	local netip.AddrPort
	index int // of the interface that the address belongs to

	frames [xdpFrames]xdp.Frame // the first held of them are lent to the receiver until the next call
	held   int
	got    [xdpFrames]netx.Datagram
	joined []byte // made when first needed
	parts  [][]byte
	dgram  frame.Datagram
	woken  bool // the poller says that there is something, in one of the two
	turn   int  // receives so far
	gone   bool // the interface was removed: all goes through the socket

	peers map[netip.AddrPort]*xdpPeer
	last  *xdpPeer
	out   [netx.SegmentsMax]xdp.Frame
	id    uint16
	late  time.Duration // until what was submitted is flushed again; 0: nothing waits

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
}

// Why a port has no AF_XDP link though the interface may be able to.
var (
	errXDPWildcard = errors.New("the endpoint has the address of no interface: bind it to one")
	errXDPLoopback = errors.New("the interface is lo, where sockets are faster")
)

// newXDPLink puts an AF_XDP link above that of a socket, which is bound to local on the interface with an index. The thread must be in the interface's network
// namespace.
func (d *domain) newXDPLink(below link, fd netx.FD, local netip.AddrPort, index int) (expressLink, error) {
	ifc, err := xdpInterface(local.Addr(), index)
	if err != nil {
		return nil, err
	}
	l := &xdpLink{link: below, fd: fd, d: d, set: netx.NoFD, local: local, index: index, peers: map[netip.AddrPort]*xdpPeer{}}
	if err = l.open(ifc); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// xdpInterface is the interface, with an index, of an address, if an AF_XDP link makes sense there.
func xdpInterface(local netip.Addr, index int) (*net.Interface, error) {
	if local.IsUnspecified() || index == 0 {
		return nil, errXDPWildcard
	}
	ifc, err := net.InterfaceByIndex(index)
	if err == nil && ifc.Flags&net.FlagLoopback != 0 {
		err = errXDPLoopback
	}
	return ifc, err
}

// probeXDP says why an endpoint with this address would have no AF_XDP link, as far as can be told without one.
func probeXDP(local netip.Addr) error {
	ifc, err := xdpInterface(local, interfaceOf(local))
	if err != nil {
		return err
	}
	return xdp.Probe(ifc.Name)
}

func (l *xdpLink) open(ifc *net.Interface) (err error) {
	if l.table, err = neigh.Open(); err != nil {
		return err
	}
	l.view = l.table.View(l.local.Addr(), l.index)
	if l.iface, err = xdp.Open(ifc.Name, xdp.Config{}); err != nil {
		return err
	}
	if l.port, err = l.iface.Bind(l.local); err != nil {
		return err
	}
	copy(l.rules.MAC[:], ifc.HardwareAddr)
	if _, err := os.Stat("/sys/class/net/" + ifc.Name + "/device"); err != nil {
		l.rules.Unfinished = true // no hardware: checksums are left unfinished by senders in this kernel
	}
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	l.set = netx.FD(set)
	for _, fd := range []netx.FD{l.port.FD(), l.fd} {
		if err := unix.EpollCtl(set, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			return err
		}
	}
	return nil
}

func (l *xdpLink) wait() netx.FD { return l.set }

func (l *xdpLink) ready() { l.woken = true }

func (l *xdpLink) receive(many bool) (got []netx.Datagram, last bool, err unix.Errno) {
	l.giveBack()
	if l.turn++; l.woken || l.turn%socketEvery == 0 {
		if got, _, err = l.link.receive(many); err != unix.EAGAIN {
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
		l.becomeGone()
	}
	l.woken = false
	return nil, true, unix.EAGAIN
}

// becomeGone is called when the interface was removed: its descriptor would go on saying that there is something.
func (l *xdpLink) becomeGone() {
	l.gone = true
	unix.EpollCtl(int(l.set), unix.EPOLL_CTL_DEL, int(l.port.FD()), nil)
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

// express sends what is to be one datagram of total bytes, or with seg several of them, if it can: nothing of it has left otherwise.
func (l *xdpLink) express(dest netip.AddrPort, parts [][]byte, total, seg int) bool {
	count := 1
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	} else {
		seg = total
	}
	q := l.peer(dest)
	if q == nil || l.gone || seg > q.most || count > len(l.out) || count > 1 && l.link.segments() > 1 {
		l.bySocket += uint64(count)
		return false
	}
	if n := l.port.Reserve(l.out[:count]); n < count {
		l.port.Discard(l.out[:n])
		l.starved++
		return false
	}
	from := cursor{parts: parts}
	for i := range count {
		f := &l.out[i]
		n := from.read(f.Data[q.h.Len():][:min(seg, total)])
		total -= n
		l.id++
		f.Data = f.Data[:q.h.Put(f.Data, f.Data[q.h.Len():][:n], l.id)]
	}
	if l.port.Submit(l.out[:count]) != 0 {
		l.port.Discard(l.out[:count])
		return false
	}
	l.sent += uint64(count)
	l.flush()
	return true
}

// flush makes the system send what was submitted. What it has no room for, or has no interface for at the moment, it gets again: such datagrams are late, not
// lost.
func (l *xdpLink) flush() {
	if l.late > 0 || l.port.Flush() == 0 {
		return
	}
	l.retry(lateMin)
}

// retry flushes after a time, until it works.
func (l *xdpLink) retry(after time.Duration) {
	l.late = after
	l.d.prog.After(mono.Now().Add(after), func(mono.Time) {
		if l.late = 0; l.port != nil && l.port.Flush() != 0 {
			l.retry(min(2*after, lateMax))
		}
	})
}

// peer is a destination that frames can go to now, nil if the socket has to send.
func (l *xdpLink) peer(dest netip.AddrPort) *xdpPeer {
	q := l.last
	if q == nil || q.addr != dest {
		if q = l.peers[dest]; q == nil {
			if len(l.peers) >= xdpPeers {
				clear(l.peers)
			}
			q = &xdpPeer{addr: dest}
			l.peers[dest] = q
		}
		l.last = q
	}
	p := l.view.Path(&q.dest, dest.Addr())
	if p == nil {
		return nil
	}
	if p != q.path {
		l.build(q, p)
	}
	if q.most == 0 {
		return nil
	}
	return q
}

// build makes the headers for a way.
func (l *xdpLink) build(q *xdpPeer, p *neigh.Path) {
	q.path, q.most = p, 0
	if p.Link != l.iface.Index() || p.Cast != frame.Unicast || p.Src != l.local.Addr().WithZone("") {
		return
	}
	c := frame.Config{SrcMAC: p.SrcMAC, DstMAC: p.DstMAC, Tags: p.Tags, Src: l.local, Dst: q.addr}
	if q.h.Init(&c) != nil {
		return
	}
	mtu := p.MTU
	if p.NextHop.WithZone("") != q.addr.Addr().WithZone("") {
		mtu = min(mtu, gatewayMax) // what is longer the socket sends, which hears of narrow places
	}
	q.most = max(min(q.h.MaxPayload(mtu), l.iface.Chunk()-q.h.Len()), 0)
}

// cursor reads parts one after the other.
type cursor struct {
	parts [][]byte
	off   int
}

// read fills b and returns how much there was.
func (c *cursor) read(b []byte) (n int) {
	for n < len(b) && len(c.parts) > 0 {
		k := copy(b[n:], c.parts[0][c.off:])
		n += k
		if c.off += k; c.off == len(c.parts[0]) {
			c.parts, c.off = c.parts[1:], 0
		}
	}
	return n
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
	return fmt.Sprintf("%s), beside %v", s, l.link)
}

func (l *xdpLink) close() {
	l.end()
	l.link.close()
}

// end closes all but the socket.
func (l *xdpLink) end() {
	l.giveBack()
	if l.port != nil {
		l.port.Close()
		l.port = nil
	}
	if l.iface != nil {
		l.iface.Close()
		l.iface = nil
	}
	if l.table != nil {
		l.table.Close()
	}
	if l.set != netx.NoFD {
		netx.Close(l.set)
	}
}
