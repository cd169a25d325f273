package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/test/need"
)

// TestShort is a few seconds over one stack.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short")
	}
	chaos(t, "tcp;ofi_rxm", 4, 4*time.Second)
}

// TestStacks is the whole of it.
func TestStacks(t *testing.T) {
	if os.Getenv("GOFABRIC_CHAOS") == "" {
		need.Asked(t, "it takes minutes, GOFABRIC_CHAOS=2m says how many")
	}
	long := 2 * time.Minute
	if text := os.Getenv("GOFABRIC_CHAOS"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	stacks := []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"}
	if text := os.Getenv("GOFABRIC_CHAOS_STACK"); text != "" {
		stacks = []string{text}
	}
	for _, stack := range stacks {
		t.Run(stack, func(t *testing.T) { chaos(t, stack, 8, long) })
	}
}

// steady is how many nodes are never killed: they see all others die.
const steady = 2

// silence is how long the stacks bear a peer that says nothing.
const silence = 3 * time.Second

// chaos runs nodes for a time.
func chaos(t *testing.T, stack string, nodes int, long time.Duration) {
	seed := uint64(1)
	if text := os.Getenv("GOFABRIC_CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 0, 64); err != nil {
			t.Fatal(err)
		}
	}
	ms := strconv.Itoa(int(silence / time.Millisecond))
	f := newFleet(t, stack, nodes, seed, "FI_TCP_PEER_TIMEOUT="+ms, "FI_TCP_CONNECT_TIMEOUT="+ms, "FI_OFI_RXM_CONNECT_TIMEOUT="+ms,
		"FI_OFI_RXD_PEER_TIMEOUT="+ms, "FI_OFI_RXD_HANDSHAKE_TIMEOUT="+ms)
	for i := range nodes {
		f.start(i, 1)
	}
	f.settle()
	time.Sleep(time.Second / 2)
	before := f.ask("drain")
	f.ask("resume")

	rng := rand.New(rand.NewPCG(seed, 0))
	kills, errs := 0, 0
	for end := time.Now().Add(long); time.Now().Before(end) || kills == 0; kills++ {
		victim := steady + kills%(nodes-steady)
		was := f.ask("status")
		f.kill(victim)
		down := time.Duration(rng.Int64N(int64(400 * time.Millisecond)))
		dead := kills%8 == 7 // for longer than anybody waits: all must have been told
		if dead {
			down = silence + time.Second
		}
		time.Sleep(down)
		if dead {
			for i, r := range f.ask("status") {
				if r != nil && r.Peers[victim].Errs == was[i].Peers[victim].Errs {
					t.Errorf("node %d has no error completion, though node %d has been dead for %v", i, victim, down)
				}
			}
		}
		f.start(victim, f.procs[victim].life+1)
		for i, r := range f.settle() {
			if i != victim {
				errs += r.Peers[victim].Errs - was[i].Peers[victim].Errs
			}
		}
		time.Sleep(time.Duration(rng.Int64N(int64(200 * time.Millisecond))))
	}
	f.ask("drain")
	after := f.ask("drain") // when all have ended what they had begun, which may have been with one that had told its sums before
	if errs == 0 {
		t.Error("nobody has been told of the dead")
	}
	f.sums(after)
	ops := 0
	for i, r := range after {
		ops += r.Ops
		if i < steady {
			t.Logf("node %d: %d operations, %d goroutines (%d before), %d descriptors (%d), %d KiB (%d)", i, r.Ops, r.Goroutines, before[i].Goroutines,
				r.FDs, before[i].FDs, r.Heap>>10, before[i].Heap>>10)
			more := 2
			if strings.HasPrefix(stack, "udp;") {
				more += nodes // that poll find memory to share in time: one descriptor for each other node, and one to be found
			}
			if r.Goroutines > before[i].Goroutines || r.FDs > before[i].FDs+more || r.Heap > before[i].Heap*5/4+4<<20 {
				t.Errorf("node %d has more than at the beginning", i)
			}
		}
	}
	t.Logf("%d kills, %d operations with errors among the living, %d operations of the last lives", kills, errs, ops)
	f.quit()
}

// settle waits until every node has heard of every other's present life, by message and by atomics.
func (f *fleet) settle() []*report {
	f.t.Helper()
	for end := time.Now().Add(2 * bound); ; time.Sleep(20 * time.Millisecond) {
		missing := 0
		all := f.ask("status")
		for i, r := range all {
			for j, p := range r.Peers {
				if life := f.procs[j].life; p.AddedLife != life || p.HeardLife != life {
					if missing++; time.Now().After(end) {
						f.t.Errorf("node %d life %d knows node %d in life %d by its messages, %d by its sums; it is in life %d; %d operations succeeded, %d failed, the last: %s",
							i, r.Life, j, p.HeardLife, p.AddedLife, life, p.OKs, p.Errs, p.LastErr)
					}
				}
			}
		}
		if missing == 0 {
			return all
		}
		if f.t.Failed() {
			f.t.FailNow()
		}
	}
}

// sums compares the sums at each node with what was added.
func (f *fleet) sums(all []*report) {
	f.t.Helper()
	for i, r := range all {
		for j, p := range r.Peers {
			if got := all[j].Slots[i]; !p.Known || got < p.Next || got > p.Next+p.Unsure {
				f.t.Errorf("the sum of node %d at node %d is %#x; want %#x, or up to %d more", i, j, got, p.Next, p.Unsure)
			}
		}
	}
}
