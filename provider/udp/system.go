package udp

import (
	"net/netip"
	"strings"
	"sync"
	"syscall"

	"gofabric/internal/netx"
)

// system is what this kernel can do with runs and batches of datagrams.
type system struct{ gso, gro, batches bool }

// thisSystem queries the kernel once.
var thisSystem = sync.OnceValue(func() system {
	fd, err := netx.DatagramSocket(syscall.AF_INET)
	if err != nil {
		if fd, err = netx.DatagramSocket(syscall.AF_INET6); err != nil {
			return system{}
		}
	}
	defer netx.Close(fd)
	return system{gso: netx.ProbeGSO(fd) == nil, gro: netx.SetGRO(fd, true) == nil, batches: netx.Batches}
})

// String lists what the kernel can do.
func (s system) String() string {
	var has []string
	if s.gso {
		has = append(has, "GSO")
	}
	if s.gro {
		has = append(has, "GRO")
	}
	if s.batches {
		has = append(has, "batches")
	}
	if has == nil {
		return "plain sockets"
	}
	return strings.Join(has, ", ")
}

// zones caches the names and indices of the interfaces of link-local addresses, so that the system is asked once
// for each.
type zones struct {
	index map[string]uint32
	name  map[uint32]string
}

// zonesMax bounds the cache. When it is full, it is emptied.
const zonesMax = 64

// scope returns the index of the interface of an address' zone.
func (z *zones) scope(a netip.Addr) (uint32, error) {
	zone := a.Zone()
	if zone == "" {
		return 0, nil
	}
	if i, ok := z.index[zone]; ok {
		return i, nil
	}
	i, err := netx.ZoneIndex(zone)
	if err != nil {
		return 0, err
	}
	if z.index == nil || len(z.index) >= zonesMax {
		z.index = map[string]uint32{}
	}
	z.index[zone] = i
	return i, nil
}

// with returns the address in the zone of an interface's index.
func (z *zones) with(ap netip.AddrPort, scope uint32) netip.AddrPort {
	name, ok := z.name[scope]
	if !ok {
		if z.name == nil || len(z.name) >= zonesMax {
			z.name = map[uint32]string{}
		}
		name = netx.ZoneName(scope)
		z.name[scope] = name
	}
	return netip.AddrPortFrom(ap.Addr().WithZone(name), ap.Port())
}
