package session

import "gofabric/util/rxd/wire"

// packet is a native packet that the peer has not acknowledged. Only its header is copied. The payload stays in the
// Conn's queue or in the buffers of the application, until Conn.Transmitted releases it.
type packet struct {
	next    *packet // in the list of the gateway, or in the free list
	seq     uint64  // its sequence number
	stream  int     // bytes of the Conn's stream that its acknowledgement releases
	confirm bool    // the operation completes when this packet is acknowledged (delivery complete)
	nhead   uint8   // bytes of head
	nparts  uint8
	head    [wire.MaxOpHeader]byte
	parts   [partsMax][]byte
}

// partsMax is the number of slices for the payload of one packet. An operation has at most four buffers (FI_OFI_RXD
// iov_limit).
const partsMax = 4

// packetsKept is how many free packets an engine keeps. The garbage collector gets those beyond.
const packetsKept = 1024

// getPacket returns an empty packet.
func (e *Engine) getPacket() *packet {
	pk := e.packets
	if pk == nil {
		return &packet{}
	}
	e.packets, pk.next = pk.next, nil
	e.npacket--
	return pk
}

// putPacket takes a packet back. clear drops the references to the application's buffers.
func (e *Engine) putPacket(pk *packet) {
	if e.npacket >= packetsKept {
		return
	}
	clear(pk.parts[:pk.nparts])
	pk.stream, pk.confirm, pk.nhead, pk.nparts = 0, false, 0, 0
	pk.next = e.packets
	e.packets = pk
	e.npacket++
}

// emit fills in out with the packet.
func (pk *packet) emit(p *Peer, out *Out) {
	out.To, out.Peer, out.Ext = p.Addr, p, false
	out.Head = append(out.Head[:0], pk.head[:pk.nhead]...)
	out.Len = len(out.Head)
	for _, b := range pk.parts[:pk.nparts] {
		out.Parts = append(out.Parts, b)
		out.Len += len(b)
	}
}
