package cost

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/test/program"
)

// round is one measurement, as ofi bench --follow --json prints it.
type round struct {
	At    time.Time
	Name  string
	Usec  float64
	Iters float64
}

// bench is a pair of processes that measure.
type bench struct{ *program.Program }

// roundTime is how long a measurement takes. The measurements of a block are averaged, because what happens once a
// second falls into only one of them.
const roundTime = 250 * time.Millisecond

// follow starts measuring a stack.
func follow(t *testing.T, ofi, stack, dir string) bench {
	t.Helper()
	cmd := exec.Command(ofi, "bench", "--follow", "--json", "--stack", stack, "--test",
		"latency,rate", "--time", roundTime.String())
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+dir)
	cmd.Stderr = os.Stderr
	b := bench{program.Start(t, cmd)}
	b.Mute() // its output is measurements
	t.Cleanup(func() {
		b.Signal(syscall.SIGINT)
		b.Ends()
	})
	return b
}

// block takes n measurements of each test that begin from now on, and returns the mean time of a message by test.
func (b bench) block(t *testing.T, n int) map[string]float64 {
	t.Helper()
	from := time.Now()
	time, count, rounds := map[string]float64{}, map[string]float64{}, map[string]int{}
	for full := 0; len(rounds) == 0 || full < len(rounds); {
		var r round
		line := b.Line()
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if r.At.Before(from) || rounds[r.Name] == n {
			continue
		}
		time[r.Name] += r.Usec * r.Iters
		count[r.Name] += r.Iters
		if rounds[r.Name]++; rounds[r.Name] == n {
			full++
		}
	}
	for name := range time {
		time[name] /= count[name]
	}
	return time
}
