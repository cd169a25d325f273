package udp

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/samehost"
)

// A port that connects to another port of this host (internal/samehost) sends a hello. It has the sender's address
// and port number, and those of the port that it wants, with 16 bytes and a big-endian u16 each. There is no
// answer. A port that does not want to share memory closes the connection.
const shmHelloLen = 2 * 18

func appendShmHello(b []byte, from, to netip.AddrPort) []byte {
	for _, a := range []netip.AddrPort{from, to} {
		ip := a.Addr().As16()
		b = append(b, ip[:]...)
		b = binary.BigEndian.AppendUint16(b, a.Port())
	}
	return b
}

// parseShmHello returns the sender's address of a hello to the port at `to`. b has shmHelloLen bytes.
func parseShmHello(b []byte, to netip.AddrPort) (from netip.AddrPort, ok bool) {
	if len(b) != shmHelloLen {
		return from, false
	}
	a := netip.AddrFrom16([16]byte(b[:16])).Unmap()
	if a == to.Addr().WithZone("") {
		a = to.Addr() // IPv6 link-local peers are in the same zone
	}
	from = netip.AddrPortFrom(a, binary.BigEndian.Uint16(b[16:]))
	return from, from.Port() != 0 && from != to && samehost.Addresses(to.Addr(), a) && string(b) == string(appendShmHello(nil, from, to))
}
