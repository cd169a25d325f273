package metrics_test

import (
	"io"
	"testing"

	"gofabric/internal/telemetry"
)

// BenchmarkAnswer is what an answer to fabricd costs a process with one endpoint.
func BenchmarkAnswer(b *testing.B) {
	x, y := pair(b, "tcp", 300)
	defer y.Close()
	defer x.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := telemetry.WriteFrame(io.Discard, telemetry.Reply{Seq: 1, Process: telemetry.Collect()}, telemetry.MaxFrame); err != nil {
			b.Fatal(err)
		}
	}
}
