package metrics_test

import (
	"io"
	"testing"

	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
)

// BenchmarkAnswer measures the cost of an answer to fabricd for a process with one endpoint.
func BenchmarkAnswer(b *testing.B) {
	x, y := pair(b, "tcp", 300)
	defer y.Close()
	defer x.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := report.WriteFrame(io.Discard, report.Reply{Seq: 1, Process: telemetry.Collect()},
			report.MaxFrame); err != nil {
			b.Fatal(err)
		}
	}
}
