// The port: the access of an endpoint or a layer to a UDP socket (package datagram).

package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

// port is a socket with its multicast groups. The domain's lock guards all of it.
type port struct {
	d      *domain
	r      datagram.Receiver
	idler  datagram.Idler // r, if it implements Idler
	refuse datagram.Refusals
	main   *socket
	groups map[netip.Addr]*socket // sockets by group; main if it is a member itself
	family int
	local  netip.AddrPort
	index  int   // index of the interface that has local, 0 if unknown
	class  uint8 // type-of-service byte of sent packets

	to       netx.SockAddr // the kernel's form of dest
	dest     netip.AddrPort
	segments int  // most datagrams of one send
	blocked  bool // the socket's send buffer is full
	closed   bool

	sameHost *sameHost // nil if no memory is shared
	paths    paths
	zones    zones
	stats    datagram.Stats
	icmp     uint64         // errors that the network reported of earlier sends
	reports  bool           // reported errors wait in the socket's error queue
	xdp      bypassDatapath // nil: all datagrams go through the socket
	noXDP    error          // why xdp is nil although FI_UDP_LINK asks for it
	gsoOff   error          // why runs are no longer sent
	recvBuf  int            // bytes of the receive buffer that the system granted
}

var (
	_ datagram.DatapathSetter = (*port)(nil)
	_ datagram.Port           = (*port)(nil)
	_ datagram.Joiner         = (*port)(nil)
)

