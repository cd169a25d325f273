// Network interfaces and their addresses.

package netx

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Interface is one address of one network interface. An interface with several addresses has several entries.
type Interface struct {
	Name         string
	Index        int
	Addr         netip.Addr   // IPv4 or IPv6; a link-local IPv6 address has the interface's name as its zone
	Prefix       netip.Prefix // the network of Addr, with the host bits zero and no zone
	MTU          int          // bytes
	SpeedMbps    int          // 0 if unknown
	Up           bool         // the interface is up and has a carrier
	Kind         IfaceKind
	HardwareAddr net.HardwareAddr // nil where there is none
	Driver       string           // as ethtool(8) names it; "" if unknown
}

// IfaceKind is the kind of an interface, as far as it matters for the choice of one.
type IfaceKind uint8

const (
	// KindOther is an interface of none of the other kinds: dummy, InfiniBand, tap.
	KindOther IfaceKind = iota
	// KindEthernet is Ethernet hardware, or a bond, team, VLAN or MACVLAN over it.
	KindEthernet
	// KindLoopback stays within the host.
	KindLoopback
	// KindDocker is a bridge that Docker made.
	KindDocker
	// KindBridge is any other software bridge.
	KindBridge
	// KindVeth is one end of a veth pair (veth(4)), usually into a container.
	KindVeth
	// KindPointToPoint is a tunnel: tun, WireGuard, PPP.
	KindPointToPoint
)

var kindNames = [...]string{"other", "ethernet", "loopback", "docker", "bridge", "veth", "point-to-point"}

// String returns the name of the kind in lower case.
func (k IfaceKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// traits are properties of an interface that package net does not report.
type traits struct {
	kind   IfaceKind
	speed  int // Mb/s, 0: unknown
	driver string
}

// Interfaces lists every IPv4 and IPv6 unicast address of every interface that is up, in the system's order; see
// RankInterfaces.
func Interfaces() ([]Interface, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var list []Interface
	for i := range ifs {
		ifi := &ifs[i]
		if ifi.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, err := ifi.Addrs()
		if err != nil {
			// The interface was removed meanwhile.
			continue
		}
		list = append(list, entries(ifi, addrs, systemTraits(ifi))...)
	}
	return list, nil
}

func entries(ifi *net.Interface, addrs []net.Addr, t traits) []Interface {
	var list []Interface
	for _, a := range addrs {
		prefix, ok := toPrefix(a)
		if !ok {
			continue
		}
		addr := prefix.Addr()
		if addr.Is6() && addr.IsLinkLocalUnicast() {
			addr = addr.WithZone(ifi.Name)
		}
		list = append(list, Interface{
			Name: ifi.Name, Index: ifi.Index, Addr: addr, Prefix: prefix.Masked(), MTU: ifi.MTU, SpeedMbps: t.speed,
			Up: ifi.Flags&net.FlagRunning != 0, Kind: t.kind, HardwareAddr: ifi.HardwareAddr, Driver: t.driver,
		})
	}
	return list
}

func toPrefix(a net.Addr) (netip.Prefix, bool) {
	n, ok := a.(*net.IPNet)
	if !ok {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	if !ok {
		return netip.Prefix{}, false
	}
	ones, bits := n.Mask.Size()
	if addr.Is4In6() && bits == 32 {
		addr = addr.Unmap()
	}
	prefix := netip.PrefixFrom(addr, ones)
	return prefix, prefix.IsValid() && bits == addr.BitLen() && !addr.IsMulticast()
}

// IsLocal reports whether addr belongs to this host: a loopback address, or an address of an interface. It does not
// compare zones. It asks the system each time, so it is for connecting and not for the data path.
func IsLocal(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if addr.IsLoopback() {
		return true
	}
	if !addr.IsValid() {
		return false
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		p, ok := toPrefix(a)
		return ok && p.Addr() == addr
	})
}

// kindByName guesses the kind from flags and name, for systems that report no more.
func kindByName(ifi *net.Interface) IfaceKind {
	switch {
	case ifi.Flags&net.FlagLoopback != 0:
		return KindLoopback
	case isDockerName(ifi.Name):
		return KindDocker
	case ifi.Flags&net.FlagPointToPoint != 0, namePrefix(ifi.Name, "tun", "utun", "ppp", "wg", "gif"):
		return KindPointToPoint
	case namePrefix(ifi.Name, "veth"):
		return KindVeth
	case namePrefix(ifi.Name, "br", "bridge", "virbr", "cni", "podman"):
		return KindBridge
	case namePrefix(ifi.Name, "en", "eth", "wl", "bond"):
		return KindEthernet
	}
	return KindOther
}

// isDockerName recognizes the names of Docker's bridges: docker0, docker_gwbridge, and br- with twelve hexadecimal
// digits of the network's identifier.
func isDockerName(name string) bool {
	if namePrefix(name, "docker") {
		return true
	}
	if len(name) != 15 || name[:3] != "br-" {
		return false
	}
	return strings.Trim(name[3:], "0123456789abcdef") == ""
}

func namePrefix(name string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(name) >= len(p) && name[:len(p)] == p {
			return true
		}
	}
	return false
}
