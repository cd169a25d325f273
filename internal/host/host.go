// Package host answers GetInfo's questions about this machine: its interfaces, names and routes. It separates core,
// which makes no system calls, from packages net and netx.
package host

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
)

// DefaultTimeout is the longest time of a look-up of a name. Resolvers give up only after tens of seconds, or never.
const DefaultTimeout = 5 * time.Second

// Host implements core.Host. The zero Host is ready to use. Its methods may be called from any goroutine.
type Host struct {
	// Timeout is the longest time of a look-up of a name; 0 means DefaultTimeout.
	Timeout time.Duration
	// Resolver looks up names; nil means net.DefaultResolver.
	Resolver *net.Resolver
	// Schemes has look-ups for names with a scheme, such as fabric://job/3, by scheme. It must not change once the
	// Host is in use.
	Schemes map[string]Lookup
}

// Lookup returns the addresses that a name stands for. It ends with ctx.
type Lookup func(ctx context.Context, name string) ([]netip.AddrPort, error)

var _ core.Host = (*Host)(nil)

// Interfaces returns the addresses of interfaces that are up and have a carrier, best first.
func (h *Host) Interfaces() ([]core.Iface, error) {
	all, err := netx.Interfaces()
	if err != nil {
		return nil, err
	}
	netx.RankInterfaces(all)
	var list []core.Iface
	for i := range all {
		if all[i].Up || all[i].Kind == netx.KindLoopback {
			list = append(list, fromNetx(&all[i]))
		}
	}
	return list, nil
}

func fromNetx(i *netx.Interface) core.Iface {
	return core.Iface{
		Name: i.Name, Addr: i.Addr, Prefix: i.Prefix, MTU: i.MTU, Speed: uint64(max(i.SpeedMbps, 0)) * 1_000_000,
		Kind: i.Kind.String(), Address: i.HardwareAddr.String(), Driver: i.Driver,
	}
}

// FilterInterfaces applies an expression of names, patterns, networks and addresses; see netx.FilterInterfaces.
func (h *Host) FilterInterfaces(list []core.Iface, spec string) ([]core.Iface, []core.RefusedIface, error) {
	entries := make([]netx.Interface, len(list))
	for k, i := range list {
		// Index is the position in list.
		entries[k] = netx.Interface{Index: k, Name: i.Name, Addr: i.Addr, Prefix: i.Prefix}
	}
	keptEntries, refusedEntries, err := netx.FilterInterfaces(entries, spec)
	if err != nil {
		return nil, nil, err
	}
	var kept []core.Iface
	for _, e := range keptEntries {
		kept = append(kept, list[e.Index])
	}
	var refused []core.RefusedIface
	for _, r := range refusedEntries {
		refused = append(refused, core.RefusedIface{Iface: list[r.Interface.Index], Reason: r.Reason})
	}
	return kept, refused, nil
}

// SourceFor returns the address that the system's routes choose for packets to dest. Connecting a datagram socket
// sends nothing.
func (h *Host) SourceFor(dest netip.AddrPort) (netip.Addr, error) {
	if dest.Port() == 0 {
		dest = netip.AddrPortFrom(dest.Addr(), 9) // any port will do, but some systems refuse 0
	}
	dest = netip.AddrPortFrom(dest.Addr().Unmap(), dest.Port())
	fd, err := netx.DatagramSocket(netx.Family(dest.Addr()))
	if err != nil {
		return netip.Addr{}, os.NewSyscallError("socket", err)
	}
	defer netx.Close(fd)
	if err := netx.Connect(fd, dest); err != nil {
		return netip.Addr{}, os.NewSyscallError("connect", err)
	}
	local, err := netx.LocalAddr(fd)
	return local.Addr().Unmap(), os.NewSyscallError("getsockname", err)
}

// IsLocal reports whether a is a loopback address or another address of this machine.
func (h *Host) IsLocal(a netip.Addr) bool { return netx.IsLocal(a) }
