package core

import "net/netip"

// Provider is an implementation of the object model: a core provider such as tcp, or a layer such as ofi_rxm over a core one.
//
// A provider may also implement Defaulter, Parametrized and NamedOnly.
type Provider interface {
	// Name is the provider's name, such as "tcp" or "ofi_rxm".
	Name() string
	// Version is the provider's version as fi_info prints it.
	Version() Version
	// Infos are the provider's own attributes, one per kind of endpoint: what it can do at best, before hints and interfaces narrow it.
	// For a layer they say what it makes of base, one Info of the core provider below; for a core provider base is nil. All attribute
	// pointers must be set. GetInfo copies what it changes. Addresses of an IP provider are FormatSockaddrIP.
	Infos(base *Info) []*Info
	// OpenFabric opens the fabric of an Info that GetInfo returned for this provider. Of a layer it is not called.
	OpenFabric(info *Info) (FabricDriver, error)
}

// Layer is a Provider that needs another one below it.
type Layer interface {
	Provider
	// Below says what kind of endpoint the layer stands on.
	Below() EPType
	// CoreHints translates hints for the layer into hints for the provider below; nil hints mean "anything". Addresses, names and, if left
	// open, the endpoint type are filled in by GetInfo. An error says why such hints cannot be served.
	CoreHints(v Version, hints *Info) (*Info, error)
	// OpenFabricOver opens the layer's fabric over an open fabric of the provider below. info.Below is what the layer stands on.
	OpenFabricOver(info *Info, below FabricDriver) (FabricDriver, error)
}

// Defaulter is a Provider whose defaults are smaller than its limits: SetDefaults replaces sizes in info, a copy of one of its Infos that hints were
// checked against, before the hints' own values go in. hints may be nil.
type Defaulter interface {
	SetDefaults(info, hints *Info)
}

// Parametrized is a Provider that reads FI_<NAME>_* variables; Params defines them.
type Parametrized interface {
	Params() []Param
}

// NamedOnly is a Provider that takes part only where it is named: a layer that is for tests, or a core provider that wants no layers unasked.
type NamedOnly interface {
	NamedOnly() bool
}

// Explainer is a Provider that has more than one way to do what its Infos say, and can tell why the better one is not taken, or how it is.
type Explainer interface {
	// Explain looks at what GetInfo returned, of all providers. Unlike GetInfo it may try things out on the machine; it leaves nothing behind.
	Explain(found []*Info) ([]Refusal, []Remark)
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

// RefusedIface is an interface address that a FI_<PROV>_IFACE expression leaves out.
type RefusedIface struct {
	Iface  Iface
	Reason string
}

// Host answers GetInfo's questions about the machine and the network. It keeps GetInfo a pure function of its arguments.
type Host interface {
	// Interfaces returns the usable interface addresses in order of preference.
	Interfaces() ([]Iface, error)
	// FilterInterfaces applies a FI_<PROV>_IFACE expression and says why others were refused.
	FilterInterfaces(list []Iface, spec string) (kept []Iface, refused []RefusedIface, err error)
	// Resolve returns the addresses of node and service; numeric forbids look-ups. A node with a scheme that is none of libfabric's is a name, too. An empty node means the wildcard (passive) or loopback
	// address. It ends in bounded time.
	Resolve(node, service string, numeric, passive bool) ([]netip.AddrPort, error)
	// SourceFor returns the local address that the system would use to reach dest.
	SourceFor(dest netip.AddrPort) (netip.Addr, error)
	// IsLocal reports whether a is an address of this machine.
	IsLocal(a netip.Addr) bool
}
