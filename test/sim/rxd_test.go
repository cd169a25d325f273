package sim

import (
	"flag"
	"runtime"
	"strings"
	"testing"

	"gofabric/test/sim/network"
)

var messages = flag.Int("messages", 20_000, "number of messages in the large run of rxd")

func reportRxd(t *testing.T, name string, r Result) {
	t.Helper()
	if len(r.Violations) > 0 {
		t.Errorf("seed %d (replay: go test ./test/sim -run %s -v -seed=%d): %s\n%s", r.Seed, name, r.Seed,
			strings.Join(r.Violations, "\n"), r.Features)
	}
}

func rxdSeeds(t *testing.T, name string, natives bool) {
	if *oneSeed != 0 {
		r := RunRxd(*oneSeed, natives, func(line string) { t.Log(line) })
		t.Logf("%d operations, hash %x, %s", r.Ops, r.Hash, r.Features)
		reportRxd(t, name, r)
		return
	}
	n, ops, failures, refused := *seeds, 0, 0, 0
	if n == 0 {
		n = 200
	}
	if testing.Short() {
		n = min(n, 20)
	}
	for seed := range uint64(n) {
		r := RunRxd(seed+1, natives, nil)
		reportRxd(t, name, r)
		ops += r.Ops
		failures += r.Failures
		refused += r.Refused
	}
	t.Logf("%d seeds, %d operations, %d of them refused, %d peers given up", n, ops, refused, failures)
	if refused == 0 && !natives {
		t.Error("no run has refused an operation")
	}
}

// TestRxdSeeds runs many small runs of gofabric peers.
func TestRxdSeeds(t *testing.T) { rxdSeeds(t, "RxdSeeds", false) }

// TestRxdNativeSeeds runs many small runs in which some peers use only native packets.
func TestRxdNativeSeeds(t *testing.T) { rxdSeeds(t, "RxdNativeSeeds", true) }

// TestRxdSameSeedSameTrace checks that a seed replays a run.
func TestRxdSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(10) {
		native := seed&1 == 1
		a, b := RunRxd(seed+1, native, nil), RunRxd(seed+1, native, func(string) {})
		if a.Hash != b.Hash || a.Ops != b.Ops {
			t.Errorf("seed %d: hashes %x and %x, %d and %d operations", seed+1, a.Hash, b.Hash, a.Ops, b.Ops)
		}
	}
}

// TestRxdMillion sends many messages between 16 peers over a network that loses a third, and repeats, reorders and
// damages datagrams. (-messages=1000000)
func TestRxdMillion(t *testing.T) {
	if *oneSeed != 0 {
		t.Skip("skipped with -seed")
	}
	w := newRxdWorld(1, nil, func(s *network.Sched) (features, rxdFeatures, network.Link) {
		f := features{nodes: 16, untagged: true, tagged: true, reads: true, writes: true, atomics: true, acks: true,
			data: true, inject: true, directed: true, lazy: true}
		x := rxdFeatures{nodes: 16, messages: *messages, mtu: 1472, nativeMTU: 1472, recvWindow: 1 << 20,
			maxUnacked: 128, peerTimeout: rxdPeerTimeout, pace: 3e6, quiet: true, big: true}
		return f, x, network.Link{Loss: 0.3, Dup: 0.05, Reorder: 0.1, Corrupt: 0.01, Late: 0.01, Latest: 3e9,
			Delay: 50e3, Jitter: 50e3, Behind: 500e3}
	})
	r := w.run(1)
	reportRxd(t, "RxdMillion", r)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d messages, %d operations, %d datagrams of which %d lost, %.1f s, slowest operation %.3f s, heap %d MiB of %d", w.arrived, r.Ops, w.net.Link.Sent, w.net.Link.Lost,
		float64(w.s.Now)/1e9, float64(w.slowest)/1e9, m.HeapAlloc>>20, m.HeapSys>>20)
	if most := uint64(128+*messages/20_000) << 20; m.HeapAlloc > most { // the table of operations grows with the run
		t.Errorf("%d MiB of memory are in use", m.HeapAlloc>>20)
	}
	if w.arrived < *messages {
		t.Errorf("%d messages of %d arrived", w.arrived, *messages)
	}
}
