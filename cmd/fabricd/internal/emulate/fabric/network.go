package fabric

import (
	"slices"

	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/mono"
	"gofabric/internal/queue"
)

// frameOverhead is the size of a frame without its payload, in bytes: the Ethernet header with a VLAN tag.
const frameOverhead = 14 + 4

// network moves frames between the nodes. It does no I/O. Its owner guards it.
type network struct {
	top      *topology.Topology
	faces    []face
	switches []station
	pipes    []*pipe // two for each link: from a to b, from b to a
	group    []int   // of each node, in a partition; nil without
	groups   [][]string

	now     mono.Time
	pool    pool
	way     queue.Heap[mono.Time, *link.Frame] // frames under way
	holding []*pipe                            // links that hold frames back

	deliver func(face int, b []byte) bool // delivers a frame to a node; false: the node had no room
}

// face is a node's interface.
type face struct {
	node, index int
	mac         [6]byte
	out         *pipe
}

// pipe is one direction of a link.
type pipe struct {
	link      *link.Link
	number    int // index in network.pipes
	id        int // of the link in the topology
	to        end
	tree      bool // floods use it: the tree has no loops
	holding   bool
	recording *recording // its capture, or nil
}

// end is the far end of a pipe: an interface or a switch. The other one is -1.
type end struct{ face, station int } // one of them is -1

// newNetwork makes the links of a topology.
func newNetwork(top *topology.Topology, deliver func(face int, b []byte) bool) *network {
	n := &network{top: top, pool: newPool(top.MTU), deliver: deliver, switches: make([]station, len(top.Switches))}
	stations := map[string]int{}
	for i, name := range top.Switches {
		stations[name] = i
		n.switches[i].learned = map[[6]byte]*pipe{}
	}
	faceOf := map[[2]int]int{} // of a node and a link
	for i := range top.Nodes {
		for j, f := range top.Nodes[i].Interfaces {
			faceOf[[2]int{i, f.Link}] = len(n.faces)
			n.faces = append(n.faces, face{node: i, index: j, mac: macOf(len(n.faces))})
		}
	}
	place := func(name string, l int) end {
		if s, ok := stations[name]; ok {
			return end{-1, s}
		}
		return end{faceOf[[2]int{top.Node(name), l}], -1}
	}
	for i := range top.Links {
		l := &top.Links[i]
		a, b := place(l.A, i), place(l.B, i)
		for dir, way := range []struct {
			from, to end
			faults   link.Faults
		}{{a, b, l.AB}, {b, a, l.BA}} {
			p := &pipe{link: link.New(top.Seed, uint64(2*i+dir)), number: len(n.pipes), id: i, to: way.to}
			p.link.Set(way.faults)
			p.link.SetDown(!l.Up)
			n.pipes = append(n.pipes, p)
			if way.from.face >= 0 {
				n.faces[way.from.face].out = p
			} else {
				s := &n.switches[way.from.station]
				s.ports = append(s.ports, p)
			}
		}
	}
	n.route()
	return n
}

// change changes the faults of a pipe, and the arrival of frames that wait for its line.
func (n *network) change(now mono.Time, p *pipe, f link.Faults) {
	again := p.link.Change(now, f)
	if again == nil {
		return
	}
	n.way.Rekey(func(f *link.Frame) mono.Time {
		if f.Way == p.number {
			f.Retime(again)
		}
		return f.At
	})
}

// back returns the other direction of p.
func (n *network) back(p *pipe) *pipe { return n.pipes[p.number^1] }

// room returns an empty frame for a frame from an interface, or nil: then that frame is refused.
func (n *network) room(from int) *link.Frame {
	f := n.pool.take()
	if f != nil {
		f.From = n.faces[from].node
	}
	return f
}

// refuse counts a frame from an interface that had no room.
func (n *network) refuse(from int) { n.faces[from].out.link.Refused() }

// send sends a frame from a node.
func (n *network) send(from int, f *link.Frame) {
	n.enter(n.faces[from].out, f)
}

// enter puts a frame into a pipe.
func (n *network) enter(p *pipe, f *link.Frame) {
	cut := n.group != nil && p.to.face >= 0 && n.group[f.From] != n.group[n.faces[p.to.face].node]
	f.Way = p.number
	if p.recording != nil {
		p.recording.record(p, f.B, atSender)
	}
	p.link.Send(n.now, f, cut, n)
	if !p.holding && p.link.Deadline() != mono.Never {
		p.holding = true
		n.holding = append(n.holding, p)
	}
}

// Deliver implements link.Out: f arrives now or later.
func (n *network) Deliver(f *link.Frame) {
	if f.At <= n.now {
		n.arrive(f)
		return
	}
	n.way.Push(f.At, f)
}

// Copy implements link.Out.
func (n *network) Copy(f *link.Frame) *link.Frame {
	twin := n.pool.take()
	if twin == nil {
		return nil
	}
	b := twin.B[:len(f.B)]
	copy(b, f.B)
	*twin = *f
	twin.B = b
	return twin
}

// Free implements link.Out.
func (n *network) Free(f *link.Frame) { n.pool.put(f) }

// arrive handles a frame at the end of its pipe.
func (n *network) arrive(f *link.Frame) {
	p := n.pipes[f.Way]
	if p.recording != nil {
		p.recording.record(p, f.B, atReceiver)
	}
	if p.to.station >= 0 {
		n.forward(&n.switches[p.to.station], p, f)
		return
	}
	if !n.deliver(p.to.face, f.B) {
		p.link.Refused()
	}
	n.pool.put(f)
}

// advance handles all frames that are due.
func (n *network) advance(now mono.Time) {
	n.now = now
	for n.way.Len() > 0 && n.way.MinKey() <= now {
		n.arrive(n.way.Pop())
	}
	for i := 0; i < len(n.holding); i++ { // it grows if a frame continues on a link that holds it back, too
		if p := n.holding[i]; p.link.Deadline() <= now {
			p.link.Advance(now, n)
		}
	}
	n.holding = slices.DeleteFunc(n.holding, func(p *pipe) bool {
		p.holding = p.link.Deadline() != mono.Never
		return !p.holding
	})
}

// deadline returns the time at which advance must be called.
func (n *network) deadline() mono.Time {
	at := mono.Never
	if n.way.Len() > 0 {
		at = n.way.MinKey()
	}
	for _, p := range n.holding {
		at = min(at, p.link.Deadline())
	}
	return at
}
