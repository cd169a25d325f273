package layer

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// Base is the common part of all layers. It implements core.Layer except for CoreHints, Infos and OpenFabricOver.
// It is safe for concurrent use.
type Base struct {
	name    string
	on      core.EPType
	example string
	params  []core.Param
	host    core.Host
}

// NewBase makes the Base of a layer. name is its name in provider strings, and example such a string. on is the
// type of endpoint below it. params are its variables. host resolves the names given to address vectors; it may be
// nil.
func NewBase(name string, on core.EPType, example string, params []core.Param, host core.Host) Base {
	return Base{name, on, example, params, host}
}

// Name returns the layer's name in provider strings.
func (b *Base) Name() string { return b.name }

// Version returns the version that all providers have.
func (b *Base) Version() core.Version { return core.ProviderVersion }

// Params defines the layer's variables.
func (b *Base) Params() []core.Param { return b.params }

// Below returns the type of endpoint that the layer needs below it.
func (b *Base) Below() core.EPType { return b.on }

// OpenFabric fails, because a layer needs a provider below it.
func (b *Base) OpenFabric(*core.Info) (core.FabricDriver, error) {
	return nil, &core.OpError{Op: "fi_fabric", Provider: b.name, Err: core.ErrNoSys, Hint: "name the provider below, as in " + b.example}
}

// HintsBelow returns the hints for the provider below. They ask for caps, and for the addresses, threading and
// progress of hints, which may be nil.
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

// Fabric is the fabric of a layer with connectionless endpoints. It owns the fabric below.
type Fabric struct {
	endpoint.Fabric
	base  *Base
	names endpoint.Names
	below core.FabricDriver
	open  func(f *Fabric, info *core.Info) (core.DomainDriver, error)
}

// NewFabric makes the fabric of layer b (fi_fabric(3)). below is the open fabric of the provider below, which
// closes with it. open opens domains. hints is advice for errors (endpoint.Names); it may be nil.
func NewFabric(b *Base, info *core.Info, below core.FabricDriver, hints map[core.Errno]string, open func(*Fabric, *core.Info) (core.DomainDriver, error)) *Fabric {
	f := &Fabric{base: b, names: endpoint.Names{Provider: info.Fabric.ProvName, Hints: hints}, below: below, open: open}
	f.InitFabric(&f.names, info)
	return f
}

// OpenDomain opens a domain, and the one below it (fi_domain(3)).
func (f *Fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) { return f.open(f, info) }

// Close also closes the fabric below. It fails with ErrBusy while an object of the fabric is open (fi_close(3)).
func (f *Fabric) Close() error {
	if err := f.Fabric.Close(); err != nil {
		return err
	}
	return f.below.Close()
}