// openPort opens a port at the source address of info. Not locked.
func openPort(d *domain, info *core.Info, r datagram.Receiver) (*port, error) {
	if info == nil || r == nil {
		return nil, opError("fi_endpoint", d.Name(), core.ErrInval, "pass an Info from GetInfo and a receiver")
	}
	at, err := sourceOf(info)
	if err != nil {
		return nil, opError("fi_endpoint", d.Name(), err, "the source address is not an IP address")
	}
	p := &port{d: d, r: r, family: netx.Family(at.Addr())}
	p.idler, _ = r.(datagram.Idler)
	p.refuse, _ = r.(datagram.Refusals)
	fd, err := p.bind(at)
	if err != nil {
		return nil, opError("fi_endpoint", at.String(), err, bindHint(err))
	}
	p.setUp(fd)
	if p.class = classOf(info); p.class != 0 {
		if err := netx.SetDSCP(fd, int(p.class)); err != nil {
			netx.Close(fd)
			return nil, opError("fi_endpoint", at.String(), err, "the system refuses the traffic class")
		}
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	if p.main, err = p.register(fd); err != nil {
		return nil, opError("fi_endpoint", at.String(), err, "descriptors may have run out (ulimit -n)")
	}
	p.segments = p.main.datapath.segments()
	p.sameHost = newSameHost(p)
	d.Ref()
	return p, nil
}

// classOf returns the type-of-service byte that an Info asks for.
func classOf(info *core.Info) uint8 {
	if info.Tx == nil {
		return 0
	}
	return uint8(info.Tx.TClass.TOS())
}

// sourceOf returns the source address of an Info, or the unspecified address.
func sourceOf(info *core.Info) (netip.AddrPort, error) {
	a := info.SrcAddr
	switch {
	case !a.IsZero() && !a.IP.Addr().IsValid():
		return netip.AddrPort{}, core.ErrInval
	case !a.IsZero():
		return netip.AddrPortFrom(a.IP.Addr().Unmap(), a.IP.Port()), nil
	case info.AddrFormat == core.FormatSockaddrIn6 || info.DestAddr.IP.Addr().Is6():
		return netip.AddrPortFrom(netip.IPv6Unspecified(), 0), nil
	}
	return netip.AddrPortFrom(netip.IPv4Unspecified(), 0), nil
}

// bind opens the socket and binds it.
func (p *port) bind(at netip.AddrPort) (netx.FD, error) {
	fd, err := netx.DatagramSocket(p.family)
	if err != nil {
		return netx.NoFD, err
	}
	if at.Addr() == netip.IPv6Unspecified() {
		netx.SetV6Only(fd, false) // serves IPv4 peers, too, if the system allows it
	}
	if err = netx.Bind(fd, at); err == nil {
		if p.local, err = netx.LocalAddr(fd); err == nil {
			return fd, nil
		}
	}
	netx.Close(fd)
	return netx.NoFD, err
}

// setUp sets the socket's options. Almost all of them may fail.
func (p *port) setUp(fd netx.FD) {
	p.local = netip.AddrPortFrom(p.local.Addr().Unmap(), p.local.Port())
	_, p.recvBuf, _ = netx.GrowBuffers(fd, sendBuf, p.d.s.recvBuf)
	netx.SetFragment(fd, p.family, false)
	if p.refuse != nil {
		netx.ReportErrors(fd, p.family) // on systems without it, missing peers are noticed only by their silence
	}
	a := p.local.Addr()
	if !a.IsUnspecified() {
		p.index = interfaceOf(a)
		netx.SetMulticast(fd, p.family, a, p.index, multicastHops, true)
	}
}

// interfaceOf returns the index of the interface that has an address, 0 if none is found.
func interfaceOf(a netip.Addr) int {
	ifs, err := netx.Interfaces()
	if err != nil {
		return 0
	}
	for _, i := range ifs {
		if i.Addr == a || a.Zone() == "" && i.Addr.WithZone("") == a {
			return i.Index
		}
	}
	return 0
}

// Progress returns the domain's engine.
func (p *port) Progress() *progress.Engine { return p.d.prog }

// Local implements datagram.Port.
func (p *port) Local() netip.AddrPort { return p.local }

// Space implements datagram.Spaced.
func (p *port) Space() uint64 {
	n, _ := netx.Namespace(p.main.fd)
	return n
}

// ReceiveBuffer implements datagram.Buffered.
func (p *port) ReceiveBuffer() int { return p.recvBuf }

// MaxSegments implements datagram.Port.
func (p *port) MaxSegments() int { return p.segments }

// Stats implements datagram.Port.
func (p *port) Stats() datagram.Stats {
	if !p.closed {
		p.main.countDrops()
		for _, s := range p.groups {
			if s != p.main {
				s.countDrops()
			}
		}
		if p.xdp != nil {
			p.xdp.addStats(&p.stats)
		}
	}
	return p.stats
}

// String describes the port and its datapath to users.
func (p *port) String() string {
	if p.closed {
		return fmt.Sprintf("udp %s, closed", p.local)
	}
	gso := "off"
	switch {
	case p.segments > 1:
		gso = fmt.Sprintf("%d datagrams", p.segments)
	case p.gsoOff != nil:
		gso = "off after " + p.gsoOff.Error()
	}
	s := fmt.Sprintf("udp %s, %v, GSO %s, receive buffer %d KiB, %d ICMP errors", p.local, p.main.datapath, gso, p.recvBuf>>10, p.icmp)
	if p.noXDP != nil {
		s += ", no AF_XDP: " + p.noXDP.Error()
	}
	return s
}

// Poll implements datagram.Port.
func (p *port) Poll() {
	if p.closed {
		return
	}
	p.main.Poll()
	for _, s := range p.groups {
		if p.closed {
			return
		}
		if s != p.main {
			s.receive()
		}
	}
}

// Close implements datagram.Port.
func (p *port) Close() error {
	if p.closed {
		return core.ErrOpBadState
	}
	p.Stats()
	p.closed = true
	for _, s := range p.groups {
		if s != p.main {
			s.close()
		}
	}
	clear(p.groups)
	if p.sameHost != nil {
		p.sameHost.close()
	}
	p.paths.close()
	p.main.close()
	p.d.Unref()
	return nil
}

// writable reports to the receiver that the socket takes datagrams again.
func (p *port) writable() {
	if !p.blocked || p.closed {
		return
	}
	p.blocked = false
	if err := p.main.want(netx.In); err != nil {
		p.lost(err)
		return
	}
	p.r.Writable()
}

// openXDP adds an AF_XDP datapath to the main socket if FI_UDP_LINK asks for it. If that fails, noXDP is the reason.
func (p *port) openXDP(s *socket) {
	if p.d.s.link != linkXDP && p.d.s.link != linkAuto {
		return
	}
	_ = p.addXDP(s)
}

// addXDP puts an AF_XDP datapath above that of the main socket, and registers the socket again.
func (p *port) addXDP(s *socket) error {
	l, err := p.d.newXDPDatapath(s.datapath, s.fd, p.local, p.index, p.class, func(why error) {
		if p.xdp != nil && !p.closed {
			if err := p.useSockets(why); err != nil {
				p.lost(err)
			}
		}
	})
	if p.noXDP = err; err != nil {
		return err
	}
	s.datapath, p.xdp = l, l
	s.drops, _ = l.drops() // the interface may have been open before; if this fails, later calls fail as well
	return nil
}

// removeXDP ends the main socket's AF_XDP datapath for the reason why, and registers the socket again.
func (p *port) removeXDP(s *socket, why error) {
	p.xdp.addStats(&p.stats)
	s.datapath, p.xdp, p.noXDP = p.xdp.detach(), nil, why
	s.drops, _ = s.datapath.drops()
}

// useSockets sends and receives all datagrams through the main socket from now on, for the reason why. It first
// delivers what came by AF_XDP. The receiver may close the port during that.
func (p *port) useSockets(why error) error {
	s := p.main
	s.drain(p.xdp)
	if p.closed {
		return nil
	}
	s.countDrops()
	s.h.Remove()
	p.removeXDP(s, why)
	return p.registerAgain()
}

// registerAgain registers the main socket with the poller, with its new datapath.
func (p *port) registerAgain() error {
	s := p.main
	s.direct = false
	h, err := p.d.prog.Register(s.datapath.wait(), s, true, netx.In)
	if err != nil {
		return err
	}
	s.h = h
	if p.blocked {
		err = s.want(netx.In | netx.Out)
	}
	return err
}

// useXDP sends and receives by AF_XDP from now on, or returns the reason why it cannot.
func (p *port) useXDP() error {
	s := p.main
	p.index = interfaceOf(p.local.Addr()) // the address may have moved since the port was opened
	if err := p.addXDP(s); err != nil {
		return err
	}
	s.h.Remove()
	err := p.registerAgain()
	if err == nil {
		return nil
	}
	p.removeXDP(s, err)
	if again := p.registerAgain(); again != nil {
		p.lost(again)
	}
	return err
}

// errChosen is the reason why a port that had an AF_XDP datapath has none.
var errChosen = errors.New("the application chose sockets (DatapathSockets)")

// Datapath implements datagram.DatapathSetter.
func (p *port) Datapath() core.Datapath {
	if p.xdp != nil {
		return core.DatapathXDP
	}
	return core.DatapathSockets
}

// SetDatapath implements datagram.DatapathSetter.
func (p *port) SetDatapath(to core.Datapath) error {
	switch {
	case p.closed:
		return core.ErrOpBadState
	case to < core.DatapathSockets || to > core.DatapathAuto:
		return opError("fi_setopt", p.local.String(), core.ErrInval, "the value must be DatapathSockets, DatapathXDP or DatapathAuto")
	case to == core.DatapathSockets && p.xdp != nil:
		return p.useSockets(errChosen)
	case to != core.DatapathSockets && p.xdp == nil:
		if p.sameHost != nil {
			p.sameHost.drain()
			if p.closed {
				return nil
			}
			p.sameHost.close()
		}
		if err := p.useXDP(); err != nil && to == core.DatapathXDP {
			return opError("fi_setopt", p.local.String(), core.ErrOpNotSupp, err.Error())
		}
	}
	return nil
}

// block notes that the socket's send buffer is full.
func (p *port) block() {
	p.blocked = true
	if err := p.main.want(netx.In | netx.Out); err != nil {
		p.lost(err)
	}
}

// lost ends the use of the port.
func (p *port) lost(err error) {
	if p.closed {
		return
	}
	if e, ok := err.(syscall.Errno); ok {
		err = core.FromSyscall(e)
	}
	p.r.Lost(err)
}
