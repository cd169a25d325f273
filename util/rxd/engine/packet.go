package engine

import "gofabric/util/rxd/wire"

// packet is a native packet that the peer has not acknowledged. Payload stays where it is: the Conn keeps it until it is told that it arrived.
type packet struct {
	next   *packet
	seq    uint64
	stream int  // bytes of the Conn's stream that it stands for
	ack    bool // its operation waits for the word that all of it arrived
	nhead  uint8
	nparts uint8
	head   [wire.MaxOpHeader]byte
	parts  [partsMax][]byte
}

// partsMax is enough slices for the payload of one packet: an operation has at most four buffers.
const partsMax = 4

// packetsKept is how many free packets an engine keeps.
const packetsKept = 1024

func (e *Engine) getPacket() *packet {
	pk := e.packets
	if pk == nil {
		return &packet{}
	}
	e.packets, pk.next = pk.next, nil
	e.npacket--
	return pk
}

func (e *Engine) putPacket(pk *packet) {
	if e.npacket >= packetsKept {
		return
	}
	clear(pk.parts[:pk.nparts])
	pk.stream, pk.ack, pk.nhead, pk.nparts = 0, false, 0, 0
	pk.next = e.packets
	e.packets = pk
	e.npacket++
}

// emit hands the packet out.
func (pk *packet) emit(p *Peer, out *Out) {
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = append(out.Head[:0], pk.head[:pk.nhead]...)
	out.Len = len(out.Head)
	for _, b := range pk.parts[:pk.nparts] {
		out.Parts = append(out.Parts, b)
		out.Len += len(b)
	}
}
