package core

import (
	"fmt"
	"slices"
	"strings"
)

// Registry is the set of providers that GetInfo chooses from. A program can make several; the root package makes
// one of the registered providers (Register). Their order is the order of preference in results: in native, layers
// come first, then udp, then tcp.
type Registry struct {
	providers []Provider
	hook      Hook              // nil without SetHook
	absent    map[string]string // see SetAbsent
}

// NewRegistry returns a registry of the given providers, layers among them.
func NewRegistry(providers ...Provider) *Registry {
	return &Registry{providers: slices.Clone(providers)}
}

// Providers returns the providers in order of preference.
func (r *Registry) Providers() []Provider { return slices.Clone(r.providers) }

// SetAbsent sets, for provider names, what a program has to do to have these providers. Errors that name such a
// provider repeat it. Call it before r is used.
func (r *Registry) SetAbsent(how map[string]string) { r.absent = how }

// Lookup returns the provider of a name, nil if there is none. It ignores case, as libfabric does.
func (r *Registry) Lookup(name string) Provider {
	for _, p := range r.providers {
		if sameName(p.Name(), name) {
			return p
		}
	}
	return nil
}

// Params returns the parameters of all providers, for Params.Define.
func (r *Registry) Params() []Param {
	var all []Param
	for _, p := range r.providers {
		if d, ok := p.(Parametrized); ok {
			all = append(all, d.Params()...)
		}
	}
	return all
}

// stack is a core provider and the layers above it, from the bottom up.
type stack []Provider

// name returns the stack's name: "udp;ofi_rxd".
func (s stack) name() string {
	names := make([]string, len(s))
	for i, p := range s {
		names[i] = p.Name()
	}
	return strings.Join(names, ";")
}

func (s stack) top() Provider { return s[len(s)-1] }

func (s stack) has(name string) bool {
	return slices.ContainsFunc(s, func(p Provider) bool { return sameName(p.Name(), name) })
}

func isLayer(p Provider) bool {
	_, ok := p.(Layer)
	return ok
}

func namedOnly(p Provider) bool {
	n, ok := p.(NamedOnly)
	return ok && n.NamedOnly()
}

// automatic returns the stacks that exist without a provider name: every core provider, and every layer over every
// core provider.
func (r *Registry) automatic() []stack {
	var all []stack
	for _, p := range r.providers {
		switch {
		case !isLayer(p):
			all = append(all, stack{p})
		case !namedOnly(p):
			all = append(all, r.over(p, false)...)
		}
	}
	return all
}

// over returns the stacks of a layer over each core provider. With named, NamedOnly providers are included.
func (r *Registry) over(layer Provider, named bool) []stack {
	var all []stack
	for _, p := range r.providers {
		if !isLayer(p) && (named || !namedOnly(p)) {
			all = append(all, stack{p, layer})
		}
	}
	return all
}

// named returns the stacks that a provider name selects (fi_getinfo(3), "prov_name"): a core provider with the
// layers over it; a layer over any core provider; or exactly "core;layer;...". A trailing ^name excludes. ""
// selects all.
func (r *Registry) named(name string) ([]stack, error) {
	var parts, excluded []string
	for part := range strings.SplitSeq(name, ";") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case part[0] == '^':
			excluded = append(excluded, part[1:])
		case len(excluded) > 0:
			return nil, fmt.Errorf("provider name %q: exclusions (^name) must come last", name)
		default:
			parts = append(parts, part)
		}
	}
	found, err := r.combine(parts)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(s stack) bool {
		return slices.ContainsFunc(excluded, s.has)
	}), nil
}

