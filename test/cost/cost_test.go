package cost

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"gofabric/test/program"
)

const (
	defaultPairs  = 30
	blockRounds   = 2  // measurements of each test in a block; together they take a second
	otherPrograms = 50 // a block may lose one part in otherPrograms of a processor's time to other programs
	tries         = 30 // attempts to measure a block without other programs
)

// TestCost compares the times of messages with and without the daemon. It fails if they are certainly longer by more
// than is allowed.
func TestCost(t *testing.T) {
	if os.Getenv("GOFABRIC_COST") == "" {
		t.Skip("it takes five minutes and needs a quiet machine: set GOFABRIC_COST=1")
	}
	pairs := number(t, "GOFABRIC_COST_PAIRS", defaultPairs)
	seed := number(t, "GOFABRIC_COST_SEED", int(time.Now().UnixNano()))
	ofi, fabricd := build(t, "ofi"), build(t, "fabricd")
	for _, stack := range []string{"tcp/rdm", "udp;ofi_rxd/rdm", "tcp;ofi_rxm/rdm"} {
		t.Run(stack, func(t *testing.T) {
			t.Logf("GOFABRIC_COST_SEED=%d", seed)
			r := &run{random: rand.New(rand.NewPCG(uint64(seed), 0)), d: &daemon{program: fabricd, dir: t.TempDir()},
				ratios: map[string]ratios{}, theirs: map[bool]usage{}}
			r.b = follow(t, ofi, stack, r.d.dir)
			r.b.block(t, 2) // both processes have started and are warm
			for range pairs {
				r.pair(t)
			}
			if r.d.run != nil {
				r.d.end()
			}
			r.report(t)
		})
	}
}

// number returns the value of an environment variable.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// build builds a program of this module, or takes one from a folder to compare versions.
func build(t *testing.T, name string) string {
	t.Helper()
	if dir := os.Getenv("GOFABRIC_COST_BIN"); dir != "" {
		return filepath.Join(dir, name)
	}
	dir := t.TempDir()
	if err := program.Build(dir, "gofabric/cmd/"+name); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// run is the measurement of a stack.
type run struct {
	random *rand.Rand
	b      bench
	d      *daemon
	ratios map[string]ratios // by test

	theirs map[bool]usage // of the processes that measure, with the daemon (true) and without
	own    usage          // of the daemon and of this process, which scrapes it
}

// pair measures a block with the daemon and a block without.
func (r *run) pair(t *testing.T) {
	order := []bool{true, false}
	r.random.Shuffle(2, func(i, j int) { order[i], order[j] = order[j], order[i] })
	values := map[bool]map[string]float64{}
	for _, on := range order {
		r.become(t, on)
		values[on] = r.block(t, on)
	}
	line := ""
	for _, name := range []string{"latency", "rate"} {
		ratio := values[true][name] / values[false][name]
		r.ratios[name] = append(r.ratios[name], ratio)
		line += fmt.Sprintf("  %s %.4f", name, ratio)
	}
	t.Logf("%s, the daemon first: %v", line, order[0])
}

// become starts or stops the daemon if necessary.
func (r *run) become(t *testing.T, on bool) {
	switch running := r.d.run != nil; {
	case on && !running:
		r.d.start(t, 2)
	case !on && running:
		r.d.end()
	}
}

// block measures a block and its usage of the machine. If other programs used more than a little of the processors, it
// measures again.
func (r *run) block(t *testing.T, on bool) map[string]float64 {
	all := family(r.b.Cmd.Process.Pid)
	for again := 0; ; again++ {
		began, theirs, own := busy(), usageOf(all...), r.ownUsage()
		values := r.b.block(t, blockRounds)
		theirs, own = usageOf(all...).sub(theirs), r.ownUsage().sub(own)
		if strange := busy() - began - theirs.cpu - own.cpu; strange > theirs.time/otherPrograms && again < tries {
			t.Logf("    other programs took %v of %v: measuring again", strange.Round(time.Millisecond),
				theirs.time.Round(time.Millisecond))
			continue
		}
		r.theirs[on] = r.theirs[on].add(theirs)
		if on {
			r.own = r.own.add(own)
		}
		return values
	}
}

// ownUsage returns the usage of the daemon and of this process, which reads its metrics.
func (r *run) ownUsage() usage {
	if r.d.run == nil {
		return usageOf(os.Getpid())
	}
	return usageOf(os.Getpid(), r.d.run.Cmd.Process.Pid)
}

// report logs the results, and fails if the daemon costs too much.
func (r *run) report(t *testing.T) {
	for _, name := range []string{"latency", "rate"} {
		low, median, high, err := r.ratios[name].interval()
		if err != nil {
			t.Fatal(err)
		}
		said, bad := verdict(low, high)
		if bad {
			t.Errorf("%s costs %.1f %%", name, 100*(median-1))
		}
		t.Logf("%-8s with the daemon takes %.4f of the time without, from %.4f to %.4f: %s", name, median, low, high,
			said)
	}
	t.Logf("the daemon, and scraping it, take %s", r.own)
	t.Logf("two processes take %s with it", r.theirs[true])
	t.Logf("two processes take %s without", r.theirs[false])
}
