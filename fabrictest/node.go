package fabrictest

import (
	"fmt"
	"net/netip"
	"slices"

	"gofabric/core"
	"gofabric/util/fault"
	"gofabric/util/rxd"
)

// Node is a machine of a Fabric. Its methods are safe for concurrent use.
type Node struct {
	f        *Fabric
	index    int
	addr     netip.Addr
	params   *core.Params
	registry *core.Registry
	nextPort uint16 // guarded by Fabric.mu
}

func newNode(f *Fabric, i int) (*Node, error) {
	n := &Node{f: f, index: i, addr: addrOf(i), nextPort: firstPort}
	params, err := core.NewParams(func(name string) (string, bool) { v, ok := f.cfg.Params[name]; return v, ok }, "")
	if err != nil {
		return nil, err
	}
	n.params = params
	var list []core.Provider
	for _, make := range f.cfg.Providers {
		more, err := make(params, n.Host())
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	reliable, err := rxd.New(params, n.Host())
	if err != nil {
		return nil, err
	}
	layer, err := fault.New(params, n.Host())
	if err != nil {
		return nil, err
	}
	n.registry = core.NewRegistry(append(list, reliable, layer, &provider{n})...)
	params.Define(n.registry.Params()...)
	return n, nil
}

// Name returns the node's name: "node0" and so on.
func (n *Node) Name() string { return fmt.Sprintf("node%d", n.index) }

// Addr returns the node's only address.
func (n *Node) Addr() netip.Addr { return n.addr }

// Index returns the node's number, from 0.
func (n *Node) Index() int { return n.index }

// Registry returns the node's providers.
func (n *Node) Registry() *core.Registry { return n.registry }

// Params returns the node's variables, from Config.Params.
func (n *Node) Params() *core.Params { return n.params }

// Host returns the machine as core.GetInfo sees it.
func (n *Node) Host() core.Host { return &machine{n} }

// GetInfo returns the node's ways to communicate (fi_getinfo(3)); see core.GetInfo.
func (n *Node) GetInfo(q core.Query) ([]*core.Info, []core.Refusal, error) {
	return core.GetInfo(n.registry, n.Host(), n.params, q)
}

// OpenFabric opens the fabric of an Info of this node's GetInfo (fi_fabric(3)).
func (n *Node) OpenFabric(info *core.Info) (*core.Fabric, error) {
	return core.OpenFabric(n.registry, info)
}

// Crash takes all objects of the node off the network without a message to peers, as a loss of power does. Its
// objects can be closed, but neither send nor receive. Its addresses are free, so that the test can start the
// node's program again.
func (n *Node) Crash() {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	for at, p := range n.f.ports {
		if p.node == n {
			delete(n.f.ports, at)
			p.in.close()
		}
	}
}

// Ports returns the addresses of open objects, in order.
func (n *Node) Ports() []netip.AddrPort {
	n.f.mu.RLock()
	defer n.f.mu.RUnlock()
	var list []netip.AddrPort
	for at, p := range n.f.ports {
		if p.node == n {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, netip.AddrPort.Compare)
	return list
}
