package core

import "net/netip"

// Provider is an implementation of the object model: a core provider such as tcp, or a layer such as ofi_rxm over a core one.
type Provider interface {
	// Name is the provider's name, such as "tcp" or "ofi_rxm".
	Name() string
	// Version is the provider's version as fi_info prints it.
	Version() Version
	// Infos are the provider's own attributes, one per kind of endpoint: what it can do at best, before hints and interfaces narrow it.
	// For a layer they say what it makes of base, one Info of the core provider below; for a core provider base is nil.
	Infos(base *Info) []*Info
	// OpenFabric opens the fabric of an Info that GetInfo returned for this provider.
	OpenFabric(info *Info) (Fabric, error)
}

// Layer is a Provider that needs another one below it.
type Layer interface {
	Provider
	// Below says what kind of endpoint the layer stands on.
	Below() EPType
	// OpenFabricOver opens the layer's fabric over an open fabric of the provider below.
	OpenFabricOver(info *Info, below Fabric) (Fabric, error)
}

// Iface is a local network interface address as GetInfo needs it.
type Iface struct {
	Name    string
	Addr    netip.Addr
	Prefix  netip.Prefix
	MTU     int
	Speed   uint64 // bits per second, 0 unknown
	Kind    string // "ethernet", "loopback", "docker", "bridge", "veth", "point-to-point", "other"
	Address string // hardware address
	Driver  string
}

// Host answers GetInfo's questions about the machine and the network. It keeps GetInfo a pure function of its arguments.
type Host interface {
	// Interfaces returns the usable interface addresses in order of preference.
	Interfaces() ([]Iface, error)
	// FilterInterfaces applies a FI_<PROV>_IFACE expression and says why others were refused.
	FilterInterfaces(list []Iface, spec string) (kept []Iface, refused map[string]string, err error)
	// Resolve returns the addresses of node and service; numeric forbids look-ups. An empty node means the wildcard or loopback address.
	Resolve(node, service string, numeric, passive bool) ([]netip.AddrPort, error)
	// SourceFor returns the local address that the system would use to reach dest.
	SourceFor(dest netip.AddrPort) (netip.Addr, error)
	// IsLocal reports whether a is an address of this machine.
	IsLocal(a netip.Addr) bool
}
