package fabrictest

import (
	"fmt"
	"net/netip"
	"sync"

	"gofabric/internal/impair"
	"gofabric/internal/mono"
)

// Link is the path from one node to another. Its methods are safe for concurrent use. Changed settings do not
// affect datagrams under way.
type Link struct {
	mu     sync.Mutex
	link   impair.Link
	down   bool // by Down
	parted bool // by Partition
}

// Link returns the path from one node to another. The path back is another Link. A node that does not exist is an
// error in the test, and panics.
func (f *Fabric) Link(from, to int) *Link {
	if !f.inside(from) || !f.inside(to) {
		panic(fmt.Sprintf("fabrictest: Link(%d, %d): there are %d nodes", from, to, len(f.nodes)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := [2]int{from, to}
	l := f.links[key]
	if l == nil {
		l = &Link{}
		l.link.Init(f.cfg.Seed, uint64(from)<<32|uint64(to), mono.None, nil)
		if from != to {
			l.link.Set(impair.Faults(f.cfg.Faults))
		}
		l.parted = f.group[from] != f.group[to]
		l.settle()
		f.links[key] = l
	}
	return l
}

// Set replaces the link's faults. Invalid settings panic.
func (l *Link) Set(faults Faults) {
	if err := faults.check(); err != nil {
		panic("fabrictest: " + err.Error())
	}
	l.mu.Lock()
	l.link.Set(impair.Faults(faults))
	l.mu.Unlock()
}

// Faults returns the link's settings.
func (l *Link) Faults() Faults {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Faults(l.link.Faults())
}

// Down cuts the link, or restores it. No datagram passes a link that is cut.
func (l *Link) Down(down bool) {
	l.mu.Lock()
	l.down = down
	l.settle()
	l.mu.Unlock()
}

func (l *Link) part(parted bool) {
	l.mu.Lock()
	l.parted = parted
	l.settle()
	l.mu.Unlock()
}

func (l *Link) settle() { l.link.Down(l.down || l.parted) }

// Stats returns the counts since the network was made.
func (l *Link) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats(l.link.Stats())
}

// send sends datagrams from a port to a port. The sender's domain is locked.
func (l *Link) send(from, to *port, dest netip.AddrPort, parts [][]byte, seg int) error {
	now := mono.Now()
	l.mu.Lock()
	from.out.to, from.out.now = to, now
	err := l.link.Send(now, &from.out, dest, parts, seg)
	from.out.to = nil
	l.mu.Unlock()
	return err
}

// SetFaults replaces the faults of all links between different nodes. Invalid settings panic.
func (f *Fabric) SetFaults(faults Faults) {
	if err := faults.check(); err != nil {
		panic("fabrictest: " + err.Error())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cfg.Faults = faults
	for key, l := range f.links {
		if key[0] != key[1] {
			l.Set(faults)
		}
	}
}

// Partition splits the network: nodes of different groups do not reach each other. Nodes that are in no group form
// one more group. It replaces an earlier partition. A node that does not exist, or is in two groups, panics.
func (f *Fabric) Partition(groups ...[]int) {
	of := make([]int, len(f.nodes))
	for g, nodes := range groups {
		for _, i := range nodes {
			if !f.inside(i) || of[i] != 0 {
				panic(fmt.Sprintf("fabrictest: Partition: node %d does not exist or is in two groups", i))
			}
			of[i] = g + 1
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.group = of
	for key, l := range f.links {
		l.part(of[key[0]] != of[key[1]])
	}
}

// Heal ends the partition. Links that Down has cut remain cut.
func (f *Fabric) Heal() { f.Partition() }

// Stats returns the sums of the counts of all links.
func (f *Fabric) Stats() Stats {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var sum impair.Stats
	for _, l := range f.links {
		sum.Add(impair.Stats(l.Stats()))
	}
	return Stats(sum)
}
