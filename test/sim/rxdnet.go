package sim

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// packet is a datagram on its way. They are used again and again.
type packet struct {
	n        *rxdNet
	from, to int
	b        []byte
	arrive   func() // bound to the packet
}

// rxdNet carries datagrams between nodes, and loses, repeats, reorders and damages some. With a rate it has a queue in front of each receiver.
type rxdNet struct {
	w                           *rxdWorld
	loss, dup, reorder, corrupt float64
	late                        float64 // share of repeated datagrams of which the copy comes much later
	latest                      int64   // up to so much, nanoseconds
	delay, jitter               int64   // nanoseconds
	bps                         int64   // bytes per second towards a node; 0: any number
	queue                       int64   // bytes that fit before it
	freeAt                      []int64
	cut                         map[[2]int]int64 // from, to: no way until then
	free                        []*packet
	sent, lost, full            int
}

// rxdAddr is the address of a node.
func rxdAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), uint16(1000+i))
}

func rxdNumber(a netip.AddrPort) int { return int(a.Port()) - 1000 }

// send takes a datagram, of which head and parts are borrowed.
func (n *rxdNet) send(from int, to netip.AddrPort, head []byte, parts [][]byte) {
	s, dest := n.w.s, rxdNumber(to)
	n.sent++
	if end, ok := n.cut[[2]int{from, dest}]; ok && s.Now < end || s.Float64() < n.loss {
		n.lost++
		return
	}
	times := 1
	if s.Float64() < n.dup {
		times = 2
	}
	for i := range times {
		p := n.packet()
		p.from, p.to = from, dest
		p.b = append(p.b[:0], head...)
		for _, part := range parts {
			p.b = append(p.b, part...)
		}
		if s.Float64() < n.corrupt && checked(p.b) {
			p.b[s.IntN(len(p.b))] ^= 1 << s.IntN(8)
		}
		d := n.delay
		if n.jitter > 0 {
			d += s.Int64N(n.jitter)
		}
		if s.Float64() < n.reorder {
			d += s.Int64N(10*n.delay + 1)
		}
		if i > 0 && s.Float64() < n.late {
			d += s.Int64N(n.latest)
		}
		if n.bps > 0 {
			free := max(n.freeAt[dest], s.Now)
			if (free-s.Now)*n.bps/1e9+int64(len(p.b)) > n.queue {
				n.full++
				n.free = append(n.free, p)
				continue
			}
			n.freeAt[dest] = free + int64(len(p.b))*1e9/n.bps
			d += n.freeAt[dest] - s.Now
		}
		s.After(d, p.arrive)
	}
}

// checked reports that a datagram has a checksum of its own. Native packets have none: they depend on UDP's.
func checked(b []byte) bool {
	switch wire.Type(b[1]) {
	case wire.TypeRTS:
		return b[0] == wire.XMagic || len(b) > wire.RTSLen
	case wire.TypeCTS:
		return len(b) > wire.CTSLen
	}
	return false
}

func (n *rxdNet) packet() *packet {
	if k := len(n.free); k > 0 {
		p := n.free[k-1]
		n.free = n.free[:k-1]
		return p
	}
	p := &packet{n: n}
	p.arrive = func() { n.w.nodes[p.to].arrived(p) }
	return p
}
