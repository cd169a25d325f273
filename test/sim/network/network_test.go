package network

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"testing"
)

// arrival is a datagram that arrived.
type arrival struct {
	at int64
	b  []byte
}

// pair makes hosts 0 and 1, which l connects, and records what arrives at host 1.
func pair(seed uint64, l Link) (*Network, *[]arrival) {
	n, came := New(NewSched(seed)), &[]arrival{}
	n.Link = l
	n.Attach(1, func(d *Datagram) {
		*came = append(*came, arrival{n.Now, bytes.Clone(d.B)})
		d.Free()
	})
	return n, came
}

// body returns the content of datagram i: its number, twice.
func body(i int) []byte { return fmt.Appendf(nil, "%06d%06d", i, i) }

// burst sends count datagrams, gap nanoseconds apart, and waits until all have arrived.
func burst(n *Network, count int, gap int64) {
	for i := range count {
		n.After(int64(i)*gap, func() { n.Send(0, 1, body(i)[:2], [][]byte{body(i)[2:4], body(i)[4:]}) })
	}
	for n.Step() {
	}
}

// TestClean checks that each datagram arrives once, whole and in order, after the delay.
func TestClean(t *testing.T) {
	n, came := pair(1, Link{Delay: 500})
	burst(n, 1000, 7)
	if len(*came) != 1000 {
		t.Fatalf("%d arrived", len(*came))
	}
	for i, a := range *came {
		if !bytes.Equal(a.b, body(i)) || a.at != 1+int64(i)*7+500 {
			t.Fatalf("%d: %s at %d", i, a.b, a.at)
		}
	}
}

// TestFaults counts the faults.
func TestFaults(t *testing.T) {
	const count = 20000
	n, came := pair(1, Link{Loss: 0.1, Dup: 0.2, Reorder: 0.05, Late: 0.3, Delay: 1000,
		Jitter: 10, Behind: 5000, Latest: 1e6})
	burst(n, count, 20)
	times := map[string]int{}
	behind, muchLater := 0, 0
	for _, a := range *came {
		var i int
		if _, err := fmt.Sscanf(string(a.b), "%06d", &i); err != nil || i >= count || !bytes.Equal(a.b, body(i)) {
			t.Fatalf("%q arrived", a.b)
		}
		if times[string(a.b)]++; times[string(a.b)] == 1 {
			late := a.at - (1 + int64(i)*20 + 1000)
			if late >= 10 {
				behind++
			}
			if late < 0 || late > 5010 {
				t.Fatalf("%d is late by %d", i, late)
			}
		} else if a.at-(1+int64(i)*20+1000) > 5010 {
			muchLater++
		}
	}
	near(t, "are lost", n.Link.Lost, 0.1*count)
	near(t, "arrived", len(*came), 0.9*1.2*count)
	near(t, "are behind", behind, 0.9*0.05*count)
	near(t, "copies are late", muchLater, 0.9*0.2*0.3*count)
}

func near(t *testing.T, what string, got int, want float64) {
	t.Helper()
	if f := float64(got); f < 0.85*want || f > 1.15*want {
		t.Errorf("%d %s, want about %.0f", got, what, want)
	}
}

// TestDamage checks that one bit of a fragile datagram is inverted.
func TestDamage(t *testing.T) {
	n, came := pair(1, Link{Corrupt: 0.1})
	burst(n, 5000, 1)
	damaged := 0
	for i, a := range *came {
		diff := 0
		for k, c := range a.b {
			diff += bits.OnesCount8(c ^ body(i)[k])
		}
		if diff > 1 {
			t.Fatalf("%d bits of %s differ", diff, body(i))
		}
		damaged += diff
	}
	near(t, "are damaged", damaged, 0.1*5000)
	n, came = pair(1, Link{Corrupt: 1})
	n.Fragile = func([]byte) bool { return false }
	burst(n, 200, 1)
	for i, a := range *came {
		if !bytes.Equal(a.b, body(i)) {
			t.Fatalf("%s arrived as %s", body(i), a.b)
		}
	}
}

// TestRate checks that datagrams wait for a link that two paths share, and are dropped when the queue is full.
func TestRate(t *testing.T) {
	n, came := pair(1, Link{})
	wire := &Link{Rate: 1e9, Queue: 1000} // a byte per nanosecond
	n.Route(0, 1, wire)
	n.Route(2, 1, wire)
	for i := range 40 {
		n.Send(i%2*2, 1, make([]byte, 72), nil) // 100 bytes with the headers
	}
	for n.Step() {
	}
	first := len(*came)
	if first < 7 || first > 10 || wire.Full != 40-first || wire.Sent != 40 || n.Link.Sent != 0 {
		t.Fatalf("%d arrived, %+v", len(*came), wire)
	}
	for i, a := range *came {
		if least := int64(1 + 100*(i+1)); a.at < least || a.at > least+50*int64(i+1) {
			t.Errorf("%d arrived at %d", i, a.at)
		}
	}
	wire.Queue, wire.Longest = 0, 72
	n.Send(0, 1, make([]byte, 73), nil)
	n.Send(0, 1, make([]byte, 72), nil)
	for n.Step() {
	}
	if len(*came) != first+1 || wire.Lost != 1 {
		t.Errorf("%d arrived, %+v", len(*came), wire)
	}
}

