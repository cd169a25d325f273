package fabric

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/cmd/internal/capture"
	"gofabric/internal/mono"
)

// lab is a network without kernels in its nodes.
type lab struct {
	*network
	t   *testing.T
	got map[string]int // frames that arrived, by node and interface
}

func newLab(t *testing.T, what string) *lab {
	t.Helper()
	top, err := topology.Load(what)
	if err != nil {
		top, err = topology.Parse([]byte(what))
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, got: map[string]int{}}
	l.network = newNetwork(top, func(face int, _ []byte) bool {
		l.got[l.name(face)]++
		return true
	})
	l.now = 1
	return l
}

func (l *lab) name(face int) string {
	f := &l.faces[face]
	n := &l.top.Nodes[f.node]
	return n.Name + "/" + n.Interfaces[f.index].Name
}

// face returns the number of an interface.
func (l *lab) face(name string) int {
	for i := range l.faces {
		if l.name(i) == name {
			return i
		}
	}
	l.t.Fatalf("no interface %s", name)
	return -1
}

var everyone = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// put has an interface send an IPv4 frame of a flow to an address.
func (l *lab) put(from string, source, to [6]byte, flow int) {
	face := l.face(from)
	f := l.room(face)
	if f == nil {
		l.refuse(face)
		return
	}
	f.B = f.B[:100]
	clear(f.B)
	copy(f.B, to[:])
	copy(f.B[6:], source[:])
	binary.BigEndian.PutUint16(f.B[12:], 0x0800)
	f.B[14], f.B[23] = 0x45, 17 // UDP
	binary.BigEndian.PutUint16(f.B[34:], uint16(flow))
	l.send(face, f)
}

// say sends a frame from one interface to another, and returns the frames that each interface received.
func (l *lab) say(from, to string, flow int) map[string]int {
	clear(l.got)
	l.put(from, l.faces[l.face(from)].mac, l.faces[l.face(to)].mac, flow)
	l.rest()
	return l.got
}

// rest executes all pending events.
func (l *lab) rest() {
	for l.deadline() != mono.Never {
		l.advance(l.deadline())
	}
	if out := l.top.Nodes; len(out) > 0 && l.pool.left+len(l.pool.free) != maxMemory/l.pool.size {
		l.t.Errorf("%d frames are neither delivered nor free", maxMemory/l.pool.size-l.pool.left-len(l.pool.free))
	}
}

func (l *lab) want(what string, want map[string]int) {
	l.t.Helper()
	if !maps.Equal(l.got, want) {
		l.t.Errorf("%s: received %v, want %v", what, l.got, want)
	}
}

// TestReach: in every ready topology each interface reaches every other one of its segment once, and none outside.
// A broadcast reaches all of them once.
func TestReach(t *testing.T) {
	for _, name := range topology.Names() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, name)
			all := map[int]map[string]int{} // of one segment
			segment := func(i int) int { return l.top.Nodes[l.faces[i].node].Interfaces[l.faces[i].index].Segment }
			for i := range l.faces {
				if all[segment(i)] == nil {
					all[segment(i)] = map[string]int{}
				}
				all[segment(i)][l.name(i)] = 1
			}
			for from := range l.faces {
				for to := range l.faces {
					if from != to && segment(from) == segment(to) {
						l.say(l.name(from), l.name(to), 1)
						l.want(l.name(from)+" to "+l.name(to), map[string]int{l.name(to): 1})
					}
				}
				clear(l.got)
				l.put(l.name(from), l.faces[from].mac, everyone, 1)
				l.rest()
				others := maps.Clone(all[segment(from)])
				delete(others, l.name(from))
				l.want(l.name(from)+" to all", others)
			}
		})
	}
}

