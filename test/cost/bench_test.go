package cost

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"gofabric/internal/fabricd"
)

// round is one measurement, as fi bench --follow --json prints it.
type round struct {
	At    time.Time
	Name  string
	Usec  float64
	Iters float64
}

// bench is two processes that measure.
type bench struct {
	rounds <-chan round // closed when they end
	cmd    *exec.Cmd
}

// roundTime is how long a measurement takes. Those of a block are put together, for what happens once a second is in one of them.
const roundTime = 250 * time.Millisecond

// follow starts measuring a stack.
func follow(t *testing.T, fi, stack, dir string) *bench {
	t.Helper()
	cmd := exec.Command(fi, "bench", "--follow", "--json", "--stack", stack, "--test", "latency,rate", "--time", roundTime.String())
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rounds := make(chan round)
	ended := make(chan struct{})
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		close(ended)
		if err := cmd.Wait(); err != nil {
			t.Errorf("fi bench: %v", err)
		}
	})
	go func() {
		defer close(rounds)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var r round
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Errorf("%v in %s", err, lines.Text())
				return
			}
			select {
			case rounds <- r:
			case <-ended:
			}
		}
	}()
	return &bench{rounds, cmd}
}

// block takes n measurements of each test that begin from now on, and returns the mean time of a message, by test.
func (b *bench) block(t *testing.T, n int) map[string]float64 {
	t.Helper()
	from, limit := time.Now(), time.After(patience)
	time, count, rounds := map[string]float64{}, map[string]float64{}, map[string]int{}
	for full := 0; len(rounds) == 0 || full < len(rounds); {
		select {
		case r, ok := <-b.rounds:
			if !ok {
				t.Fatal("fi bench has ended")
			}
			if r.At.Before(from) || rounds[r.Name] == n {
				continue
			}
			time[r.Name] += r.Usec * r.Iters
			count[r.Name] += r.Iters
			if rounds[r.Name]++; rounds[r.Name] == n {
				full++
			}
		case <-limit:
			t.Fatal("fi bench measures nothing")
		}
	}
	for name := range time {
		time[name] /= count[name]
	}
	return time
}
