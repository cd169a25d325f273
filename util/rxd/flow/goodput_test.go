package flow

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gofabric/test/need"
	"gofabric/test/sim/network"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again from the results")

// bottleneckUse is how flows used a bottleneck.
type bottleneckUse struct {
	goodput []float64 // of each flow, bytes per second
	use     float64   // part of the bottleneck's rate that all flows used together
	spread  float64   // least goodput divided by the greatest
	drops   float64   // part of the datagrams that the queue dropped
}

// flows runs n flows over one bottleneck for d. Each begins stagger after the one before. It measures the last
// half.
func flows(t testing.TB, seed uint64, n int, cfg Config, ab *network.Link, d, stagger int64) bottleneckUse {
	t.Helper()
	w := newWorld(seed)
	var senders []*node
	back := &network.Link{Delay: ab.Delay}
	for range n {
		a, _ := w.pair(cfg, ab, back)
		senders = append(senders, a)
	}
	for _, a := range senders {
		a.toSend = 1 << 40
		w.run(stagger, nil)
	}
	w.run(d/2, nil)
	before := make([]uint64, n)
	for i, a := range senders {
		before[i] = a.acked
	}
	sent, lost := ab.Sent, ab.Full
	w.run(d/2, nil)
	s := bottleneckUse{drops: float64(ab.Full-lost) / float64(ab.Sent-sent)}
	sum, lo, hi := 0.0, 0.0, 0.0
	for i, a := range senders {
		g := float64(a.acked-before[i]) / (float64(d/2) / 1e9)
		s.goodput = append(s.goodput, g)
		sum += g
		if hi = max(hi, g); i == 0 || g < lo {
			lo = g
		}
		if a.peer.bad || a.f.dead != nil {
			t.Fatalf("flow %d: bad %v, dead %v", i, a.peer.bad, a.f.dead)
		}
	}
	s.use, s.spread = sum/float64(ab.Rate), lo/hi
	return s
}

// TestGoodput compares the goodput over paths of many kinds with stored values. A change of behaviour shows as a
// difference in a table.
func TestGoodput(t *testing.T) {
	if need.Raced {
		t.Skip("simulates for long, in one goroutine: the race detector has nothing to see")
	}
	var b bytes.Buffer
	losses := []float64{0, 0.001, 0.01, 0.05, 0.1}
	fmt.Fprintf(&b, "share of the bottleneck, percent; one flow, MTU 1500 and 9000\n%-28s", "loss")
	for _, l := range losses {
		fmt.Fprintf(&b, "%9.1f%%   ", 100*l)
	}
	fmt.Fprintln(&b)
	for _, p := range []struct {
		name string
		l    network.Link
		d    int64
	}{
		{"10 Gbit/s   20 us  128 KiB", network.Link{Rate: 1.25e9, Delay: 10e3, Queue: 128 << 10}, 30e6},
		{"10 Gbit/s  100 us  256 KiB", network.Link{Rate: 1.25e9, Delay: 50e3, Queue: 256 << 10}, 60e6},
		{"10 Gbit/s    1 ms  512 KiB", network.Link{Rate: 1.25e9, Delay: 500e3, Queue: 512 << 10}, 150e6},
		{" 1 Gbit/s   10 ms  256 KiB", network.Link{Rate: 125e6, Delay: 5e6, Queue: 256 << 10}, 2e9},
	} {
		fmt.Fprintf(&b, "%-28s", p.name)
		clean := 0.0
		for _, loss := range losses {
			l1, l2 := p.l, p.l
			l1.Loss, l2.Loss = loss, loss
			s1 := flows(t, 1, 1, testConfig(1472), &l1, p.d, 0)
			s2 := flows(t, 1, 1, testConfig(8972), &l2, p.d, 0)
			fmt.Fprintf(&b, "%5.1f %5.1f  ", 100*s1.use, 100*s2.use)
			switch {
			case loss == 0:
				clean = s1.use
			case loss == 0.01 && s1.use < 0.9*clean:
				t.Errorf("%s: goodput at 1 %% loss is %.2f of that without", p.name, s1.use/clean)
			case loss == 0.05 && s1.use < 0.6*clean:
				t.Errorf("%s: goodput at 5 %% loss is %.2f of that without", p.name, s1.use/clean)
			}
		}
		fmt.Fprintln(&b)
	}
	golden(t, "goodput.txt", b.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -rewrite if the change is intended):\n%s\nwas:\n%s", name, got, want)
	}
}

// TestShares checks that flows share a bottleneck evenly, use all of it, and do not keep its queue overflowing.
// With GOFABRIC_MANY it uses eight seeds: the least share varies from 0.3 to 0.9 of the greatest where few flows
// have a long round trip.
func TestShares(t *testing.T) {
	if testing.Short() || need.Raced {
		t.Skip("the simulation takes half a minute, in one goroutine")
	}
	seeds := uint64(1)
	if need.Many() {
		seeds = 8
	}
	for _, c := range []struct {
		name   string
		n      int
		mtu    int
		l      network.Link
		d      int64
		spread float64
	}{
		{"four, 100 us", 4, 1472, network.Link{Rate: 1.25e9, Delay: 50e3, Queue: 256 << 10}, 700e6, 0.8},
		{"four, 100 us, 1 % loss", 4, 1472, network.Link{Rate: 1.25e9, Delay: 50e3, Queue: 256 << 10, Loss: 0.01}, 700e6, 0.8},
		{"four, 100 us, long queue", 4, 1472, network.Link{Rate: 1.25e9, Delay: 50e3, Queue: 1 << 20}, 700e6, 0.8},
		{"one, 10 ms", 1, 1472, network.Link{Rate: 125e6, Delay: 5e6, Queue: 128 << 10}, 4e9, 1},
		{"four, 10 ms", 4, 1472, network.Link{Rate: 125e6, Delay: 5e6, Queue: 256 << 10}, 20e9, 0.5},
		{"sixteen, 10 ms", 16, 1472, network.Link{Rate: 125e6, Delay: 5e6, Queue: 256 << 10}, 3e9, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mean float64
			for seed := range seeds {
				l := c.l
				s := flows(t, seed, c.n, testConfig(c.mtu), &l, c.d, c.d/20)
				t.Logf("seed %d: use %.3f, spread %.2f, drops %.2f %%", seed, s.use, s.spread, 100*s.drops)
				if s.use < 0.8 || s.drops > 0.02 {
					t.Errorf("seed %d: use %.3f, drops %.2f %%", seed, s.use, 100*s.drops)
				}
				mean += s.spread / float64(seeds)
			}
			if mean < c.spread {
				t.Errorf("the least goodput is %.2f of the greatest", mean)
			}
		})
	}
}