// TestCut loses what is sent during a cut, in one direction. Down loses everything, Clear what is on its way.
func TestCut(t *testing.T) {
	n, came := pair(1, Link{Delay: 10})
	back := 0
	n.Attach(0, func(d *Datagram) { back++; d.Free() })
	n.Cut(0, 1, 100)
	send := func() {
		n.Send(0, 1, body(1), nil)
		n.Send(1, 0, body(1), nil)
	}
	for range 20 {
		n.After(0, send)
		for n.Step() {
		}
		n.Now += 10
	}
	if len(*came) != 15 || back != 20 {
		t.Errorf("%d and %d arrived", len(*came), back)
	}
	n.Down = true
	send()
	n.Down = false
	send()
	n.Clear()
	send()
	for n.Step() {
	}
	if len(*came) != 16 || back != 21 {
		t.Errorf("%d and %d arrived", len(*came), back)
	}
}

// TestAttach checks that a host's next receiver gets what was on its way, and that datagrams to unknown hosts are
// lost.
func TestAttach(t *testing.T) {
	n, came := pair(1, Link{Delay: 10})
	for _, host := range []int{-5, 1, 7} {
		n.Send(0, host, body(host+5), nil)
	}
	var next [][]byte
	n.Attach(1, func(d *Datagram) { next = append(next, bytes.Clone(d.B)); d.Free() })
	for n.Step() {
	}
	n.Attach(1, nil)
	n.Send(0, 1, body(0), nil)
	for n.Step() {
	}
	if len(*came) != 0 || len(next) != 1 || !bytes.Equal(next[0], body(6)) {
		t.Errorf("%d arrived at the first, %q at the second", len(*came), next)
	}
	if Host(Addr(300)) != 300 {
		t.Error(Addr(300))
	}
}

// TestTap checks that Tap sees lost datagrams, too, and that Free clears a datagram.
func TestTap(t *testing.T) {
	n, _ := pair(1, Link{Loss: 1})
	var seen [][]byte
	n.Tap = func(from, to int, b []byte) {
		if from != 0 || to != 1 {
			t.Errorf("from %d to %d", from, to)
		}
		seen = append(seen, bytes.Clone(b))
	}
	n.Send(0, 1, body(3), nil)
	if len(seen) != 1 || !bytes.Equal(seen[0], body(3)) {
		t.Errorf("%q", seen)
	}
	n.Link.Loss = 0
	var kept []byte
	n.Attach(1, func(d *Datagram) { kept = d.B; d.Free() })
	n.Send(0, 1, body(3), nil)
	n.Step()
	if bytes.Equal(kept, body(3)) {
		t.Error("a freed datagram still has its content")
	}
}

// TestReplay checks that a seed always gives the same run, and different seeds different runs.
func TestReplay(t *testing.T) {
	sums := map[uint64]uint64{}
	for range 2 {
		for seed := range uint64(10) {
			n, came := pair(seed, Link{Rate: 1e9, Queue: 3000, Loss: 0.1, Dup: 0.1, Reorder: 0.1, Corrupt: 0.1,
				Late: 0.1, Delay: 1000, Jitter: 100, Behind: 500, Latest: 500})
			burst(n, 500, 20)
			h := fnv.New64a()
			for _, a := range *came {
				fmt.Fprintf(h, "%d %q,", a.at, a.b)
			}
			if was, ok := sums[seed]; ok && was != h.Sum64() {
				t.Errorf("seed %d differs", seed)
			}
			sums[seed] = h.Sum64()
		}
	}
	var all []uint64
	for _, s := range sums {
		all = append(all, s)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 10 {
		t.Error("different seeds give the same run")
	}
}

// TestSched checks that events happen in the order of their times and of scheduling, and that time never goes back.
func TestSched(t *testing.T) {
	s := NewSched(1)
	var did []int
	for i := range 10 {
		s.After(int64(i%2), func() { did = append(did, i) })
	}
	if at, ok := s.Next(); !ok || at != 1 {
		t.Error(at, ok)
	}
	s.Now = 100
	for s.Step() {
		if s.Now != 100 {
			t.Fatalf("the time is %d", s.Now)
		}
	}
	if fmt.Sprint(did) != "[0 2 4 6 8 1 3 5 7 9]" {
		t.Error(did)
	}
	if _, ok := s.Next(); ok {
		t.Error("there is another event")
	}
}
