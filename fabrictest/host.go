package fabrictest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"gofabric/core"
	"gofabric/internal/host"
)

// machine is a node as core.GetInfo sees it: one interface, and the names of all nodes.
type machine struct{ n *Node }

var _ core.Host = (*machine)(nil)

func (m *machine) Interfaces() ([]core.Iface, error) {
	prefix, err := m.n.addr.Prefix(8)
	return []core.Iface{{Name: "mem0", Addr: m.n.addr, Prefix: prefix, MTU: m.n.f.cfg.MTU, Kind: "other"}}, err
}

func (m *machine) FilterInterfaces(list []core.Iface, spec string) ([]core.Iface, []core.RefusedIface, error) {
	return (&host.Host{}).FilterInterfaces(list, spec)
}

// Resolve knows the names and addresses of nodes. An empty node is this one.
func (m *machine) Resolve(node, service string, numeric, passive bool) ([]netip.AddrPort, error) {
	var port uint64
	if service != "" {
		var err error
		if port, err = strconv.ParseUint(service, 10, 16); err != nil {
			return nil, fmt.Errorf("service %.64q is not a port number: %w", service, core.ErrInval)
		}
	}
	addr, err := m.resolve(node, numeric)
	if err != nil {
		return nil, err
	}
	return []netip.AddrPort{netip.AddrPortFrom(addr, uint16(port))}, nil
}

func (m *machine) resolve(node string, numeric bool) (netip.Addr, error) {
	if node == "" || node == "localhost" && !numeric {
		return m.n.addr, nil
	}
	if digits, ok := strings.CutPrefix(node, "node"); ok && !numeric {
		if i, err := strconv.Atoi(digits); err == nil && m.n.f.inside(i) {
			return addrOf(i), nil
		}
		return netip.Addr{}, fmt.Errorf("there is no %.64q; nodes are node0 to node%d: %w", node, len(m.n.f.nodes)-1, core.ErrNoData)
	}
	a, err := netip.ParseAddr(node)
	if err != nil {
		return a, fmt.Errorf("%.64q is neither a node nor an address: %w", node, core.ErrNoData)
	}
	return a, nil
}

func (m *machine) SourceFor(dest netip.AddrPort) (netip.Addr, error) {
	if m.n.f.nodeAt(dest.Addr()) == nil {
		return netip.Addr{}, core.ErrNetUnreach
	}
	return m.n.addr, nil
}

func (m *machine) IsLocal(a netip.Addr) bool { return a.Unmap() == m.n.addr }
