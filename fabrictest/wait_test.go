package fabrictest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/fabrictest"
	"gofabric/internal/transport/datagram"
	"gofabric/test/wait"
)

// TestWaits: every call that waits ends when its context does. The context lasts an hour of the bubble's time, and no
// call spins in the bubble for ever.
func TestWaits(t *testing.T) {
	for _, progress := range []core.Progress{core.ProgressAuto, core.ProgressManual} {
		synctest.Test(t, func(t *testing.T) {
			hints := core.NewHints()
			hints.Domain.DataProgress = progress
			hints.Fabric.ProvName, hints.EP.Type = "mem", core.EPTypeDgram
			net := fabrictest.New(t, 1, fabrictest.Config{})
			infos, _, err := net.Node(0).GetInfo(core.Query{Hints: hints})
			if err != nil {
				t.Fatal(err)
			}
			fabric, err := net.Node(0).OpenFabric(infos[0])
			if err != nil {
				t.Fatal(err)
			}
			dom, err := fabric.OpenDomain(infos[0])
			if err != nil {
				t.Fatal(err)
			}
			q, err := dom.OpenCQ(core.CQAttr{WaitObj: core.WaitUnspec})
			if err != nil {
				t.Fatal(err)
			}
			c, err := dom.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec})
			if err != nil {
				t.Fatal(err)
			}
			eq, err := fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
			if err != nil {
				t.Fatal(err)
			}
			if err := dom.BindEQ(eq, 0); err != nil {
				t.Fatal(err)
			}
			for what, wait := range map[string]func(ctx context.Context) error{
				"queue":   func(ctx context.Context) error { _, err := q.SRead(ctx, make([]core.CQEntry, 1)); return err },
				"counter": func(ctx context.Context) error { return c.Wait(ctx, 1) },
				"events":  func(ctx context.Context) error { return eq.SRead(ctx, &core.EQEvent{}, 0) },
			} {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				err := wait(ctx)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Hour {
					t.Errorf("%s: %v after %v", what, err, time.Since(began))
				}
			}
			// An event at another node wakes a sleeper.
			done := make(chan error, 1)
			go func() { done <- c.Wait(t.Context(), 3) }()
			time.Sleep(time.Minute)
			if err := c.Add(3); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			for _, o := range []core.Object{q, c, dom, eq, fabric} {
				if err := o.Close(); err != nil {
					t.Errorf("%T: %v", o, err)
				}
			}
		})
	}
}

// TestConcurrent: several domains send to each other from their own goroutines, from receivers and from outside,
// while the test switches links and faults. There is no deadlock and no race, and all datagrams are counted.
func TestConcurrent(t *testing.T) {
	const nodes, each = 6, 300
	net := fabrictest.New(t, nodes, fabrictest.Config{Faults: fabrictest.Faults{Dup: 0.1,
		Jitter: 100 * time.Microsecond, Reorder: 0.1}})
	var peers []*peer
	for i := range nodes {
		p := open(t, net.Node(i), []string{"mem", "mem;fault"}[i%2])
		p.dom.Progress().Lock()
		p.answer = func(b []byte) bool { return len(b) > 1 }
		p.dom.Progress().Unlock()
		peers = append(peers, p)
	}
	var wg sync.WaitGroup
	for i, p := range peers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range each {
				if err := p.send(peers[rng.IntN(nodes)], 100, make([]byte, 250)); err != nil {
					t.Error(err)
				}
				if rng.IntN(3) == 0 {
					p.dom.Progress().Lock()
					p.dom.Progress().Pass()
					p.dom.Progress().Unlock()
				}
			}
		})
	}
	wg.Go(func() {
		for k := range 50 {
			net.Partition([]int{k % nodes})
			net.Link(k%nodes, (k+1)%nodes).Set(fabrictest.Faults{Loss: 0.5})
			net.Stats()
			net.Heal()
			net.SetFaults(fabrictest.Faults{Dup: 0.1})
		}
	})
	wg.Wait()
	wait.Until(t, "all that was not lost arrives", func() bool {
		s, got := net.Stats(), uint64(0)
		for _, p := range peers {
			p.dom.Progress().Lock()
			got += p.port.Stats().ReceivedDatagrams
			p.dom.Progress().Unlock()
		}
		return got == s.Sent-s.Lost-s.Cut+s.Duplicated && s.Sent >= nodes*each*3*3/2
	})
}

// TestNames: nodes know each other's names.
func TestNames(t *testing.T) {
	net := fabrictest.New(t, 300, fabrictest.Config{})
	n := net.Node(299)
	for node, want := range map[string]string{"node0": "10.0.0.1:7", "node299": "10.0.1.44:7", "10.0.0.9": "10.0.0.9:7",
		"localhost": "10.0.1.44:7", "node300": "", "nodex": "", "elsewhere": ""} {
		infos, _, err := n.GetInfo(core.Query{Node: node, Service: "7"})
		if want == "" {
			if err == nil {
				t.Errorf("%s is %v", node, infos[0].DestAddr)
			}
			continue
		}
		if err != nil || infos[0].DestAddr.IP.String() != want || infos[0].SrcAddr.IP.Addr() != n.Addr() {
			t.Errorf("%s: %v", node, err)
		}
	}
	for _, node := range []string{"192.0.2.1", "::1"} {
		if _, _, err := n.GetInfo(core.Query{Node: node}); err == nil {
			t.Errorf("%s is found, although it does not exist", node)
		}
	}
	if _, err := fabrictest.Open(0, fabrictest.Config{}); err == nil {
		t.Error("a network without nodes was made")
	}
	for _, cfg := range []fabrictest.Config{{MTU: 1}, {Runs: -1}, {Buffer: 1}, {Busy: 1},
		{Faults: fabrictest.Faults{Loss: 2}}} {
		if _, err := fabrictest.Open(1, cfg); err == nil {
			t.Error("an invalid setting was accepted")
		}
	}
}

var _ datagram.Receiver = (*peer)(nil)
