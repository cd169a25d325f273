package bench

import (
	"runtime"
	"testing"
	"time"

	"gofabric/core"
)

// TestLoopsDoNotAllocate runs both roles of loops in one process and counts allocations. A sliding window may
// outrun the receiver, whose provider then allocates for messages without a receive.
func TestLoopsDoNotAllocate(t *testing.T) {
	var ends [2]*side
	for i := range ends {
		s, err := newSide(testProviders, Stack{"tcp", core.EPTypeRDM}, 16, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		defer s.limit(20 * time.Second)()
		ends[i] = s
	}
	for i, s := range ends {
		a, err := ends[1-i].listen()
		if err == nil {
			err = s.join(a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tst := range []Test{{Kind: Latency, Size: 64}, {Kind: Latency, Size: 512, Tagged: true}, {Kind: Rate, Size: 64, Window: 16},
		{Kind: Write, Size: 4096, Window: 16}, {Kind: Read, Size: 4096, Window: 16}} {
		for i, s := range ends {
			r, err := s.prepare(tst)
			if err != nil {
				t.Fatal(err)
			}
			ends[1-i].remote = r
		}
		both := func(iters int) {
			w := Work{Test: tst, Iters: iters}
			done := make(chan error, 1)
			for i, s := range ends {
				if err := s.arm(w, i == 0); err != nil {
					t.Fatal(err)
				}
			}
			go func() {
				_, err := ends[1].run(w, false, nil)
				done <- err
			}()
			_, here := ends[0].run(w, true, nil)
			if there := <-done; here != nil || there != nil {
				t.Fatalf("%s of %d: %v, %v", tst.Name(), tst.Size, here, there)
			}
		}
		both(64) // fills the pools
		const iters = 400
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before) // not testing.AllocsPerRun, which lets one goroutine run at a time: these two poll
		both(iters)
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n > iters/4 {
			t.Errorf("%s: %d allocations in %d iterations", tst.Name(), n, iters)
		}
	}
}
