package fabric

import (
	"encoding/binary"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// The frames' path through switches. Addresses are looked at as bytes: a decoder would cost more than all the rest.

// maxLearned is how many addresses a switch learns, of stations behind nodes' interfaces (bridges, containers).
const maxLearned = 4096

// station is a switch.
type station struct {
	ports   []*pipe   // away from it
	next    [][]*pipe // ways of the same length to each switch, nil: none
	learned map[[6]byte]*pipe
	lost    uint64 // frames that no way leads on for
}

// macPrefix begins the addresses of nodes' interfaces; the number of the interface follows. Bit 1 of the first byte: an address of our own making.
var macPrefix = [4]byte{0x02, 0xfa, 0xb0, 0x00}

// macOf returns the address of an interface.
func macOf(face int) (mac [6]byte) {
	copy(mac[:], macPrefix[:])
	binary.BigEndian.PutUint16(mac[4:], uint16(face))
	return mac
}

// faceOf returns the interface that has an address, or -1.
func (n *network) faceOf(mac []byte) int {
	if [4]byte(mac) != macPrefix {
		return -1
	}
	if i := int(binary.BigEndian.Uint16(mac[4:])); i < len(n.faces) {
		return i
	}
	return -1
}

// forward sends on a frame that came to s through the pipe from.
func (n *network) forward(s *station, from *pipe, f *link.Frame) {
	if len(f.B) < 14 {
		s.lost++
		n.pool.put(f)
		return
	}
	n.learn(s, from, f.B)
	if to := n.faceOf(f.B); to >= 0 {
		if p := n.towards(s, to, f.B); p != nil {
			n.enter(p, f)
			return
		}
		s.lost++
		n.pool.put(f)
		return
	}
	if p := s.learned[[6]byte(f.B)]; p != nil {
		if p == n.back(from) {
			n.pool.put(f) // the receiver has it already
			return
		}
		n.enter(p, f)
		return
	}
	n.flood(s, from, f)
}

// learn notes where a station that is not a node's interface is, on the tree, where floods are the way to it.
func (n *network) learn(s *station, from *pipe, b []byte) {
	if b[6]&1 != 0 || n.faceOf(b[6:]) >= 0 || !from.tree {
		return
	}
	if len(s.learned) >= maxLearned {
		clear(s.learned)
	}
	s.learned[[6]byte(b[6:])] = n.back(from)
}

// flood sends a frame wherever the tree leads, but not back.
func (n *network) flood(s *station, from *pipe, f *link.Frame) {
	for _, p := range s.ports {
		if !p.tree || p.number == from.number^1 {
			continue
		}
		twin := n.Copy(f)
		if twin == nil {
			p.link.Refused()
			continue
		}
		n.enter(p, twin)
	}
	n.pool.put(f)
}

// towards returns the pipe that leads from s to an interface: one of those of the same length, the same for all frames of a flow.
func (n *network) towards(s *station, to int, b []byte) *pipe {
	last := n.back(n.faces[to].out) // into the interface
	at := n.faces[to].out.to.station
	if at < 0 {
		return nil // a cable between two nodes
	}
	if &n.switches[at] == s {
		return last
	}
	switch ways := s.next[at]; len(ways) {
	case 0:
		return nil
	case 1:
		return ways[0]
	default:
		return ways[int(flowHash(b, n.top.Seed)%uint64(len(ways)))]
	}
}

// flowHash is the same for all frames of a flow: addresses and, of whole IP packets without options or extension headers, protocol and ports.
func flowHash(b []byte, seed uint64) uint64 {
	h := seed ^ 0xcbf29ce484222325
	mix := func(part []byte) {
		for _, c := range part {
			h = (h ^ uint64(c)) * 0x100000001b3 // FNV-1a
		}
	}
	mix(b[:14])
	switch {
	case binary.BigEndian.Uint16(b[12:]) == 0x0800 && len(b) >= 38 && b[14] == 0x45:
		mix(b[23:24])
		mix(b[26:34])
		if binary.BigEndian.Uint16(b[20:])&0x3fff == 0 && hasPorts(b[23]) { // no fragment
			mix(b[34:38])
		}
	case binary.BigEndian.Uint16(b[12:]) == 0x86dd && len(b) >= 58:
		mix(b[20:21])
		mix(b[22:54])
		if hasPorts(b[20]) {
			mix(b[54:58])
		}
	}
	return h ^ h>>32
}

// hasPorts reports whether the packets of a protocol begin with two ports: TCP, UDP. In those of others there is something else, which differs from packet to packet: the
// checksum of ICMP, the offset of IPv6' fragments.
func hasPorts(protocol byte) bool { return protocol == 6 || protocol == 17 }
