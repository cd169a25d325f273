// The interfaces that the user allows (FI_TCP_IFACE and similar variables).

package netx

import (
	"fmt"
	"net/netip"
	"path"
	"strings"
)

// Refusal is an interface that a filter refused, with a reason that can follow its name in a sentence.
type Refusal struct {
	Interface Interface
	Reason    string
}

// ifnameMax is the longest name of an interface (IFNAMSIZ less the final zero).
const ifnameMax = 15

// FilterInterfaces returns the entries of list that spec allows, in their order, and the others with the reason.
// spec is a comma-separated list of interface names (eth0), patterns (eth*, en[op]*), networks (10.0.0.0/8) and
// addresses (10.1.2.3). A ^ before the whole list inverts it. An empty spec allows all. It is no error if no entry
// is left. The error names the item of spec that is invalid.
func FilterInterfaces(list []Interface, spec string) (kept []Interface, refused []Refusal, err error) {
	spec = strings.TrimSpace(spec)
	if spec == "" {
		return list, nil, nil
	}
	items, exclude, err := parseFilter(spec)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range list {
		hit := firstMatch(items, &entry)
		switch {
		case (hit != nil) != exclude:
			kept = append(kept, entry)
		case exclude:
			refused = append(refused, Refusal{entry, fmt.Sprintf("excluded by %q in %q", hit.text, spec)})
		default:
			refused = append(refused, Refusal{entry, fmt.Sprintf("not selected by %q", spec)})
		}
	}
	return kept, refused, nil
}

// filterItem is one item: a network, an address (a network of one), or otherwise a pattern for names.
type filterItem struct {
	text   string
	prefix netip.Prefix
	zone   string // of an address; "" matches any
}

func firstMatch(items []filterItem, entry *Interface) *filterItem {
	for i := range items {
		if items[i].matches(entry) {
			return &items[i]
		}
	}
	return nil
}

func (f *filterItem) matches(entry *Interface) bool {
	if f.prefix.IsValid() {
		return f.prefix.Contains(entry.Addr.Unmap().WithZone("")) && (f.zone == "" || f.zone == entry.Name)
	}
	ok, _ := path.Match(f.text, entry.Name) // the pattern was checked when it was parsed
	return ok
}

func parseFilter(spec string) (items []filterItem, exclude bool, err error) {
	rest, exclude := strings.CutPrefix(spec, "^")
	for text := range strings.SplitSeq(rest, ",") {
		text = strings.TrimSpace(text)
		item, problem := parseItem(text)
		if problem != "" {
			return nil, false, fmt.Errorf("interface filter %q: item %q %s", spec, text, problem)
		}
		items = append(items, item)
	}
	return items, exclude, nil
}

func parseItem(text string) (item filterItem, problem string) {
	item.text = text
	switch {
	case text == "":
		return item, "is empty"
	case strings.HasPrefix(text, "^"):
		return item, "has a ^ of its own: ^ stands only before the whole list"
	case strings.Contains(text, "/"):
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return item, "is not a network such as 10.0.0.0/8"
		}
		item.prefix = p.Masked()
		return item, ""
	}
	if a, err := netip.ParseAddr(text); err == nil {
		item.zone = a.Zone()
		a = a.Unmap().WithZone("")
		item.prefix = netip.PrefixFrom(a, a.BitLen())
		return item, ""
	}
	if strings.Contains(text, ":") || strings.Trim(text, "0123456789.") == "" {
		return item, "is not an IP address"
	}
	if strings.ContainsAny(text, " \t\r\n") {
		return item, "has a blank inside"
	}
	if _, err := path.Match(text, ""); err != nil {
		return item, "is not a valid pattern"
	}
	if !strings.ContainsAny(text, `*?[\`) && len(text) > ifnameMax {
		return item, fmt.Sprintf("is longer than any interface name (%d bytes)", ifnameMax)
	}
	return item, ""
}
