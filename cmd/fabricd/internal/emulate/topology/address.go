package topology

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// maxSegments is the number of segments with automatic addresses: 10.77.0.0/24 to 10.77.254.0/24.
const maxSegments = 255

// segments determines which links form one Ethernet: switches join them. It returns the segment of each link.
func (t *Topology) segments() []int {
	root := map[string]string{}
	var find func(string) string
	find = func(s string) string {
		if p, ok := root[s]; ok && p != s {
			return find(p)
		}
		return s
	}
	for _, l := range t.Links {
		if slices.Contains(t.Switches, l.A) && slices.Contains(t.Switches, l.B) {
			root[find(l.A)] = find(l.B)
		}
	}
	numbers := map[string]int{}
	of := make([]int, len(t.Links))
	for i, l := range t.Links {
		key := "cable " + l.ID // between two nodes: an Ethernet of its own
		switch {
		case slices.Contains(t.Switches, l.A):
			key = find(l.A)
		case slices.Contains(t.Switches, l.B):
			key = find(l.B)
		}
		if _, ok := numbers[key]; !ok {
			numbers[key] = len(numbers)
		}
		of[i] = numbers[key]
	}
	return of
}

// address assigns interfaces to nodes and addresses to interfaces: in segment s node n has 10.77.s.n/24 and
// fd77:s::n/64.
func (t *Topology) address(given map[string]string) error {
	of := t.segments()
	used := map[netip.Addr]string{}
	known := 0
	for i := range t.Links {
		l := &t.Links[i]
		for _, end := range []string{l.A, l.B} {
			n := t.Node(end)
			if n < 0 {
				continue
			}
			node := &t.Nodes[n]
			face := Interface{Name: fmt.Sprintf("eth%d", len(node.Interfaces)), Link: i, Segment: of[i]}
			if text, ok := given[node.Name+"/"+face.Name]; ok {
				known++
				p, err := netip.ParsePrefix(text)
				if err != nil {
					return at(fmt.Errorf("addresses, %s/%s: %q is not an address with a prefix, such as 10.0.0.1/24", node.Name, face.Name, text), node.Name+"/"+face.Name)
				}
				face.Addresses = []netip.Prefix{p}
			} else if of[i] < maxSegments {
				face.Addresses = automatic(of[i], n, node.Interfaces)
			}
			for _, p := range face.Addresses {
				name := node.Name + "/" + face.Name
				if other := used[p.Addr()]; other != "" {
					return fmt.Errorf("%s and %s have the same address %v", other, name, p.Addr())
				}
				used[p.Addr()] = name
			}
			node.Interfaces = append(node.Interfaces, face)
		}
	}
	if known < len(given) {
		all := slices.Sorted(maps.Keys(given))
		return fmt.Errorf("addresses: not all of %s are interfaces; write n1/eth0, eth0 being the node's first link", strings.Join(all, ", "))
	}
	return nil
}

// automatic returns the addresses of node n in a segment. The node may already have interfaces there.
func automatic(segment, n int, others []Interface) []netip.Prefix {
	again := 0
	for _, o := range others {
		if o.Segment == segment {
			again++
		}
	}
	if again > 0 { // a second link to the same switches: an address needs a bond or routes that the user sets up
		return nil
	}
	host := byte(n + 1)
	four := netip.AddrFrom4([4]byte{10, 77, byte(segment), host})
	six := netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x77, 3: byte(segment), 15: host})
	return []netip.Prefix{netip.PrefixFrom(four, 24), netip.PrefixFrom(six, 64)}
}