func (r *Registry) combine(parts []string) ([]stack, error) {
	s := make(stack, len(parts))
	for i, part := range parts {
		if s[i] = r.Lookup(part); s[i] == nil {
			return nil, r.unknown(part)
		}
	}
	switch {
	case len(s) == 0:
		return r.automatic(), nil
	case len(s) == 1 && isLayer(s[0]):
		return r.over(s[0], true), nil
	case len(s) == 1:
		var all []stack
		for _, p := range r.providers {
			if isLayer(p) && !namedOnly(p) && !namedOnly(s[0]) {
				all = append(all, stack{s[0], p})
			}
		}
		return append(all, s), nil
	case len(s) == 2 && isLayer(s[0]) && !isLayer(s[1]):
		s[0], s[1] = s[1], s[0] // "ofi_rxm;tcp" is an old way to say "tcp;ofi_rxm"
	}
	if isLayer(s[0]) {
		return nil, fmt.Errorf("%q: %s is a layer; a core provider must come first", s.name(), s[0].Name())
	}
	for _, p := range s[1:] {
		if !isLayer(p) {
			return nil, fmt.Errorf("%q: %s is not a layer, so it cannot stand above another provider", s.name(), p.Name())
		}
	}
	return []stack{s}, nil
}

// unknown returns the error for an unknown name, with the most similar known name.
func (r *Registry) unknown(name string) error {
	var known []string
	best, distance := "", 2+len(name)/2
	for _, p := range r.providers {
		known = append(known, p.Name())
		if d := editDistance(strings.ToLower(name), strings.ToLower(p.Name())); d < distance {
			best, distance = p.Name(), d
		}
	}
	text := fmt.Sprintf("there is no provider %q", name)
	if how := r.absent[strings.ToLower(name)]; how != "" {
		text = fmt.Sprintf("provider %q is not part of this program: %s", name, how)
	} else if best != "" {
		text += fmt.Sprintf("; did you mean %q", best)
	}
	return fmt.Errorf("%s (there are: %s)", text, strings.Join(known, " "))
}

// editDistance returns the Levenshtein distance. Long names have a large distance from all others.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// OpenFabric opens the fabric of an Info from GetInfo (fi_fabric(3)): the core provider's, and over it the fabrics
// of the layers that the provider name lists.
func OpenFabric(r *Registry, info *Info) (*Fabric, error) {
	const op = "fi_fabric"
	if info == nil || info.Fabric == nil || info.Fabric.ProvName == "" {
		return nil, &OpError{Op: op, Err: ErrInval, Hint: "the Info has no provider name; pass one that GetInfo returned"}
	}
	name := info.Fabric.ProvName
	var s stack
	for part := range strings.SplitSeq(name, ";") {
		p := r.Lookup(part)
		if p == nil {
			return nil, &OpError{Op: op, Provider: name, Object: info.Fabric.Name, Err: ErrNoDev, Hint: r.unknown(part).Error()}
		}
		if isLayer(p) != (len(s) > 0) {
			return nil, &OpError{Op: op, Provider: name, Object: info.Fabric.Name, Err: ErrInval, Hint: "a provider name is one core provider, then layers"}
		}
		s = append(s, p)
	}
	// The Infos from the top down: a layer's Info refers to the one below.
	infos := make([]*Info, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		if infos[i] = info; i == 0 {
			break
		}
		below := info.Below()
		if below == nil {
			return nil, &OpError{Op: op, Provider: name, Object: info.Fabric.Name, Err: ErrInval, Hint: "the Info of a layer must come from GetInfo"}
		}
		info = below
	}
	fabric, err := s[0].OpenFabric(infos[0])
	for i := 1; err == nil && i < len(s); i++ {
		var over FabricDriver
		if over, err = s[i].(Layer).OpenFabricOver(infos[i], fabric); err != nil {
			fabric.Close()
			break
		}
		fabric = over
	}
	if err == nil && r.hook != nil {
		var over FabricDriver
		if over, err = r.hook.OpenFabric(infos[len(s)-1], fabric); err != nil {
			fabric.Close()
		}
		fabric = over
	}
	if err != nil {
		return nil, err
	}
	return &Fabric{fabric}, nil
}
