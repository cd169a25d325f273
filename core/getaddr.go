package core

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// askedHost caches the answers of a Host, so that one GetInfo asks the resolver and the system once for all
// providers.
type askedHost struct {
	ifaces    []Iface
	ifaceErr  error
	gotIfaces bool
	names     map[string]resolved
	sources   map[netip.AddrPort]source
}

type resolved struct {
	addrs []netip.AddrPort
	err   error
}

type source struct {
	addr netip.Addr
	err  error
}

func (g *getter) interfaces() ([]Iface, error) {
	a := &g.asked
	if !a.gotIfaces {
		a.ifaces, a.ifaceErr = g.host.Interfaces()
		a.gotIfaces = true
	}
	return a.ifaces, a.ifaceErr
}

func (g *getter) sourceFor(dest netip.AddrPort) (netip.Addr, error) {
	if s, ok := g.asked.sources[dest]; ok {
		return s.addr, s.err
	}
	addr, err := g.host.SourceFor(dest)
	if g.asked.sources == nil {
		g.asked.sources = map[netip.AddrPort]source{}
	}
	g.asked.sources[dest] = source{addr, err}
	return addr, err
}

// resolve returns the first address of node and service that has a format the caller can use.
func (g *getter) resolve(offer, asked AddrFormat, passive bool) (netip.AddrPort, error) {
	key := fmt.Sprint(passive)
	r, ok := g.asked.names[key]
	if !ok {
		r.addrs, r.err = g.lookup(passive)
		if g.asked.names == nil {
			g.asked.names = map[string]resolved{}
		}
		g.asked.names[key] = r
	}
	if r.err != nil {
		return netip.AddrPort{}, r.err
	}
	for _, ap := range r.addrs {
		ap = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
		f := formatOfIP(ap.Addr())
		if matchFormat(f, asked) && validFormat(offer, f) {
			return ap, nil
		}
	}
	if asked == FormatUnspec {
		asked = offer
	}
	return netip.AddrPort{}, fmt.Errorf("%q has no address of format %s", g.target(), asked)
}

func (g *getter) lookup(passive bool) ([]netip.AddrPort, error) {
	node, service := g.q.Node, g.q.Service
	if !strings.Contains(node, "://") {
		return g.host.Resolve(node, service, g.q.Flags&InfoNumericHost != 0, passive)
	}
	a, err := ParseAddr(node)
	switch {
	case err != nil:
		return nil, err
	case !a.IP.IsValid(): // a name, such as fabric://job/3
		return g.host.Resolve(node, service, g.q.Flags&InfoNumericHost != 0, passive)
	case service == "":
		return []netip.AddrPort{a.IP}, nil
	}
	return g.host.Resolve(a.IP.Addr().String(), service, true, passive)
}

// ipFormat reports whether addresses of a format are IP addresses.
func ipFormat(f AddrFormat) bool {
	return f == FormatSockaddr || f == FormatSockaddrIP || f == FormatSockaddrIn || f == FormatSockaddrIn6
}

// addresses returns one copy of info for each local address that fits the query, with addresses and names filled
// in.
func (g *getter) addresses(p Provider, info, hints *Info) []*Info {
	refuse := func(reason string) []*Info {
		g.refuse(g.stack.name(), info, "", stageAddr, reason)
		return nil
	}
	if !ipFormat(info.AddrFormat) {
		return g.plainAddresses(p, info, hints)
	}
	var src, dest netip.AddrPort
	asked := FormatUnspec
	if hints != nil {
		asked = hints.AddrFormat
		for _, a := range []Addr{hints.SrcAddr, hints.DestAddr} {
			if !a.IsZero() && !a.IP.IsValid() {
				return refuse(fmt.Sprintf("the address %q in the hints is not an IP address", a))
			}
		}
		src, dest = hints.SrcAddr.IP, hints.DestAddr.IP
	}
	if g.q.Node != "" || g.q.Service != "" {
		local := g.q.Flags&InfoSource != 0
		ap, err := g.resolve(info.AddrFormat, asked, local)
		if err != nil {
			return refuse("cannot resolve " + g.target() + ": " + err.Error())
		}
		if local {
			src = ap
		} else {
			dest = ap
		}
	}
	switch {
	case src.IsValid():
		return []*Info{g.withSource(p, info, src, dest)}
	case dest.IsValid():
		return g.towards(p, info, dest)
	}
	return g.everyInterface(p, info, hints)
}

