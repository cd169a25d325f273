//go:build unix

package progress

import (
	"syscall"
	"testing"
)

// BenchmarkLock measures what a call pays for the domain's lock without contention. An application with
// FI_THREAD_DOMAIN would save that (docs/decisions/0027).
func BenchmarkLock(b *testing.B) {
	e, err := New(true)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	used := func() int64 { // processor time: elapsed time would include other processes
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	var passes uint64
	before := used()
	for b.Loop() {
		e.Lock()
		passes = e.batch.Passes()
		e.Unlock()
	}
	if passes > 0 {
		b.Log(passes, "passes in between")
	}
	b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op")
}
