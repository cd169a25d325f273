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

// Name is "node0" and so on.
func (n *Node) Name() string { return fmt.Sprintf("node%d", n.index) }

// Addr is the node's one address.
func (n *Node) Addr() netip.Addr { return n.addr }

// Index is the node's number, from 0.
func (n *Node) Index() int { return n.index }

// Registry has the node's providers.
func (n *Node) Registry() *core.Registry { return n.registry }

// Params are the node's variables, as Config.Params has them.
func (n *Node) Params() *core.Params { return n.params }

// Host is the machine as core.GetInfo sees it.
func (n *Node) Host() core.Host { return &machine{n} }

// GetInfo asks the node's providers for ways to communicate (fi_getinfo(3)); see core.GetInfo.
func (n *Node) GetInfo(q core.Query) ([]*core.Info, []core.Refusal, error) {
	return core.GetInfo(n.registry, n.Host(), n.params, q)
}

// OpenFabric opens the fabric of an Info of this node's GetInfo (fi_fabric(3)).
func (n *Node) OpenFabric(info *core.Info) (*core.Fabric, error) {
	return core.OpenFabric(n.registry, info)
}

// Crash takes everything of the node off the network without a word to its peers, as the loss of power does: what is open can be closed, but hears and says
// nothing any more, and its addresses are free, so that the test can start the node's program again.
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

// Ports are the addresses at which something is open, in order.
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
