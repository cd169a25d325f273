package fabrictest

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"gofabric/core"
)

// Fabric is a network of nodes. Its methods are safe for concurrent use.
type Fabric struct {
	cfg   Config
	nodes []*Node

	mu    sync.RWMutex // locked before the links' and the inboxes' locks, after those of domains
	ports map[netip.AddrPort]*port
	links map[[2]int]*Link
	group []int // of each node: nodes of different groups do not reach each other
}

// MaxNodes is the largest number of nodes of a Fabric.
const MaxNodes = 1 << 20

// New makes a network for a test. At its end a failed test logs the seed. In a bubble of testing/synctest, call New
// inside the bubble.
func New(tb testing.TB, nodes int, cfg Config) *Fabric {
	tb.Helper()
	f, err := Open(nodes, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("fabrictest: the seed was %d (Config.Seed)", f.cfg.Seed)
		}
	})
	return f
}

// Open makes a network without a test. It needs no Close: only open domains have goroutines and descriptors.
func Open(nodes int, cfg Config) (*Fabric, error) {
	if nodes < 1 || nodes > MaxNodes {
		return nil, fmt.Errorf("fabrictest: %d nodes, outside 1 to %d", nodes, MaxNodes)
	}
	f := &Fabric{cfg: cfg, ports: map[netip.AddrPort]*port{}, links: map[[2]int]*Link{}, group: make([]int, nodes)}
	f.cfg.fill()
	if err := f.cfg.check(); err != nil {
		return nil, fmt.Errorf("fabrictest: %w", err)
	}
	for i := range nodes {
		n, err := newNode(f, i)
		if err != nil {
			return nil, fmt.Errorf("fabrictest: %w", err)
		}
		f.nodes = append(f.nodes, n)
	}
	return f, nil
}

// Nodes returns the number of nodes.
func (f *Fabric) Nodes() int { return len(f.nodes) }

// Node returns a node, from 0 to Nodes()-1.
func (f *Fabric) Node(i int) *Node { return f.nodes[i] }

// Seed returns Config.Seed, or its default.
func (f *Fabric) Seed() uint64 { return f.cfg.Seed }

func (f *Fabric) inside(i int) bool { return i >= 0 && i < len(f.nodes) }

// nodeAt returns the node of an address, nil if there is none.
func (f *Fabric) nodeAt(a netip.Addr) *Node {
	a = a.Unmap()
	if !a.Is4() {
		return nil
	}
	b := a.As4()
	if i := int(b[1])<<16 | int(b[2])<<8 | int(b[3]); b[0] == network && f.inside(i-1) {
		return f.nodes[i-1]
	}
	return nil
}

// network is the first byte of all addresses.
const network = 10

func addrOf(i int) netip.Addr {
	i++
	return netip.AddrFrom4([4]byte{network, byte(i >> 16), byte(i >> 8), byte(i)})
}

// The first port number that the node chooses, as on Linux.
const firstPort = 49152

// bind assigns an address to p.
func (f *Fabric) bind(p *port, want uint16) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := p.node
	if want != 0 {
		p.local = netip.AddrPortFrom(n.addr, want)
		if f.ports[p.local] != nil {
			return core.ErrAddrInUse
		}
	} else if !f.choose(p) {
		return core.ErrAddrNotAvail
	}
	f.ports[p.local] = p
	return nil
}

func (f *Fabric) choose(p *port) bool {
	for range 65536 - firstPort {
		p.local = netip.AddrPortFrom(p.node.addr, p.node.nextPort)
		if p.node.nextPort++; p.node.nextPort < firstPort {
			p.node.nextPort = firstPort
		}
		if f.ports[p.local] == nil {
			return true
		}
	}
	return false
}

// unbind takes p off the network.
func (f *Fabric) unbind(p *port) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ports[p.local] == p {
		delete(f.ports, p.local)
	}
}

// route returns the port at an address, nil if there is none, and the link to it.
func (f *Fabric) route(from *Node, to netip.AddrPort) (*port, *Link) {
	f.mu.RLock()
	p := f.ports[to]
	var l *Link
	if p != nil {
		l = f.links[[2]int{from.index, p.node.index}]
	}
	f.mu.RUnlock()
	if p != nil && l == nil {
		l = f.Link(from.index, p.node.index)
	}
	return p, l
}