// plainAddresses is addresses for providers whose addresses are not IP addresses.
func (g *getter) plainAddresses(p Provider, info, hints *Info) []*Info {
	if hints != nil {
		info.SrcAddr, info.DestAddr = hints.SrcAddr, hints.DestAddr
	}
	if strings.Contains(g.q.Node, "://") {
		a, err := ParseAddr(g.q.Node)
		if err != nil {
			g.refuse(g.stack.name(), info, "", stageAddr, err.Error())
			return nil
		}
		if g.q.Flags&InfoSource != 0 {
			info.SrcAddr = a
		} else {
			info.DestAddr = a
		}
	}
	setIf(&info.Domain.Name, p.Name())
	return []*Info{info}
}

// usable returns the interfaces that FI_<PROV>_IFACE allows a provider, and the expression.
func (g *getter) usable(p Provider, info *Info) (kept []Iface, spec string, err error) {
	all, err := g.interfaces()
	if err != nil {
		return nil, "", fmt.Errorf("cannot list interfaces: %w", err)
	}
	spec, _ = g.params.Lookup(p.Name(), "iface")
	if strings.TrimSpace(spec) == "" {
		return all, "", nil
	}
	name := paramVar(p.Name(), "iface") + "=" + spec
	kept, refused, err := g.host.FilterInterfaces(all, spec)
	if err != nil {
		return nil, name, fmt.Errorf("%s: %w", name, err)
	}
	for _, r := range refused {
		g.refuse(g.stack.name(), info, r.Iface.Name, stageAddr-1, r.Iface.Addr.String()+" is "+r.Reason+" of FI_"+strings.ToUpper(p.Name())+"_IFACE")
	}
	return kept, name, nil
}

// everyInterface returns one Info for each usable interface. A loopback address does not reach other hosts. If no
// other interface is usable, it counts as one that does: programs that ask for FI_REMOTE_COMM, such as MPI, then
// run on a host without a network, too.
func (g *getter) everyInterface(p Provider, info, hints *Info) []*Info {
	kept, spec, err := g.usable(p, info)
	if err != nil {
		g.refuse(g.stack.name(), info, "", stageAddr, err.Error())
		return nil
	}
	var found []*Info
	alone := !slices.ContainsFunc(kept, func(i Iface) bool { return !i.Addr.IsLoopback() })
	for _, i := range kept {
		format := formatOfIP(i.Addr)
		reach := commCaps
		if i.Addr.IsLoopback() && !alone {
			reach = CapLocalComm
		}
		if reason := unreached(hints, reach, i.Name); reason != "" {
			g.refuse(g.stack.name(), info, i.Name, stageAddr, reason)
			continue
		}
		if hints != nil && !matchFormat(format, hints.AddrFormat) || !validFormat(info.AddrFormat, format) {
			asked := info.AddrFormat
			if hints != nil {
				asked = hints.AddrFormat
			}
			g.refuse(g.stack.name(), info, i.Name, stageAddr, differ("addr_format", asked.String(), format.String()+" at "+i.Addr.String()))
			continue
		}
		one := info.Dup()
		one.Caps = one.Caps&^commCaps | reach
		setSource(one, i, 0)
		found = append(found, one)
	}
	if len(kept) == 0 {
		reason := "no interface is up"
		if spec != "" {
			reason = "no interface matches " + spec
		}
		g.refuse(g.stack.name(), info, "", stageAddr, reason)
	}
	return found
}

