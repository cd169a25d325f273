package udp

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/samehost"
)

// The hello of a port that connects to another port of this host (internal/samehost) has its own address and port number, and those of the port that it wants:
// 16 bytes and u16 big-endian each. There is no answer; a port that does not want to share memory closes the connection.
const shmHelloLen = 2 * 18

func appendShmHello(b []byte, from, to netip.AddrPort) []byte {
	for _, a := range []netip.AddrPort{from, to} {
		ip := a.Addr().As16()
		b = append(b, ip[:]...)
		b = binary.BigEndian.AppendUint16(b, a.Port())
	}
	return b
}

// parseShmHello returns the sender's address in a hello, shmHelloLen bytes, to the port at to.
func parseShmHello(b []byte, to netip.AddrPort) (from netip.AddrPort, ok bool) {
	if len(b) != shmHelloLen {
		return from, false
	}
	a := netip.AddrFrom16([16]byte(b[:16])).Unmap()
	if a == to.Addr().WithZone("") {
		a = to.Addr() // in the same zone
	}
	from = netip.AddrPortFrom(a, binary.BigEndian.Uint16(b[16:]))
	return from, from.Port() != 0 && from != to && samehost.Addresses(to.Addr(), a) && string(b) == string(appendShmHello(nil, from, to))
}
