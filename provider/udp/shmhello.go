package udp

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/shm"
)

// The hello that a port sends when it connects to another port of this host, in one message with the memory: 8 bytes shmHelloMagic, u32 version, u32 bytes of memory,
// little-endian; its own address and port number, and those that it wants, 16 bytes and u16 big-endian each. There is no answer; a port that does not want it closes the
// connection.
const (
	shmHelloMagic   = "gofabric"
	shmHelloVersion = 1
	shmHelloLen     = 16 + 2*18
)

func appendShmHello(b []byte, from, to netip.AddrPort) []byte {
	b = append(b, shmHelloMagic...)
	b = binary.LittleEndian.AppendUint32(b, shmHelloVersion)
	b = binary.LittleEndian.AppendUint32(b, shm.Size)
	for _, a := range []netip.AddrPort{from, to} {
		ip := a.Addr().As16()
		b = append(b, ip[:]...)
		b = binary.BigEndian.AppendUint16(b, a.Port())
	}
	return b
}

// parseShmHello returns the sender's address in a hello to the port at to.
func parseShmHello(b []byte, to netip.AddrPort) (from netip.AddrPort, ok bool) {
	if len(b) != shmHelloLen {
		return from, false
	}
	a := netip.AddrFrom16([16]byte(b[16:32])).Unmap()
	if a == to.Addr().WithZone("") {
		a = to.Addr() // in the same zone
	}
	from = netip.AddrPortFrom(a, binary.BigEndian.Uint16(b[32:]))
	return from, from.Port() != 0 && from != to && onOneHost(a, to.Addr()) && string(b) == string(appendShmHello(nil, from, to))
}

// onOneHost reports whether datagrams between two addresses stay on this host. Addresses with zones do if they are equal.
func onOneHost(a, b netip.Addr) bool {
	if a == b {
		return true
	}
	return a.Is4() == b.Is4() && a.Zone() == "" && b.Zone() == "" && !a.IsMulticast() && !a.IsUnspecified() && a != broadcast && netx.OneHost(b, a)
}

// broadcast is an address that a socket can be bound to and that no host has.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// sameNamespace reports whether two sockets are in one network namespace. The calling thread's may have changed since the first was opened, and in another one the
// address may be another host's. Before Linux 5.14 that cannot be told, and no memory is shared.
func sameNamespace(a, b netx.FD) bool {
	x, err := netx.Namespace(a)
	y, err2 := netx.Namespace(b)
	return err == nil && err2 == nil && x == y
}
