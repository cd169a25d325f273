package journal

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/internal/telemetry"
	"gofabric/internal/trust"
	_ "gofabric/internal/trust/structured"
)

// Journal is what was logged since Listen.
type Journal struct {
	t  testing.TB
	mu sync.Mutex
	b  bytes.Buffer
}

// Listen collects what is logged from now on, until the test ends.
func Listen(t testing.TB) *Journal {
	j, before := &Journal{t: t}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(j, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	trust.ResetLog()
	return j
}

// Write takes a line.
func (j *Journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// Want waits for a line with all of these.
func (j *Journal) Want(words ...string) {
	j.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		text := j.String()
		for line := range strings.Lines(text) {
			if hasAll(line, words) {
				return
			}
		}
		if time.Now().After(end) {
			j.t.Fatalf("no line with %q in %q", words, text)
		}
	}
}

func hasAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// Refused is how often this process has refused an untrusted one the use of: stream, datagrams, copies or vectors.
func Refused(use string) uint64 {
	for _, total := range telemetry.Collect().Totals {
		if total.Provider == trust.Provider {
			return total.Counters["drops.untrusted_"+use]
		}
	}
	return 0
}
