package layer

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// Base is what all layers have in common: it implements core.Layer but for CoreHints, Infos and OpenFabricOver. It is safe for concurrent use.
type Base struct {
	name    string
	on      core.EPType
	example string
	params  []core.Param
	host    core.Host
}

// NewBase makes the Base of a layer that is called name in provider strings, as in example. It stands on endpoints of kind on; params are its variables. host,
// which may be nil, resolves the names given to address vectors.
func NewBase(name string, on core.EPType, example string, params []core.Param, host core.Host) Base {
	return Base{name, on, example, params, host}
}

// Name is the layer's name in provider strings.
func (b *Base) Name() string { return b.name }

// Version is that of the other providers.
func (b *Base) Version() core.Version { return core.ProviderVersion }

// Params defines the layer's variables.
func (b *Base) Params() []core.Param { return b.params }

// Below is the kind of endpoint that the layer stands on.
func (b *Base) Below() core.EPType { return b.on }

// OpenFabric is not called, for a layer needs something below it.
func (b *Base) OpenFabric(*core.Info) (core.FabricDriver, error) {
	return nil, &core.OpError{Op: "fi_fabric", Provider: b.name, Err: core.ErrNoSys, Hint: "name the provider below, as in " + b.example}
}

// HintsBelow asks the provider below for endpoints with caps, and for what hints, which may be nil, say of addresses, threads and progress.
func HintsBelow(caps core.Caps, hints *core.Info) *core.Info {
	h := &core.Info{Caps: caps}
	if hints == nil {
		return h
	}
	h.AddrFormat = hints.AddrFormat
	h.Caps |= hints.Caps & (core.CapLocalComm | core.CapRemoteComm)
	if hints.Domain != nil {
		h.Domain = &core.DomainAttr{Threading: hints.Domain.Threading, ControlProgress: hints.Domain.ControlProgress, DataProgress: hints.Domain.DataProgress}
	}
	return h
}

// Fabric is the fabric of a layer of connectionless endpoints: it stands on the fabric below, which it owns.
type Fabric struct {
	endpoint.Fabric
	base  *Base
	names endpoint.Names
	below core.FabricDriver
	open  func(f *Fabric, info *core.Info) (core.DomainDriver, error)
}

// NewFabric makes the fabric of the layer b over an open one of the provider below (fi_fabric(3)), which is closed with it. open opens domains; hints, which may be nil,
// says what to do about errors (endpoint.Names).
func NewFabric(b *Base, info *core.Info, below core.FabricDriver, hints map[core.Errno]string, open func(*Fabric, *core.Info) (core.DomainDriver, error)) *Fabric {
	f := &Fabric{base: b, names: endpoint.Names{Provider: info.Fabric.ProvName, Hints: hints}, below: below, open: open}
	f.InitFabric(&f.names, info)
	return f
}

// OpenDomain opens a domain, and the one below it (fi_domain(3)).
func (f *Fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) { return f.open(f, info) }

// Close closes the fabric below, too; ErrBusy while anything of it is open (fi_close(3)).
func (f *Fabric) Close() error {
	if err := f.Fabric.Close(); err != nil {
		return err
	}
	return f.below.Close()
}
