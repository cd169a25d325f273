package atomics_test

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/atomics"
)

// TestNumbers: types and operations have the same numbers as in core.
func TestNumbers(t *testing.T) {
	for ours, theirs := range map[atomics.Datatype]core.Datatype{
		atomics.Int8: core.Int8, atomics.Uint64: core.Uint64, atomics.Float: core.Float,
		atomics.DoubleComplex: core.DoubleComplex, atomics.LongDouble: core.LongDouble,
		atomics.LongDoubleComplex: core.LongDoubleComplex, atomics.Int128: core.Int128,
		atomics.Uint128: core.Uint128, atomics.Float16: core.Float16, atomics.BFloat16: core.BFloat16,
		atomics.Float8E4M3: core.Float8E4M3, atomics.Float8E5M2: core.Float8E5M2,
	} {
		if uint16(ours) != uint16(theirs) {
			t.Errorf("type %d is core's %d", ours, theirs)
		}
	}
	for ours, theirs := range map[atomics.Op]core.AtomicOp{
		atomics.Min: core.AtomicMin, atomics.LXor: core.AtomicLXor, atomics.Read: core.AtomicRead,
		atomics.Write: core.AtomicWrite, atomics.CSwap: core.AtomicCSwap,
		atomics.CSwapGT: core.AtomicCSwapGT, atomics.MSwap: core.AtomicMSwap, atomics.Diff: core.AtomicDiff,
	} {
		if uint16(ours) != uint16(theirs) {
			t.Errorf("operation %d is core's %d", ours, theirs)
		}
	}
}