// TestSpines: flows are distributed over paths of equal cost, and each flow uses one path. A spine without a link
// to the far leaf is not used.
func TestSpines(t *testing.T) {
	l := newLab(t, "leaf-spine")
	used := func(id string) uint64 { return l.pipes[2*l.top.Link(id)].link.Stats(l.now).Frames }
	for range 3 {
		for flow := range 100 {
			l.say("n1/eth0", "n6/eth0", flow)
			l.want("a flow", map[string]int{"n6/eth0": 1})
		}
	}
	one, two := used("leaf1-spine1"), used("leaf1-spine2")
	if one+two != 300 || one%3 != 0 || one < 90 || two < 90 {
		t.Errorf("%d frames passed through one spine and %d through the other", one, two)
	}
	down := l.top.Link("leaf3-spine1") // a link of the far leaf
	for _, p := range l.directions(down, topology.Both) {
		p.link.SetDown(true)
	}
	l.route()
	for flow := range 100 {
		l.say("n1/eth0", "n6/eth0", flow)
		l.want("a flow around the link that is down", map[string]int{"n6/eth0": 1})
	}
	if used("leaf1-spine1") != one || used("leaf1-spine2") != two+100 {
		t.Error("a spine without a path to the destination was used")
	}
	clear(l.got)
	l.put("n1/eth0", macOf(0), everyone, 0)
	if l.rest(); len(l.got) != 5 {
		t.Errorf("a broadcast reached %v", l.got)
	}
	for _, id := range []string{"leaf3-spine2"} {
		for _, p := range l.directions(l.top.Link(id), topology.Both) {
			p.link.SetDown(true)
		}
	}
	l.route()
	if l.say("n1/eth0", "n6/eth0", 1); len(l.got) != 0 || l.switches[0].lost != 1 {
		t.Errorf("without a path: %v received, %d lost", l.got, l.switches[0].lost)
	}
}

// TestWays: switches use shortest paths only, and of two cables between the same switches only those that are up.
func TestWays(t *testing.T) {
	l := newLab(t, "nodes: [a, b]\nswitches: [s1, s2, s3]\nlinks: [{between: [a, s1]}, {between: [b, s3]}, {between: [s1, s2]}, {between: [s2, s3]}, {between: [s1, s3]}, {between: [s1, s3]}]")
	used := func(id string) uint64 { return l.pipes[2*l.top.Link(id)].link.Stats(l.now).Frames }
	for flow := range 100 {
		l.say("a/eth0", "b/eth0", flow)
	}
	if used("s1-s2") != 0 || used("s1-s3") < 30 || used("s1-s3-2") < 30 {
		t.Errorf("%d frames took the long path, %d and %d the short ones",
			used("s1-s2"), used("s1-s3"), used("s1-s3-2"))
	}
	before := used("s1-s3")
	for _, p := range l.directions(l.top.Link("s1-s3"), topology.Both) {
		p.link.SetDown(true)
	}
	l.route()
	for flow := range 100 {
		l.say("a/eth0", "b/eth0", flow)
		l.want("around a cable that is down", map[string]int{"b/eth0": 1})
	}
	if used("s1-s3") != before || used("s1-s2") != 0 {
		t.Error("a cable that is down was used, or the long path")
	}
}

// TestLearn: a switch floods frames to an unknown station behind a node, and forwards them after the station has
// sent a frame. The table of a switch is bounded.
func TestLearn(t *testing.T) {
	l := newLab(t, "dumbbell")
	guest := [6]byte{0x02, 1, 2, 3, 4, 5}
	l.put("n1/eth0", macOf(0), guest, 0)
	l.rest()
	l.want("unknown", map[string]int{"n2/eth0": 1, "n3/eth0": 1, "n4/eth0": 1})
	l.put("n4/eth0", guest, macOf(0), 0)
	l.rest()
	clear(l.got)
	l.put("n1/eth0", macOf(0), guest, 0)
	l.rest()
	l.want("known", map[string]int{"n4/eth0": 1})
	clear(l.got)
	l.put("n4/eth0", macOf(3), guest, 0)
	l.rest()
	l.want("behind the sender itself", map[string]int{})
	for i := range 3 * maxLearned {
		binary.BigEndian.PutUint32(guest[2:], uint32(i))
		l.put("n4/eth0", guest, macOf(0), 0)
		l.rest()
	}
	if n := len(l.switches[0].learned); n > maxLearned {
		t.Errorf("a switch knows %d stations", n)
	}
	for _, odd := range [][6]byte{{}, macOf(500)} {
		l.put("n1/eth0", odd, odd, 0)
		l.rest() // the frame is delivered at most once
	}
}