// towards returns the ways to a peer: over loopback first if the peer is on this host, then from the source address
// that the system would choose. If FI_<PROV>_IFACE excludes that one, it takes the first address that it allows.
func (g *getter) towards(p Provider, info *Info, dest netip.AddrPort) []*Info {
	refuse := func(reason string) []*Info {
		g.refuse(g.stack.name(), info, "", stageAddr, reason)
		return nil
	}
	kept, spec, err := g.usable(p, info)
	if err != nil {
		return refuse(err.Error())
	}
	var found []*Info
	add := func(i Iface) {
		one := info.Dup()
		one.DestAddr = IPAddr(dest)
		setSource(one, i, 0)
		found = append(found, one)
	}
	d := dest.Addr()
	if !d.IsLoopback() && g.host.IsLocal(d) {
		for _, i := range kept {
			if i.Addr.IsLoopback() && i.Addr.Is4() == d.Is4() {
				add(i)
				break
			}
		}
	}
	natural, err := g.sourceFor(dest)
	if err != nil {
		if len(found) > 0 {
			return found
		}
		return refuse(fmt.Sprintf("no local address reaches %s: %v", d, err))
	}
	if i, ok := ifaceOf(kept, natural); ok {
		add(i)
		return found
	}
	if spec == "" { // an address that is not in the list, such as 127.0.0.2
		add(Iface{Name: info.Domain.Name, Addr: natural, Prefix: netip.PrefixFrom(natural.WithZone(""), natural.BitLen())})
		return found
	}
	for _, i := range kept {
		if i.Addr.Is4() == d.Is4() && !i.Addr.IsLoopback() && !d.IsLoopback() {
			add(i)
			return found
		}
	}
	if len(found) == 0 {
		return refuse(fmt.Sprintf("%s leaves no interface that reaches %s; the system would use %s", spec, d, natural))
	}
	return found
}

// withSource returns info with a given source address. The wildcard address belongs to no interface: native keeps
// the provider's names then.
func (g *getter) withSource(p Provider, info *Info, src, dest netip.AddrPort) *Info {
	if dest.IsValid() {
		info.DestAddr = IPAddr(dest)
	}
	all, _ := g.interfaces()
	if i, ok := ifaceOf(all, src.Addr()); ok {
		setSource(info, i, src.Port())
		return info
	}
	info.SrcAddr = IPAddr(src)
	info.AddrFormat = info.SrcAddr.Format
	setIf(&info.Domain.Name, p.Name())
	return info
}

func ifaceOf(list []Iface, a netip.Addr) (Iface, bool) {
	for _, i := range list {
		if i.Addr.WithZone("") == a.Unmap().WithZone("") && (a.Zone() == "" || i.Addr.Zone() == "" || a.Zone() == i.Addr.Zone()) {
			return i, true
		}
	}
	return Iface{}, false
}

// setSource sets the address of an interface in info. The interface's name becomes the domain's, and its network's
// name the fabric's.
func setSource(info *Info, i Iface, port uint16) {
	ip := i.Addr.Unmap()
	if ip.IsLinkLocalUnicast() && ip.Is6() && ip.Zone() == "" {
		ip = ip.WithZone(i.Name)
	}
	info.SrcAddr = IPAddr(netip.AddrPortFrom(ip, port))
	info.AddrFormat = info.SrcAddr.Format
	setIf(&info.Domain.Name, i.Name)
	info.Fabric.Name = networkName(i)
}

// networkName returns the fabric's name: 10.1.2.0/24. Each loopback address is a network of its own, as in native.
func networkName(i Iface) string {
	prefix := i.Prefix
	if !prefix.IsValid() || i.Addr.IsLoopback() {
		ip := i.Addr.Unmap().WithZone("")
		prefix = netip.PrefixFrom(ip, ip.BitLen())
	}
	return prefix.Masked().String()
}
