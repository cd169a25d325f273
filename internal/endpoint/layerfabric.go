package endpoint

import "gofabric/core"

// LayerFabric is the fabric of a layer of connectionless endpoints: it stands on the fabric below, which it owns. A layer embeds it and adds OpenDomain.
type LayerFabric struct {
	Fabric
	Names Names
	below core.FabricDriver
}

// InitLayer prepares f for the fabric of info, which is not kept, over an open fabric of the provider below. hints may be nil.
func (f *LayerFabric) InitLayer(info *core.Info, below core.FabricDriver, hints map[core.Errno]string) {
	f.Names, f.below = Names{Provider: info.Fabric.ProvName, Hints: hints}, below
	f.InitFabric(&f.Names, info)
}

// Below is the fabric that the layer stands on.
func (f *LayerFabric) Below() core.FabricDriver { return f.below }

// Close closes the fabric below, too; ErrBusy while anything of it is open (fi_close(3)).
func (f *LayerFabric) Close() error {
	if err := f.Fabric.Close(); err != nil {
		return err
	}
	return f.below.Close()
}

// OpenPassiveEndpoint fails: the layer's endpoints have no connections (fi_passive_ep(3)).
func (f *LayerFabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, f.Names.Error("fi_passive_ep", "", NoPeer, core.ErrNoSys, "the layer's endpoints have no connections")
}
