package udp

import (
	"net/netip"

	"gofabric/internal/neigh"
	"gofabric/internal/xdp/frame"
)

// xdpPeer is a destination with its headers.
type xdpPeer struct {
	addr      netip.AddrPort
	dest      neigh.Dest
	path      *neigh.Path // path of h; maxFrame is 0 if it leads through another interface
	h         frame.Header
	maxFrame  int // most payload in one frame, in bytes
	maxPacket int // most payload in one packet of several frames, in bytes
}

// peer returns a destination that frames can be sent to now, nil if the socket must send.
func (l *xdpDatapath) peer(dest netip.AddrPort) *xdpPeer {
	q := l.last
	if q == nil || q.addr != dest {
		q = l.known(dest)
		l.last = q
	}
	if !l.find(q) || q.maxFrame == 0 {
		return nil
	}
	return q
}

// known returns the entry of a destination.
func (l *xdpDatapath) known(dest netip.AddrPort) *xdpPeer {
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

// find builds the headers of a destination if its path is new or has changed, and reports whether the path is
// known. If not, the table queries it.
func (l *xdpDatapath) find(q *xdpPeer) bool {
	p := l.view.Path(&q.dest, q.addr.Addr())
	if p == nil {
		return false
	}
	if p != q.path {
		l.build(q, p)
	}
	return true
}

// build makes the headers for a path.
func (l *xdpDatapath) build(q *xdpPeer, p *neigh.Path) {
	q.path, q.maxFrame, q.maxPacket = p, 0, 0
	tags := p.Tags
	switch l.iface.Index() {
	case p.Device:
		tags = [frame.TagsMax]frame.Tag{} // the VLAN device adds its tag itself
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
		mtu = min(mtu, gatewayMax) // the socket sends longer ones, because the kernel discovers the path's MTU
	}
	q.maxPacket = max(min(q.h.MaxPayload(mtu), l.iface.MaxFrames()*l.iface.Chunk()-q.h.Len()), 0)
	q.maxFrame = max(min(q.maxPacket, l.iface.Chunk()-q.h.Len()), 0)
}