// TestLearnAnew: switches learn stations on the spanning tree only, and forget them when the tree changes.
func TestLearnAnew(t *testing.T) {
	l := newLab(t, "nodes: [a, b]\nswitches: [s1, s2]\nlinks: [{between: [a, s1]}, {between: [b, s2]}, {between: [s1, s2], id: one}, {between: [s1, s2], id: two}]")
	guest := [6]byte{0x02, 1, 2, 3, 4, 5}
	for flow := range 50 { // flows use both cables
		l.put("b/eth0", guest, macOf(0), flow)
		l.rest()
		if p := l.switches[0].learned[guest]; p != nil && !p.tree {
			t.Fatal("a station was learned on a cable outside the tree")
		}
	}
	only := func(id string) { // only one of the two cables is up
		for _, each := range []string{"one", "two"} {
			for _, p := range l.directions(l.top.Link(each), topology.Both) {
				p.link.SetDown(each != id)
			}
		}
		l.route()
	}
	reach := func(what string) {
		t.Helper()
		clear(l.got)
		l.put("a/eth0", macOf(0), guest, 0)
		l.rest()
		l.want(what, map[string]int{"b/eth0": 1})
	}
	only("one")
	l.put("b/eth0", guest, everyone, 0)
	l.rest()
	reach("through the cable on which it sent")
	only("two")
	reach("through the other cable")
}

// TestPartition: groups do not reach each other. Nodes outside all groups form one more group. Broadcasts stay
// inside, too.
func TestPartition(t *testing.T) {
	l := newLab(t, "star")
	l.part([][]string{{"n1", "n2"}, {"n3"}})
	for from := range 4 {
		for to := range 4 {
			a, b := fmt.Sprintf("n%d/eth0", from+1), fmt.Sprintf("n%d/eth0", to+1)
			if from == to {
				continue
			}
			if together := from < 2 && to < 2; (len(l.say(a, b, 0)) == 1) != together {
				t.Errorf("%s reached %s: %v", a, b, !together)
			}
		}
	}
	clear(l.got)
	l.put("n1/eth0", macOf(0), everyone, 0)
	l.rest()
	l.want("broadcast", map[string]int{"n2/eth0": 1})
	cut := uint64(0)
	for _, p := range l.pipes {
		cut += p.link.Stats(l.now).Cut
	}
	if cut != 10+2 {
		t.Errorf("%d frames were cut, want 12", cut)
	}
	l.part(nil)
	if len(l.say("n1/eth0", "n3/eth0", 0)) != 1 {
		t.Error("the node is not reached though the partition has ended")
	}
}

// TestTime: the delays of a path add up, a slow line spreads frames out, and the memory is bounded.
func TestTime(t *testing.T) {
	l := newLab(t, "nodes: [a, b]\nswitches: [s]\nlinks: [{between: [a, s], delay: 3ms}, {between: [s, b], delay: 4ms, rate: 8mbit, queue: 3}]")
	var at []time.Duration
	l.deliver = func(int, []byte) bool { at = append(at, l.now.Sub(1)); return true }
	for range 5 {
		l.put("a/eth0", macOf(0), macOf(1), 0)
	}
	l.rest()
	want := []time.Duration{7100 * time.Microsecond, 7200 * time.Microsecond, 7300 * time.Microsecond} // 100 bytes take 100 us
	if !slices.Equal(at, want) {
		t.Errorf("arrived after %v, want %v", at, want)
	}
	if s := l.pipes[2].link.Stats(l.now); s.Dropped != 2 {
		t.Errorf("%+v", s)
	}
	l.pipes[0].link.Set(link.Faults{Delay: time.Second})
	room := maxMemory / l.pool.size
	for range room + 10 {
		l.put("a/eth0", macOf(0), macOf(1), 0)
	}
	if s := l.pipes[0].link.Stats(l.now); s.Dropped != 10 || l.way.Len() != room {
		t.Errorf("%d frames are in transit, %+v", l.way.Len(), s)
	}
	l.rest()
}

// TestFaster: frames that wait for a slow line arrive soon and in order when the line becomes fast. Frames on other
// links are not affected.
func TestFaster(t *testing.T) {
	l := newLab(t, "nodes: [a, b, c]\nlinks: [{between: [a, b], rate: 8kbit}, {between: [a, c], delay: 5ms}]")
	begin, last := l.now, -1
	l.deliver = func(face int, b []byte) bool {
		if face == 3 { // the interface of c
			if after := l.now.Sub(begin); after != 5*time.Millisecond {
				t.Errorf("a frame on another link after %v", after)
			}
			return true
		}
		if flow := int(binary.BigEndian.Uint16(b[34:])); flow != last+1 || l.now.Sub(begin) > time.Second {
			t.Errorf("frame %d arrived after frame %d and %v", flow, last, l.now.Sub(begin))
		} else {
			last = flow
		}
		return true
	}
	for i := range 500 { // 50 s
		l.put("a/eth0", macOf(0), macOf(1), i)
	}
	l.put("a/eth1", macOf(0), macOf(3), 0)
	f := l.pipes[0].link.Faults()
	f.Rate = 8e6
	l.change(l.now, l.pipes[0], f)
	l.rest()
	if last != 499 {
		t.Errorf("the last frame was %d, want 499", last)
	}
}

