package udp

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/shm"
)

// What a port says that connects to a neighbour, in one message with the memory: 8 bytes helloMagic, u32 version, u32 bytes of memory, little-endian; its own
// address and port number, and those that it looks for, 16 bytes and u16 big-endian each. There is no answer: who does not want it closes the connection.
const (
	helloMagic   = "gofabric"
	helloVersion = 1
	helloLen     = 16 + 2*18
)

func appendHello(b []byte, from, to netip.AddrPort) []byte {
	b = append(b, helloMagic...)
	b = binary.LittleEndian.AppendUint32(b, helloVersion)
	b = binary.LittleEndian.AppendUint32(b, shm.Size)
	for _, a := range []netip.AddrPort{from, to} {
		ip := a.Addr().As16()
		b = append(b, ip[:]...)
		b = binary.BigEndian.AppendUint16(b, a.Port())
	}
	return b
}

// parseHello returns where the port is that says this to one at to.
func parseHello(b []byte, to netip.AddrPort) (from netip.AddrPort, ok bool) {
	if len(b) != helloLen {
		return from, false
	}
	a := netip.AddrFrom16([16]byte(b[16:32])).Unmap()
	if a == to.Addr().WithZone("") {
		a = to.Addr() // in the same zone
	}
	from = netip.AddrPortFrom(a, binary.BigEndian.Uint16(b[32:]))
	return from, from.Port() != 0 && from != to && together(a, to.Addr()) && string(b) == string(appendHello(nil, from, to))
}

// together reports whether datagrams between two addresses stay on this host. Those with zones do where they are the same.
func together(a, b netip.Addr) bool {
	if a == b {
		return true
	}
	return a.Is4() == b.Is4() && a.Zone() == "" && b.Zone() == "" && !a.IsMulticast() && !a.IsUnspecified() && a != broadcast && netx.OneHost(b, a)
}

// broadcast is an address that a socket can have and nobody is at.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// sameSpace reports whether two sockets are in one network name space: that of the calling thread may have changed since the first was opened, and elsewhere
// somebody else may have the same address. Before Linux 5.14 nobody can tell, and no memory is shared.
func sameSpace(a, b netx.FD) bool {
	x, err := netx.Namespace(a)
	y, err2 := netx.Namespace(b)
	return err == nil && err2 == nil && x == y
}
