package topology

import (
	"net/netip"
	"slices"
	"time"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// Topology is a fabric to emulate.
type Topology struct {
	Name     string
	Seed     uint64
	MTU      int
	Nodes    []Node
	Switches []string
	Links    []Link
	Schedule []Event // by time
}

// Node is a network namespace with an interface for each of its links.
type Node struct {
	Name       string
	Interfaces []Interface
}

// Interface is a node's end of a link: eth0, eth1, ... in the order of the links.
type Interface struct {
	Name      string
	Link      int // index
	Addresses []netip.Prefix
	Segment   int // interfaces of the same segment reach each other without a router
}

// Link is a cable between two nodes or switches.
type Link struct {
	ID     string
	A, B   string
	Up     bool
	AB, BA link.Faults
}

// Event changes the fabric at a time after its start.
type Event struct {
	At      time.Duration
	Link    string // the link that changes, or "" for a partition
	Changes []Change
	Up      *bool
	Groups  [][]string // of nodes: those of different groups do not reach each other. Without groups and link, partitions end
}

// Directions of a link.
const (
	Both = "both"
	AB   = "ab"
	BA   = "ba"
)

// Change is an edit of a link's faults, in one direction or both.
type Change struct {
	Direction string
	Edit      Edit
}

// Node returns the index of a node, or -1.
func (t *Topology) Node(name string) int {
	return slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == name })
}

// Link returns the index of the link with this id, or -1. The order of the ends does not matter ("b-a" is "a-b").
func (t *Topology) Link(id string) int {
	for i := range t.Links {
		if t.Links[i].ID == id {
			return i
		}
	}
	for i := range t.Links {
		if l := &t.Links[i]; l.ID == l.A+"-"+l.B && id == l.B+"-"+l.A {
			return i
		}
	}
	return -1
}
