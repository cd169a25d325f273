package conform

// Run runs all themes over one stack, and checks after each that no goroutine or descriptor has leaked.

import (
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/test/need"
)

// Run runs the whole suite over st.
func Run(t *testing.T, st Stack) {
	if _, err := st.info("", st.hints(core.CapMsg)); err != nil {
		t.Fatalf("GetInfo has no %s: %v", st.Name, err)
	}
	themes := datagramThemes
	if st.EPType != core.EPTypeDgram {
		themes = allThemes
	}
	for _, theme := range themes {
		if !slices.Contains(st.Except, theme.name) && (st.Only == nil || slices.Contains(st.Only, theme.name)) {
			theme.over(t, st)
		}
	}
}

// allThemes is the suite for reliable endpoints.
var allThemes = []theme{
	{"msg", testMsg},
	{"truncation", testTruncation},
	{"completion", testCompletion},
	{"levels", testLevels},
	{"tagged", testTagged},
	{"peek", testPeek},
	{"multirecv", testMultiRecv},
	{"receives", testReceives},
	{"rma", testRMA},
	{"access", testAccess},
	{"refused", testRefused},
	{"atomic", testAtomic},
	{"fence", testFence},
	{"order", testOrder},
	{"flags", testFlags},
	{"progress", testAutoProgress},
	{"slowpoll", testSlowPoll},
	{"cq", testCQ},
	{"counters", testCounters},
	{"trigger", testTrigger},
	{"work", testWork},
	{"av", testAV},
	{"vectors", testVectors},
	{"auth", testAuth},
	{"cm", testCM},
	{"control", testControl},
	{"rdm", testRDM},
	{"collective", testCollective},
	{"threads", testThreads},
	{"scalable", testScalable},
	{"shared", testShared},
	{"msgflags", testMsgFlags},
	{"attributes", testAttributes},
	{"matrix", testMatrix},
	{"objects", testObjects},
	{"firewall", testFirewall},
}

// theme is a part of the suite.
type theme struct {
	name string
	run  func(t *testing.T, st Stack)
}

// over runs the theme over st. Its records count if it passes.
func (m theme) over(t *testing.T, st Stack) {
	passed := t.Run(m.name, func(t *testing.T) {
		NoLeaks(t)
		m.run(t, st)
	})
	if st.Record != nil {
		st.Record.End(m.name, passed)
	}
}

// RunParallel runs the whole suite over st in parallel with other stacks of the package, because it mostly waits.
// Leaks are checked after all stacks. With GOFABRIC_MANY one stack runs after the other, and leaks are checked after
// each theme.
func RunParallel(t *testing.T, st Stack) {
	t.Helper()
	if !need.Many() {
		t.Parallel()
		beside.Add(1)
		t.Cleanup(func() { beside.Add(-1) })
	}
	Run(t, st)
}

// beside is the number of stacks that run together at the moment.
var beside atomic.Int32

// NoLeaks fails the test if, at its end, there are more goroutines or descriptors than now. It does not check tests
// that run in parallel, because a leak could belong to any of them.
func NoLeaks(t *testing.T) {
	t.Helper()
	if beside.Load() > 0 {
		return
	}
	before := openFDs()
	opt := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := goleak.Find(opt); err != nil {
			t.Errorf("goroutines left over: %v", err)
		}
		if after := settledFDs(before); after > before {
			t.Errorf("descriptors: %d before, %d after", before, after)
		}
	})
}

// settledFDs waits for a limited time until there are no more descriptors than before, and returns how many there are.
func settledFDs(before int) (after int) {
	end := time.Now().Add(Deadline)
	for after = openFDs(); after > before && time.Now().Before(end); after = openFDs() {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // finalizers run in a goroutine of the runtime
	}
	return after
}

// openFDs returns the number of the process' descriptors, 0 where there is no /proc.
func openFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}
