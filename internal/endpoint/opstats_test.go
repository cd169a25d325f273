package endpoint

import (
	"testing"

	"gofabric/internal/xnet/engine"
)

// TestOpStats: one operation in 256 is timed, as long as fewer than four are in progress. Failed operations and
// invalid marks are not recorded.
func TestOpStats(t *testing.T) {
	var d opStats
	var marks []uint8
	for range (samples + 2) * sampleEvery {
		d.end(0, true) // an operation that is not timed has mark 0
		if m := d.begin(engine.KindWrite); m != 0 {
			marks = append(marks, m)
		}
	}
	if len(marks) != samples {
		t.Fatalf("%d operations are timed, want %d", len(marks), samples)
	}
	d.end(samples+1, true)
	d.end(255, true)
	d.end(marks[0], false)
	for _, m := range marks {
		d.end(m, true)
		d.end(m, true)
	}
	if h := d.latencies()["write"]; h.Count != samples-1 || len(d.latencies()) != 1 {
		t.Errorf("timed: %+v", d.latencies())
	}
	d.end(d.begin(engine.KindRead), true) // the first of its kind
	for range sampleEvery {               // two kinds take turns: both are timed
		d.end(d.begin(engine.KindRead), true)
		d.end(d.begin(engine.KindFetch), true)
	}
	if h := d.latencies(); h["read"].Count != 2 || h["fetch_atomic"].Count != 1 {
		t.Errorf("timed: %+v", h)
	}
	if n := testing.AllocsPerRun(100, func() { d.end(d.take(engine.KindWrite), true) }); n != 0 {
		t.Errorf("timing an operation allocates %v times", n)
	}
}
