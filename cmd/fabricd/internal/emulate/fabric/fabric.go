package fabric

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/mono"
)

// Fabric is a running emulated fabric. Any goroutine may call its methods.
type Fabric struct {
	top *topology.Topology
	log *slog.Logger

	mu         sync.Mutex
	net        *network
	start      mono.Time
	plan       []topology.Event   // future events
	recordings map[int]*recording // by link

	opening sync.Mutex // guards the choice of capture files

	nodes *nodes
	done  chan struct{} // the loop has ended
}

// New makes the namespaces and starts the fabric. It needs the rights for network namespaces: those of root, or
// those in a user namespace of its own.
func New(top *topology.Topology, log *slog.Logger) (*Fabric, error) {
	f := &Fabric{top: top, log: log, plan: top.Schedule, recordings: map[int]*recording{}, done: make(chan struct{})}
	f.net = newNetwork(top, f.deliver)
	nodes, err := newNodes(f.net)
	if err != nil {
		return nil, err
	}
	f.nodes = nodes
	for i := range top.Links {
		f.carry(i)
	}
	f.start = mono.Now()
	f.net.now = f.start
	go f.loop()
	return f, nil
}

// Close ends the fabric: programs in its nodes, interfaces, namespaces, captures.
func (f *Fabric) Close() error {
	f.nodes.endPrograms()
	f.nodes.stop()
	<-f.done
	var errs []error
	for i := range f.top.Links {
		if m := f.cut(i); m != nil {
			errs = append(errs, m.end())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(append(errs, f.nodes.close())...)
}

// deliver hands a frame to a node's kernel.
func (f *Fabric) deliver(face int, b []byte) bool { return f.nodes.write(face, b) }

// advance handles events of the schedule and frames that are due. It returns the time of the next call.
func (f *Fabric) advance(now mono.Time) mono.Time {
	for len(f.plan) > 0 && f.start.Add(f.plan[0].At) <= now {
		f.happen(now, &f.plan[0])
		f.plan = f.plan[1:]
	}
	f.net.advance(now)
	at := f.net.deadline()
	if len(f.plan) > 0 {
		at = min(at, f.start.Add(f.plan[0].At))
	}
	return at
}

// happen executes an event of the schedule.
func (f *Fabric) happen(now mono.Time, e *topology.Event) {
	if e.Link == "" {
		f.log.Info("schedule", "at", e.At, "partition", fmt.Sprint(e.Groups))
		f.net.part(e.Groups)
		return
	}
	i := f.top.Link(e.Link)
	for _, c := range e.Changes {
		f.log.Info("schedule", "at", e.At, "link", e.Link, "direction", c.Direction, "faults", fmt.Sprint(c.Edit))
		for _, p := range f.net.directions(i, c.Direction) {
			faults, err := c.Edit.Apply(p.link.Faults())
			if err != nil { // it was checked on a perfect link when it was read
				f.log.Error("schedule", "link", e.Link, "error", err)
				continue
			}
			f.net.change(now, p, faults)
		}
	}
	if e.Up != nil {
		f.log.Info("schedule", "at", e.At, "link", e.Link, "up", *e.Up)
		f.up(i, *e.Up)
	}
}

// up plugs a link in or out. It computes new ways through the switches, and sets the carrier of interfaces at its
// ends.
func (f *Fabric) up(i int, up bool) {
	for _, p := range f.net.directions(i, topology.Both) {
		p.link.SetDown(!up)
	}
	f.net.route()
	f.carry(i)
}

// carry sets the carrier of interfaces.
func (f *Fabric) carry(i int) {
	for _, p := range f.net.directions(i, topology.Both) {
		if p.to.face >= 0 {
			f.nodes.carrier(p.to.face, !p.link.Down())
		}
	}
}

// directions returns the pipes of a link.
func (n *network) directions(i int, direction string) []*pipe {
	switch direction {
	case topology.AB:
		return n.pipes[2*i : 2*i+1]
	case topology.BA:
		return n.pipes[2*i+1 : 2*i+2]
	}
	return n.pipes[2*i : 2*i+2]
}

// part makes a partition of groups, which were checked. No groups end it.
func (n *network) part(groups [][]string) {
	n.groups, n.group = groups, nil
	if len(groups) == 0 {
		return
	}
	n.group = make([]int, len(n.top.Nodes)) // 0: in no group
	for i, g := range groups {
		for _, name := range g {
			n.group[n.top.Node(name)] = i + 1
		}
	}
}

// since returns the fabric's age.
func (f *Fabric) since() time.Duration { return mono.Now().Sub(f.start) }