// TestTurn: frames with the same arrival time arrive in the order in which they were sent.
func TestTurn(t *testing.T) {
	l := newLab(t, "nodes: [a, b]\nlinks: [{between: [a, b], delay: 1ms}]")
	last := -1
	l.deliver = func(_ int, b []byte) bool {
		if flow := int(binary.BigEndian.Uint16(b[34:])); flow != last+1 {
			t.Errorf("frame %d arrived after frame %d", flow, last)
		} else {
			last = flow
		}
		return true
	}
	for i := range 1000 {
		l.put("a/eth0", macOf(0), macOf(1), i)
	}
	l.rest()
	if last != 999 {
		t.Errorf("the last frame was %d", last)
	}
}

// TestHeldTwice: one link releases a frame that it held back, because no other frame overtook it. The next link
// holds it back again, and releases it, too.
func TestHeldTwice(t *testing.T) {
	l := newLab(t, "nodes: [a, b]\nswitches: [s]\nlinks: [{between: [a, s], reorder: 1}, {between: [s, b], reorder: 1}]")
	l.say("a/eth0", "b/eth0", 0)
	l.want("a single frame on links that hold all frames back", map[string]int{"b/eth0": 1})
	if held := l.now.Sub(1); held != 2*time.Millisecond {
		t.Errorf("the frame took %v", held)
	}
}

// TestFullMemory: without room in memory a received frame counts as dropped. If no frame was received, none is
// counted.
func TestFullMemory(t *testing.T) {
	l := newLab(t, "pair")
	l.pool.left = 0
	if f := l.room(0); f != nil {
		t.Fatal("room returned a frame beyond the limit")
	}
	if s := l.pipes[0].link.Stats(l.now); s.Dropped != 0 {
		t.Errorf("%d frames were dropped before one was received", s.Dropped)
	}
}

// slowFile is a file in memory.
type slowFile struct{ bytes.Buffer }

func (*slowFile) Close() error { return nil }

// TestRecording: a capture has the frames that enter a link, or those that leave it, in both directions.
func TestRecording(t *testing.T) {
	for _, c := range []struct {
		point string
		want  int
	}{{atSender, 20}, {atReceiver, 10}} {
		l, file := newLab(t, "pair"), &slowFile{}
		m := newRecording("capture", c.point, file, [2]string{"there", "back"})
		l.pipes[0].recording, l.pipes[1].recording = m, m
		l.pipes[1].link.Set(link.Faults{Loss: 1})
		for range 10 {
			l.say("n1/eth0", "n2/eth0", 1)
			l.say("n2/eth0", "n1/eth0", 1)
		}
		if err := m.end(); err != nil || m.missed.Load() != 0 {
			t.Errorf("%v, %d frames are missing", err, m.missed.Load())
		}
		r, err := capture.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; ; n++ {
			if _, err = r.Next(); err != nil {
				break
			}
		}
		if damaged, _ := r.Undecodable(); n+damaged != c.want || err != io.EOF {
			t.Errorf("%s: %d frames, %d of them damaged, want %d; %v", c.point, n, damaged, c.want, err)
		}
	}
}

// TestRunts: frames that are too short for Ethernet do no harm.
func TestRunts(t *testing.T) {
	for _, name := range []string{"pair", "star"} {
		l := newLab(t, name)
		for n := range 60 {
			f := l.room(0)
			f.B = f.B[:n]
			clear(f.B)
			l.send(0, f)
			l.rest()
		}
	}
}

// TestAllocs: moving frames allocates nothing.
func TestAllocs(t *testing.T) {
	l := newLab(t, "dumbbell")
	l.deliver = func(int, []byte) bool { return true }
	send := func() {
		f := l.room(0)
		f.B = f.B[:200]
		to, from := macOf(3), macOf(0)
		copy(f.B, to[:])
		copy(f.B[6:], from[:])
		l.send(0, f)
		for l.deadline() != mono.Never {
			l.advance(l.deadline())
		}
	}
	send()
	if n := testing.AllocsPerRun(500, send); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
