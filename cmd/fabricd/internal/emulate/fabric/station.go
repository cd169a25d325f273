package fabric

import (
	"encoding/binary"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// This file has the path of frames through switches. It reads addresses as bytes: a decoder would cost more than
// the rest of the path.

// maxLearned is the largest number of addresses that a switch learns, of stations behind nodes' interfaces
// (bridges, containers).
const maxLearned = 4096

// station is a switch.
type station struct {
	ports   []*pipe   // leading away from it
	next    [][]*pipe // shortest ways to each switch, nil if there is none
	learned map[[6]byte]*pipe
	lost    uint64 // frames without a way
}

// macPrefix is the prefix of the addresses of nodes' interfaces. The interface's number follows. Bit 1 of the first
// byte marks a locally administered address (IEEE 802).
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

// forward forwards a frame that arrived at s through the pipe from.
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

// learn records the port of a station that is not a node's interface. The tree leads to it, as floods use the tree.
func (n *network) learn(s *station, from *pipe, b []byte) {
	if b[6]&1 != 0 || n.faceOf(b[6:]) >= 0 || !from.tree {
		return
	}
	if len(s.learned) >= maxLearned {
		clear(s.learned)
	}
	s.learned[[6]byte(b[6:])] = n.back(from)
}

// flood sends a frame along the tree in all directions except back.
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

// towards returns the pipe that leads from s to an interface. Among several of the same length, all frames of a
// flow use the same (ECMP, RFC 2992).
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

// flowHash returns the same value for all frames of a flow. It hashes the addresses and, of unfragmented IP packets
// without options or extension headers, protocol and ports.
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
		if binary.BigEndian.Uint16(b[20:])&0x3fff == 0 && hasPorts(b[23]) { // not a fragment
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

// hasPorts reports whether the packets of a protocol begin with two ports: TCP, UDP. The first bytes of others
// differ from packet to packet, such as the checksum of ICMP and the offset of IPv6 fragments.
func hasPorts(protocol byte) bool { return protocol == 6 || protocol == 17 }
