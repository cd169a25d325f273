package core

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// InfoFlags are the flags of Query (fi_getinfo(3)).
type InfoFlags uint64

// The flags of queries.
const (
	InfoRescan       InfoFlags = 1 << 35 // FI_RESCAN: look for interfaces again
	InfoProvAttrOnly InfoFlags = 1 << 54 // FI_PROV_ATTR_ONLY: one Info for each provider, with its name only
	InfoNumericHost  InfoFlags = 1 << 55 // FI_NUMERICHOST: the node is an address, not a name
	InfoSource       InfoFlags = 1 << 57 // FI_SOURCE: node and service are the local side, not the peer
)

// Query has the arguments of fi_getinfo(3).
type Query struct {
	Version Version // the API version that the caller was written for; 0 is the newest
	Node    string  // a host name, an address, or an address with a scheme such as fi_sockaddr_in://1.2.3.4:7471
	Service string  // a port, by number or name
	Flags   InfoFlags
	Hints   *Info // nil, and nil attributes in it, match anything
}

const opGetInfo = "fi_getinfo"

// GetInfo returns the ways to communicate that match a query, the most preferred first, and the reasons why others
// do not match (fi_getinfo(3)). It opens and keeps nothing: the result depends on its arguments alone. params may
// be nil.
//
// Without node and service there is one Info for each kind of endpoint and usable interface. With them, they name
// the peer, or the local side with InfoSource. For a peer on this host, the loopback interface comes first.
//
// The error is an *OpError: ErrNoData if nothing matches, with the refusal of the highest stage in its Hint;
// ErrNoSys for an API version newer than LibraryVersion; ErrInval for a malformed query or parameter.
func GetInfo(reg *Registry, host Host, params *Params, q Query) ([]*Info, []Refusal, error) {
	list, _ := params.Lookup("", "provider")
	g := &getter{reg: reg, host: host, params: params, q: q, v: q.Version, filter: newProvFilter(list)}
	g.v = cmp.Or(g.v, LibraryVersion)
	if g.v > LibraryVersion {
		return nil, nil, &OpError{Op: opGetInfo, Err: ErrNoSys,
			Hint: fmt.Sprintf("API version %s is newer than this library's, which is %s", g.v, LibraryVersion)}
	}
	if q.Flags&InfoProvAttrOnly != 0 {
		return g.providers()
	}
	format := FormatUnspec
	if s, ok := params.Lookup("", "addr_format"); ok && s != "" {
		var err error
		if format, err = ParseAddrFormat(s); err != nil {
			return nil, nil, &OpError{Op: opGetInfo, Object: "FI_ADDR_FORMAT", Err: ErrInval, Hint: err.Error()}
		}
	}
	if q.Flags&InfoSource != 0 && q.Node == "" && q.Service == "" {
		return nil, nil, g.noData("FI_SOURCE says that node and service name the local side, but neither is given")
	}
	stacks, err := g.candidates()
	if err != nil {
		return nil, nil, g.noData(err.Error())
	}
	var found []*Info
	for _, s := range stacks {
		if reason := g.filter.refuses(s); reason != "" {
			g.refuse(s.name(), nil, "", stageName, reason)
			continue
		}
		g.stack = s
		for _, info := range g.stackInfos(s, q.Hints) {
			if g.finish(s, info, format) {
				found = append(found, info)
			}
		}
	}
	found = reorder(found)
	if len(found) == 0 {
		return nil, g.refused.list, g.noData(g.refused.hint())
	}
	return found, g.refused.list, nil
}

// getter is the state of one GetInfo call.
type getter struct {
	reg     *Registry
	host    Host
	params  *Params
	q       Query
	v       Version
	filter  provFilter
	refused refusals
	stack   stack // the candidate under examination
	asked   askedHost
}

func (g *getter) noData(hint string) error {
	return &OpError{Op: opGetInfo, Provider: g.hintName(), Peer: g.target(), Err: ErrNoData, Hint: hint}
}

// target returns node and service as the caller wrote them.
func (g *getter) target() string {
	switch {
	case g.q.Service == "":
		return g.q.Node
	case g.q.Node == "":
		return ":" + g.q.Service
	}
	return g.q.Node + ":" + g.q.Service
}

func (g *getter) hintName() string {
	if g.q.Hints != nil && g.q.Hints.Fabric != nil {
		return g.q.Hints.Fabric.ProvName
	}
	return ""
}

