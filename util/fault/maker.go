package fault

import (
	"sync/atomic"
	"time"

	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/transport/stream"
)

// maker makes the faults of the connections of one fabric. Each connection decides independently, by its number.
type maker struct {
	s     *settings
	start mono.Time // origin of the times of partitions
	made  atomic.Uint64
}

var _ stream.Impairer = (*maker)(nil)

// Stream implements stream.Impairer.
func (m *maker) Stream(patience time.Duration) *impair.Stream {
	return impair.NewStream(m.s.seed, m.made.Add(1), m.s.faults, m.s.stream, m.s.spans, m.start, mono.Now(), patience)
}
