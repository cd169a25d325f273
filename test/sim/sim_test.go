package sim

import (
	"flag"
	"strings"
	"testing"
)

var (
	oneSeed = flag.Uint64("seed", 0, "replay this seed and print its trace")
	seeds   = flag.Int("seeds", 0, "number of seeds for each kind of run; 0: a few")
)

func report(t *testing.T, r Result) {
	t.Helper()
	if len(r.Violations) > 0 {
		t.Errorf("seed %d (replay: go test ./test/sim -run Seeds -v -seed=%d): %s\n%s", r.Seed, r.Seed,
			strings.Join(r.Violations, "\n"), r.Features)
	}
}

// TestSeeds runs many seeds.
func TestSeeds(t *testing.T) {
	if *oneSeed != 0 {
		r := Run(*oneSeed, func(line string) { t.Log(line) })
		t.Logf("%d operations, hash %x, %s", r.Ops, r.Hash, r.Features)
		report(t, r)
		return
	}
	n, ops, refused := *seeds, 0, 0
	if n == 0 {
		n = 100
	}
	if testing.Short() {
		n = min(n, 30)
	}
	for seed := range uint64(n) {
		r := Run(seed+1, nil)
		report(t, r)
		ops += r.Ops
		refused += r.Refused
	}
	t.Logf("%d seeds, %d operations, %d of them refused", n, ops, refused)
	if refused == 0 {
		t.Error("no run has refused an operation")
	}
}

// TestSameSeedSameTrace checks that a seed replays a run.
func TestSameSeedSameTrace(t *testing.T) {
	hashes := map[uint64]bool{}
	for seed := range uint64(12) {
		a, b := Run(seed+1, nil), Run(seed+1, func(string) {})
		if a.Hash != b.Hash || a.Ops != b.Ops {
			t.Errorf("seed %d: hashes %x and %x, %d and %d operations", seed+1, a.Hash, b.Hash, a.Ops, b.Ops)
		}
		hashes[a.Hash] = true
	}
	if len(hashes) != 12 {
		t.Errorf("12 seeds, %d traces", len(hashes))
	}
}
