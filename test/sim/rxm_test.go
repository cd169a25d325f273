package sim

import "testing"

// TestRxmSeeds runs many runs of rxm gateways.
func TestRxmSeeds(t *testing.T) {
	if *oneSeed != 0 {
		r := RunRxm(*oneSeed, func(line string) { t.Log(line) })
		t.Logf("%d operations, hash %x, %s", r.Ops, r.Hash, r.Features)
		report(t, r)
		return
	}
	n, ops := *seeds, 0
	if n == 0 {
		n = 100
	}
	if testing.Short() {
		n = min(n, 20)
	}
	for seed := range uint64(n) {
		r := RunRxm(seed+1, nil)
		report(t, r)
		ops += r.Ops
	}
	t.Logf("%d seeds, %d operations", n, ops)
}

// TestRxmSameSeedSameTrace checks that a seed replays a run.
func TestRxmSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(6) {
		a, b := RunRxm(seed+1, nil), RunRxm(seed+1, func(string) {})
		if a.Hash != b.Hash || a.Ops != b.Ops {
			t.Errorf("seed %d: hashes %x and %x, %d and %d operations", seed+1, a.Hash, b.Hash, a.Ops, b.Ops)
		}
	}
}
