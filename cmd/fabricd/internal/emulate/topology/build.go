package topology

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// Limits of a topology: a fabric for one machine.
const (
	maxNodes    = 200 // the last byte of an automatic address is the node's number
	maxSwitches = 64
	maxLinks    = 1000
	maxEvents   = 10000
	minMTU      = 1280 // of IPv6 (RFC 8200, section 5)
	maxMTU      = 9216
	defaultMTU  = 1500
)

// word is the syntax of names. A "-" would make ids of links ambiguous.
var word = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,30}$`)

// build returns a complete Topology.
func (f *file) build() (*Topology, error) {
	t := &Topology{Name: cmp.Or(f.Name, "fabric"), Seed: cmp.Or(f.Seed, 1), MTU: cmp.Or(f.MTU, defaultMTU), Switches: f.Switches}
	switch {
	case len(f.Nodes) == 0:
		return nil, errors.New("there are no nodes; write nodes: [n1, n2]")
	case len(f.Nodes) > maxNodes || len(f.Switches) > maxSwitches || len(f.Links) > maxLinks || len(f.Schedule) > maxEvents:
		return nil, fmt.Errorf("%d nodes, %d switches, %d links and %d events; allowed are at most %d, %d, %d and %d", len(f.Nodes), len(f.Switches), len(f.Links), len(f.Schedule),
			maxNodes, maxSwitches, maxLinks, maxEvents)
	case t.MTU < minMTU || t.MTU > maxMTU:
		return nil, at(fmt.Errorf("mtu %d: it must be between %d and %d", t.MTU, minMTU, maxMTU), "mtu")
	}
	kinds := map[string]string{}
	for _, group := range []struct {
		kind, key string
		names     []string
	}{{"node", "nodes", f.Nodes}, {"switch", "switches", f.Switches}} {
		for i, name := range group.names {
			if !word.MatchString(name) {
				return nil, at(fmt.Errorf("%s %q: a name has letters, digits and _, and begins with a letter", group.kind, name), group.key, i)
			}
			if kinds[name] != "" {
				return nil, at(fmt.Errorf("two nodes or switches are called %s", name), group.key, i)
			}
			kinds[name] = group.kind
		}
	}
	for _, name := range f.Nodes {
		t.Nodes = append(t.Nodes, Node{Name: name})
	}
	if _, err := f.Defaults.Apply(link.Faults{}); err != nil {
		return nil, at(fmt.Errorf("defaults: %w", err), "defaults")
	}
	for i := range f.Links {
		if err := t.addLink(&f.Links[i], f.Defaults, kinds); err != nil {
			return nil, at(fmt.Errorf("link %d, %v: %w", i+1, f.Links[i].Between, err), "links", i)
		}
	}
	if err := t.address(f.Address); err != nil {
		return nil, at(err, "addresses")
	}
	for i := range f.Schedule {
		if err := t.addEvent(&f.Schedule[i]); err != nil {
			return nil, at(fmt.Errorf("event %d of the schedule: %w", i+1, err), "schedule", i)
		}
	}
	slices.SortStableFunc(t.Schedule, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return t, nil
}

// addLink adds a link with its faults: the defaults, then the link's, then the direction's.
func (t *Topology) addLink(f *fileLink, defaults Edit, kinds map[string]string) error {
	if len(f.Between) != 2 || f.Between[0] == f.Between[1] {
		return errors.New("a link is between two different ends; write between: [n1, s1]")
	}
	l := Link{ID: f.ID, A: f.Between[0], B: f.Between[1], Up: f.Up == nil || *f.Up}
	for _, end := range f.Between {
		if kinds[end] == "" {
			return at(fmt.Errorf("%s is neither a node nor a switch", end), "between")
		}
	}
	for n := 2; l.ID == "" || f.ID == "" && t.Link(l.ID) >= 0; n++ {
		if l.ID == "" {
			l.ID, n = l.A+"-"+l.B, 1
			continue
		}
		l.ID = fmt.Sprintf("%s-%s-%d", l.A, l.B, n)
	}
	if t.Link(l.ID) >= 0 {
		return fmt.Errorf("two links have the id %s", l.ID)
	}
	for _, part := range l.ID {
		if part == '/' || part <= ' ' || part > '~' {
			return fmt.Errorf("the id %q: an id has letters, digits, - and _", l.ID)
		}
	}
	var err error
	for _, d := range []struct {
		name string
		to   *link.Faults
		edit Edit
	}{{AB, &l.AB, f.AB}, {BA, &l.BA, f.BA}} {
		for _, e := range []Edit{defaults, f.Faults} {
			if *d.to, err = e.Apply(*d.to); err != nil {
				return err
			}
		}
		if *d.to, err = d.edit.Apply(*d.to); err != nil {
			return at(err, d.name)
		}
	}
	t.Links = append(t.Links, l)
	return nil
}

// addEvent adds a change.
func (t *Topology) addEvent(f *fileEvent) (err error) {
	e := Event{Up: f.Up, Groups: f.Partition}
	if e.At, err = ParseDelay(f.At); err != nil {
		return at(fmt.Errorf("at: %w", err), "at")
	}
	things := 0
	for _, is := range []bool{f.Link != "", len(f.Partition) > 0, f.Heal} {
		if is {
			things++
		}
	}
	if things != 1 {
		return errors.New("give one of link, partition and heal: true")
	}
	if f.Link == "" {
		if f.Up != nil || len(f.Faults) > 0 || f.Direction != "" {
			return errors.New("up, direction and faults belong to a link")
		}
		t.Schedule = append(t.Schedule, e)
		return t.CheckGroups(f.Partition)
	}
	i := t.Link(f.Link)
	if i < 0 {
		return fmt.Errorf("there is no link %s", f.Link)
	}
	e.Link = t.Links[i].ID
	if len(f.Faults) > 0 {
		c := Change{Direction: cmp.Or(f.Direction, Both), Edit: f.Faults}
		if err := c.check(); err != nil {
			return err
		}
		e.Changes = []Change{c}
	}
	if e.Up == nil && e.Changes == nil {
		return fmt.Errorf("nothing changes on link %s: write loss: 5%%, or up: false", f.Link)
	}
	t.Schedule = append(t.Schedule, e)
	return nil
}

// check applies the change to a perfect link.
func (c *Change) check() error {
	if c.Direction != Both && c.Direction != AB && c.Direction != BA {
		return fmt.Errorf("direction %q: it can be both, ab or ba", c.Direction)
	}
	_, err := c.Edit.Apply(link.Faults{})
	return err
}

// CheckGroups returns the reason why the groups of a partition are invalid. Nodes in no group form one more.
func (t *Topology) CheckGroups(groups [][]string) error {
	in := map[string]bool{}
	for _, g := range groups {
		for _, name := range g {
			if t.Node(name) < 0 {
				return fmt.Errorf("partition: there is no node %q", name)
			}
			if in[name] {
				return fmt.Errorf("partition: node %s is in two groups", name)
			}
			in[name] = true
		}
	}
	return nil
}
