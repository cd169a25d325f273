package core

import "net/netip"

// Provider is an implementation of the object model: a core provider such as tcp, or a layer such as ofi_rxm over a
// core provider.
//
// A provider may also implement Defaulter, Parametrized, NamedOnly and Explainer.
type Provider interface {
	// Name returns the provider's name, such as "tcp" or "ofi_rxm".
	Name() string
	// Version returns the provider's version as fi_info prints it.
	Version() Version
	// Infos returns the provider's attributes, one Info for each kind of endpoint: the most that it can do, before
	// hints and interfaces narrow it. A layer derives them from base, one Info of the provider below. For a core
	// provider base is nil. All attribute pointers must be set. GetInfo copies what it changes. Addresses of an IP
	// provider are FormatSockaddrIP.
	Infos(base *Info) []*Info
	// OpenFabric opens the fabric of an Info that GetInfo returned for this provider. It is not called for a layer.
	OpenFabric(info *Info) (FabricDriver, error)
}

// Layer is a Provider that needs another one below it.
type Layer interface {
	Provider
	// Below returns the kind of endpoint that the layer uses below it.
	Below() EPType
	// CoreHints translates hints for the layer into hints for the provider below. nil hints mean "anything".
	// GetInfo fills in addresses, names and, if it is unspecified, the endpoint type. An error is the reason why
	// the layer cannot satisfy the hints.
	CoreHints(v Version, hints *Info) (*Info, error)
	// OpenFabricOver opens the layer's fabric over an open fabric of the provider below. info.Below returns the
	// Info of that provider.
	OpenFabricOver(info *Info, below FabricDriver) (FabricDriver, error)
}

// Defaulter is a Provider whose defaults are smaller than its limits. info is a copy of one of its Infos, and was
// checked against hints. SetDefaults replaces the sizes in it before the values of the hints replace them. hints
// may be nil.
type Defaulter interface {
	SetDefaults(info, hints *Info)
}

// Parametrized is a Provider that reads FI_<NAME>_* variables. Params returns their definitions.
type Parametrized interface {
	Params() []Param
}

// NamedOnly is a Provider that GetInfo uses only if it is named: a layer for tests, or a core provider that takes
// no layers unasked.
type NamedOnly interface {
	NamedOnly() bool
}

// Explainer is a Provider that has more than one way to do what its Infos offer. It says why it does not use the
// better one, or how it does.
type Explainer interface {
	// Explain examines the result of GetInfo, of all providers. Unlike GetInfo it may try operations on the
	// machine. It leaves no traces there.
	Explain(found []*Info) ([]Refusal, []Remark)
}

// Iface is an address of a local network interface.
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

// RefusedIface is an interface address that an FI_<PROV>_IFACE expression excludes.
type RefusedIface struct {
	Iface  Iface
	Reason string
}

// Host has what GetInfo needs of the machine and the network, so that GetInfo is a pure function of its arguments.
type Host interface {
	// Interfaces returns the usable interface addresses in order of preference.
	Interfaces() ([]Iface, error)
	// FilterInterfaces applies an FI_<PROV>_IFACE expression and returns the reasons for the refused addresses.
	FilterInterfaces(list []Iface, spec string) (kept []Iface, refused []RefusedIface, err error)
	// Resolve returns the addresses of node and service. numeric forbids look-ups. A node with a scheme that is not
	// libfabric's is a name, too. An empty node is the wildcard (passive) or loopback address. It returns in
	// bounded time.
	Resolve(node, service string, numeric, passive bool) ([]netip.AddrPort, error)
	// SourceFor returns the local address that the system would use for packets to dest.
	SourceFor(dest netip.AddrPort) (netip.Addr, error)
	// IsLocal reports whether a is an address of this machine.
	IsLocal(a netip.Addr) bool
}