func (g *getter) refuse(name string, info *Info, iface string, stage int, reason string) {
	r := Refusal{Provider: name, Interface: iface, Reason: reason, stage: stage}
	if info != nil && info.EP != nil {
		r.EPType = info.EP.Type
	}
	g.refused.add(r)
}

// providers answers FI_PROV_ATTR_ONLY: one Info for each provider, with its name only.
func (g *getter) providers() ([]*Info, []Refusal, error) {
	var found []*Info
	for _, p := range g.reg.providers {
		if g.filter.refusesProvider(p) {
			g.refuse(p.Name(), nil, "", stageName, "FI_PROVIDER="+g.filter.text+" excludes it")
			continue
		}
		info := NewHints()
		info.Fabric.ProvName, info.Fabric.ProvVersion = p.Name(), p.Version()
		found = append(found, info)
	}
	if len(found) == 0 {
		return nil, g.refused.list, g.noData(g.refused.hint())
	}
	return found, g.refused.list, nil
}

func (g *getter) candidates() ([]stack, error) {
	for _, r := range g.filter.misspelled(g.reg) {
		g.refused.add(r)
	}
	name := g.hintName()
	found, err := g.reg.named(name)
	if err == nil && name == "" {
		found = g.filter.named(g.reg, found)
	}
	return found, err
}

// stackInfos returns a stack's offers for hints. For a layer, its own kinds of endpoint determine the order first,
// then the order of the provider below.
func (g *getter) stackInfos(s stack, hints *Info) []*Info {
	layer, ok := s.top().(Layer)
	if !ok {
		return g.coreInfos(s.top(), hints)
	}
	coreHints, err := layer.CoreHints(g.v, hints)
	if err != nil {
		g.refuse(g.stack.name(), nil, "", stageCaps, err.Error())
		return nil
	}
	var kinds [][]*Info
	for _, base := range g.stackInfos(s[:len(s)-1], passDown(coreHints, hints, layer.Below())) {
		if reason := unreached(hints, base.Caps, base.Domain.Name); reason != "" {
			g.refuse(g.stack.name(), base, base.Domain.Name, stageAddr, reason)
			continue
		}
		for k, offer := range g.offers(layer, widened(base, hints), hints) {
			if offer == nil {
				continue
			}
			if stage, reason := checkInfo(g.v, layer.Version(), offer, hints); reason != "" {
				g.refuse(g.stack.name(), offer, "", stage, reason)
				continue
			}
			info := offer.Dup()
			info.below = base
			info.AddrFormat, info.SrcAddr, info.DestAddr = base.AddrFormat, base.SrcAddr, base.DestAddr
			info.Domain.Name, info.Fabric.Name = base.Domain.Name, base.Fabric.Name
			if info.NIC == nil {
				info.NIC = clone(base.NIC)
			}
			g.narrow(layer, info, hints)
			info.Caps = info.Caps&^commCaps | base.Caps&commCaps
			for len(kinds) <= k {
				kinds = append(kinds, nil)
			}
			kinds[k] = append(kinds[k], info)
		}
	}
	return slices.Concat(kinds...)
}

const commCaps = CapLocalComm | CapRemoteComm

// unreached returns the peers that an address with these capabilities does not reach, of those that hints ask for:
// on this host, or on others. Hints that name the address's domain are exempt. They may be an earlier result, in
// which an address that the caller named has all capabilities.
func unreached(hints *Info, caps Caps, domain string) string {
	if hints == nil || hints.Domain != nil && sameName(hints.Domain.Name, domain) {
		return ""
	}
	return beyondCaps("caps", hints.Caps&commCaps, caps&commCaps)
}

// widened returns base with the capabilities that hints ask for, if hints name its domain. A layer's offer depends
// on what base reaches, so that without this the layer would refuse hints that unreached exempts.
func widened(base, hints *Info) *Info {
	if hints == nil || hints.Domain == nil || !sameName(hints.Domain.Name, base.Domain.Name) {
		return base
	}
	wide := base.Dup()
	wide.Caps |= (hints.Caps | hints.Domain.Caps) & commCaps
	return wide
}

