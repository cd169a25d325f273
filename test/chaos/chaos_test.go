package chaos

import (
	"os"
	"strconv"
	"testing"
	"time"

	"gofabric/test/need"
)

// TestShort runs one stack for a few seconds.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short")
	}
	t.Parallel()
	y := &totals{t: t, events: map[eventKind]int{}}
	run(t, way{stack: stacks[2], carrier: overMemory, brief: true}, 4, 3*time.Second, y)
	if y.events[evKill] == 0 || y.events[evClose] == 0 {
		t.Errorf("nothing happened: %v", y.events)
	}
}

// TestStacks runs each stack that was chosen over each of its carriers, one after the other.
func TestStacks(t *testing.T) {
	if os.Getenv("GOFABRIC_CHAOS") == "" {
		need.Asked(t, "it takes minutes; GOFABRIC_CHAOS=2m sets how many for each stack")
	}
	long := 2 * time.Minute
	if text := os.Getenv("GOFABRIC_CHAOS"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	ways, err := chosen()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, w := range ways {
		of[w.stack.name]++
	}
	defer func() { t.Log(table(seedOf(t))) }()
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			y := &totals{t: t, events: map[eventKind]int{}}
			defer func() { addRow(w.String(), y) }()
			run(t, w, 6, long/time.Duration(of[w.stack.name]), y)
		})
	}
}

// seedOf returns the seed of the schedule.
func seedOf(t *testing.T) uint64 {
	text := os.Getenv("GOFABRIC_CHAOS_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// run runs a fleet through a schedule.
func run(t *testing.T, w way, nodes int, long time.Duration, y *totals) {
	seed := seedOf(t)
	f := newFleet(t, w, nodes, seed, y)
	s := f.setup
	s.Life, s.Me = 1, uint8(nodes) // this process
	f.server = f.launch(serverVar, s, serverOwner)
	for i := range nodes {
		f.start(i, 1)
	}
	if w.carrier.fault { // connections break at any time
		for i := range nodes {
			if !w.datagrams() {
				begin(f.audit.troubles, uint8(i), 0)
			}
		}
		if !w.datagrams() {
			begin(f.audit.troubles, serverOwner, 0)
		}
	}
	if !f.until("all processes are ready", patience, func() bool {
		for _, p := range append([]*proc{f.server}, f.nodes...) {
			if !p.ready {
				return false
			}
		}
		return true
	}) {
		return
	}
	zero := f.now()
	for _, e := range plan(seed, w, nodes, long) {
		f.due = append(f.due, deed{zero + e.at, func() {
			if testing.Verbose() {
				t.Logf("%v: %v", f.now().Round(time.Millisecond), e)
			}
			f.happen(e)
		}})
	}
	for judged := zero; f.now()-zero < long || len(f.due) > 0; f.turn() {
		if *first && y.bad() > 0 {
			return
		}
		if now := f.now(); now-judged > time.Second/2 {
			judged = now
			f.audit.read()
			f.audit.judge(now - time.Second) // the journals have been read up to then
			f.audit.silent(nodes, now-time.Second)
		}
	}
	f.finish()
}
