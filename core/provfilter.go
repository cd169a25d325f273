package core

import (
	"slices"
	"strings"
)

// provFilter is FI_PROVIDER (fabric(7)): a list of the only allowed provider names, or, with ^ before the list, of
// the forbidden ones.
type provFilter struct {
	text    string
	negated bool
	names   []string
}

func newProvFilter(text string) provFilter {
	f := provFilter{text: strings.TrimSpace(text)}
	list := f.text
	if strings.HasPrefix(list, "^") {
		f.negated, list = true, list[1:]
	}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			f.names = append(f.names, name)
		}
	}
	return f
}

func (f *provFilter) lists(name string) bool {
	return slices.ContainsFunc(f.names, func(n string) bool { return sameName(n, name) })
}

// refuses returns the reason why a stack is not allowed, or "". A name matches a whole stack, or its core provider:
// "tcp" allows "tcp;ofi_rxm", too. A forbidden layer is forbidden over any core provider.
func (f *provFilter) refuses(s stack) string {
	if len(f.names) == 0 {
		return ""
	}
	hit := f.lists(s.name()) || f.lists(s[0].Name())
	if f.negated && !hit {
		hit = slices.ContainsFunc(s, func(p Provider) bool { return f.lists(p.Name()) })
	}
	if hit == f.negated {
		return "FI_PROVIDER=" + f.text + " excludes it"
	}
	return ""
}

// refusesProvider is refuses for a list of providers (FI_PROV_ATTR_ONLY): positive lists concern core providers
// only.
func (f *provFilter) refusesProvider(p Provider) bool {
	if len(f.names) == 0 || (!f.negated && isLayer(p)) {
		return false
	}
	hit := f.lists(p.Name())
	if !f.negated && !hit {
		hit = slices.ContainsFunc(f.names, func(n string) bool {
			head, _, layered := strings.Cut(n, ";")
			return layered && sameName(head, p.Name())
		})
	}
	return hit == f.negated
}

// named adds the stacks that a positive filter names in full and that do not exist otherwise, such as
// "udp;fault;ofi_rxd".
func (f *provFilter) named(r *Registry, found []stack) []stack {
	if f.negated {
		return found
	}
	for _, n := range f.names {
		if !strings.Contains(n, ";") {
			continue
		}
		more, err := r.named(n)
		if err != nil {
			continue // misspelled reports it
		}
		for _, s := range more {
			if !slices.ContainsFunc(found, func(have stack) bool { return have.name() == s.name() }) {
				found = append(found, s)
			}
		}
	}
	return found
}

// misspelled returns the reasons for the unknown names in the filter.
func (f *provFilter) misspelled(r *Registry) []Refusal {
	var bad []Refusal
	for _, n := range f.names {
		for part := range strings.SplitSeq(n, ";") {
			if r.Lookup(part) == nil {
				bad = append(bad, Refusal{Provider: part, Reason: "named in FI_PROVIDER: " + r.unknown(part).Error(), stage: stageName + 1})
			}
		}
	}
	return bad
}
