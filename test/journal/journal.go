package journal

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"gofabric/internal/telemetry"
	"gofabric/internal/trust"
	_ "gofabric/internal/trust/structured"
	"gofabric/test/wait"
)

// Journal is what was logged since Listen.
type Journal struct {
	t  testing.TB
	mu sync.Mutex
	b  bytes.Buffer
}

// Listen collects log lines until the test ends.
func Listen(t testing.TB) *Journal {
	j, before := &Journal{t: t}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(j, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	trust.ResetLog()
	return j
}

// Write collects a line.
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

// Want waits for a line that contains all of these words.
func (j *Journal) Want(words ...string) {
	j.t.Helper()
	defer func() {
		if j.t.Failed() {
			j.t.Logf("logged: %q", j)
		}
	}()
	wait.Until(j.t, fmt.Sprintf("a line with %q", words), func() bool {
		for line := range strings.Lines(j.String()) {
			if hasAll(line, words) {
				return true
			}
		}
		return false
	})
}

func hasAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// Refused returns how often this process has refused an untrusted process the use of: stream, datagrams, copies or
// vectors.
func Refused(use string) uint64 {
	for _, total := range telemetry.Collect().Totals {
		if total.Provider == trust.Provider {
			return total.Counters["drops.untrusted_"+use]
		}
	}
	return 0
}
