package fabric

import (
	"cmp"
	"fmt"
	"io"

	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/fabricd/api"
	"gofabric/internal/mono"
)

// NotThere is the error for a link or node that the fabric does not have.
type NotThere struct{ What, Name string }

func (e *NotThere) Error() string {
	return fmt.Sprintf("there is no %s %s in this fabric", e.What, e.Name)
}

func (f *Fabric) find(id string) (int, error) {
	if i := f.top.Link(id); i >= 0 {
		return i, nil
	}
	return 0, &NotThere{"link", id}
}

// Change changes a link. edit returns new faults for old ones. It is called for each direction. If it returns an
// error for one, nothing changes. up sets whether the link is plugged in, nil for no change.
func (f *Fabric) Change(id, direction string, up *bool, edit func(link.Faults) (link.Faults, error)) error {
	i, err := f.find(id)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pipes := f.net.directions(i, direction)
	faults := make([]link.Faults, len(pipes))
	for k, p := range pipes {
		if faults[k], err = edit(p.link.Faults()); err != nil {
			return err
		}
	}
	now := mono.Now()
	for k, p := range pipes {
		f.net.change(now, p, faults[k])
	}
	f.nodes.wakeLoop() // frames may be due earlier than the loop expects
	if up != nil {
		f.up(i, *up)
	}
	return nil
}

// Partition separates groups of nodes; without groups it ends all partitions.
func (f *Fabric) Partition(groups [][]string) error {
	if err := f.top.CheckGroups(groups); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.net.part(groups)
	return nil
}

// Capture starts to write the frames of a link, in both directions, at the point "sent" or "arrived". open opens
// the file called name; the fabric closes it. If the capture is refused, open is not called.
func (f *Fabric) Capture(id, name, point string, open func() (io.WriteCloser, error)) error {
	i, err := f.find(id)
	if err != nil {
		return err
	}
	point = cmp.Or(point, atSender)
	if point != atSender && point != atReceiver {
		return fmt.Errorf("a capture is of frames %q or %q, not %q", atSender, atReceiver, point)
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if err := f.free(i, id, name); err != nil {
		return err
	}
	w, err := open() // not with the lock that the loop needs
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &f.top.Links[i]
	m := newRecording(name, point, w, [2]string{l.A + " to " + l.B, l.B + " to " + l.A})
	f.recordings[i] = m
	for _, p := range f.net.directions(i, topology.Both) {
		p.recording = m
	}
	return nil
}

// free returns an error if link i is already captured, or another capture uses the file.
func (f *Fabric) free(i int, id, file string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.recordings[i]; m != nil {
		return fmt.Errorf("link %s is being captured into %s already", id, m.name)
	}
	for other, m := range f.recordings {
		if m.name == file {
			return fmt.Errorf("link %s is being captured into %s", f.top.Links[other].ID, file)
		}
	}
	return nil
}

// EndCapture ends what Capture began.
func (f *Fabric) EndCapture(id string) (api.Captured, error) {
	i, err := f.find(id)
	if err != nil {
		return api.Captured{}, err
	}
	m := f.cut(i)
	if m == nil {
		return api.Captured{}, &NotThere{"capture of", id}
	}
	err = m.end() // frames continue while the rest is written
	return api.Captured{File: m.name, Missed: m.missed.Load()}, err
}

// cut stops the capture of a link. It returns nil if there is none.
func (f *Fabric) cut(i int) *recording {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.recordings[i]
	delete(f.recordings, i)
	for _, p := range f.net.directions(i, topology.Both) {
		p.recording = nil
	}
	return m
}

// Namespace returns the path of a node's network namespace.
func (f *Fabric) Namespace(node string) (string, error) {
	i := f.top.Node(node)
	if i < 0 {
		return "", &NotThere{"node", node}
	}
	return f.nodes.file(i), nil
}

// State returns the present state of the fabric.
func (f *Fabric) State() api.Emulation {
	overruns := make([]uint64, len(f.net.pipes)) // without the lock, so that the loop continues
	for i := range f.net.faces {
		overruns[f.net.faces[i].out.number] = f.nodes.overruns(i)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := mono.Now()
	e := api.Emulation{Name: f.top.Name, Seed: f.top.Seed, Seconds: f.since().Seconds(), Partitions: f.net.groups}
	for i := range f.top.Nodes {
		n := &f.top.Nodes[i]
		v := api.Node{Name: n.Name, PID: f.nodes.pid(), Up: true}
		for _, face := range n.Interfaces {
			for _, a := range face.Addresses {
				v.Addresses = append(v.Addresses, a.Addr().String())
			}
		}
		e.Nodes = append(e.Nodes, v)
	}
	for i, name := range f.top.Switches {
		e.Switches = append(e.Switches, api.Switch{Name: name, Lost: f.net.switches[i].lost})
	}
	for i := range f.top.Links {
		l := &f.top.Links[i]
		ab, ba := f.net.pipes[2*i].link, f.net.pipes[2*i+1].link
		v := api.Link{ID: l.ID, A: l.A, B: l.B, Up: !ab.Down(), AB: direction(ab, now), BA: direction(ba, now)}
		v.AB.Stats.Dropped += overruns[2*i]
		v.BA.Stats.Dropped += overruns[2*i+1]
		if m := f.recordings[i]; m != nil {
			v.Capture = m.name
		}
		e.Links = append(e.Links, v)
	}
	return e
}

func direction(l *link.Link, now mono.Time) api.Direction {
	s := l.Stats(now)
	return api.Direction{
		Faults: FaultsOf(l.Faults()),
		Stats: api.LinkStats{Frames: s.Frames, Bytes: s.Bytes, Lost: s.Lost, Dropped: s.Dropped, Marked: s.Marked, Duplicated: s.Duplicated, Reordered: s.Reordered,
			Corrupted: s.Corrupted, Cut: s.Cut, Queue: s.Queue},
	}
}