// passDown adds the caller's addresses and names to the hints that a layer has for the provider below.
func passDown(coreHints, hints *Info, below EPType) *Info {
	if coreHints == nil {
		coreHints = NewHints()
		coreHints.Mode, coreHints.Domain.Mode, coreHints.Domain.MRMode = math.MaxUint64, math.MaxUint64, math.MaxUint32&^mrOldModes
	}
	h := coreHints.Dup()
	if h.EP == nil {
		h.EP = &EPAttr{}
	}
	setIf(&h.EP.Type, below)
	if hints != nil {
		h.AddrFormat, h.SrcAddr, h.DestAddr = hints.AddrFormat, hints.SrcAddr, hints.DestAddr
		if hints.Domain != nil && hints.Domain.Name != "" {
			if h.Domain == nil {
				h.Domain = &DomainAttr{Mode: math.MaxUint64, MRMode: math.MaxUint32 &^ mrOldModes}
			}
			h.Domain.Name = hints.Domain.Name
		}
	}
	return h
}

// narrow applies a provider's defaults and the hints to a copy of its offer.
func (g *getter) narrow(p Provider, info, hints *Info) {
	if d, ok := p.(Defaulter); ok {
		d.SetDefaults(info, hints)
	}
	alterInfo(g.v, info, hints)
	if o := g.reg.hook; o != nil && g.stack.top() == p {
		o.Narrow(info, hints)
	}
}

// coreInfos returns what a core provider offers for hints, one Info per kind of endpoint and local address.
func (g *getter) coreInfos(p Provider, hints *Info) []*Info {
	var found []*Info
	for _, offer := range g.offers(p, nil, hints) {
		if offer == nil {
			continue
		}
		if stage, reason := checkInfo(g.v, p.Version(), offer, hints); reason != "" {
			if g.stack.top() != p {
				reason = p.Name() + " below: " + reason
			}
			g.refuse(g.stack.name(), offer, "", stage, reason)
			continue
		}
		info := offer.Dup()
		setIf(&info.Fabric.Name, p.Name())
		g.narrow(p, info, hints)
		found = append(found, g.addresses(p, info, hints)...)
	}
	return found
}

// finish fills in the fields that belong to the result as a whole and applies native's filters. It reports whether
// info stays in the result.
func (g *getter) finish(s stack, info *Info, format AddrFormat) bool {
	refuse := func(reason string) bool {
		g.refuse(s.name(), info, info.Domain.Name, stageFilter, reason)
		return false
	}
	if h := g.q.Hints; h != nil {
		if h.Domain != nil && h.Domain.Name != "" && !sameName(h.Domain.Name, info.Domain.Name) {
			return refuse(differ("domain_attr.name", h.Domain.Name, info.Domain.Name))
		}
		if h.Fabric != nil && h.Fabric.Name != "" && !sameName(h.Fabric.Name, info.Fabric.Name) {
			return refuse(differ("fabric_attr.name", h.Fabric.Name, info.Fabric.Name))
		}
	}
	if format != FormatUnspec && info.AddrFormat != format {
		return refuse(differ("FI_ADDR_FORMAT", format.String(), info.AddrFormat.String()))
	}
	for i, below := len(s)-1, info; below != nil && i >= 0; i, below = i-1, below.below {
		below.Fabric.ProvName, below.Fabric.ProvVersion, below.Fabric.APIVersion = s[:i+1].name(), s[i].Version(), g.v
	}
	return true
}

// reorder moves tcp's own reliable datagrams before those of ofi_rxm over tcp: both do the same, but tcp has one
// layer less. Without ofi_rxm they go to its place, before those of other layers, so that callers without a
// preference get tcp.
func reorder(all []*Info) []*Info {
	is := func(i *Info, name string) bool { return sameName(i.Fabric.ProvName, name) && i.EP.Type == EPTypeRDM }
	var direct, rest []*Info
	for _, i := range all {
		if is(i, "tcp") {
			direct = append(direct, i)
		} else {
			rest = append(rest, i)
		}
	}
	at := slices.IndexFunc(rest, func(i *Info) bool { return is(i, "tcp;ofi_rxm") })
	if at < 0 {
		at = slices.IndexFunc(rest, func(i *Info) bool { return i.EP.Type == EPTypeRDM && strings.Contains(i.Fabric.ProvName, ";") })
	}
	if at < 0 {
		// In this case native moves them to the end of the list, behind worse providers. We do not follow it.
		return all
	}
	return slices.Insert(rest, at, direct...)
}
