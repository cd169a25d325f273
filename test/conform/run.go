package conform

// Run: all themes over one stack, each with a check that goroutines and descriptors come back to where they were.

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
		t.Fatalf("GetInfo knows no %s: %v", st.Name, err)
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

// over runs the theme over st. What it has shown counts if it passes.
func (m theme) over(t *testing.T, st Stack) {
	passed := t.Run(m.name, func(t *testing.T) {
		NoLeaks(t)
		m.run(t, st)
	})
	if st.Record != nil {
		st.Record.End(m.name, passed)
	}
}

// RunTogether runs the whole suite over st beside other stacks of the package, for most of the time it waits. What is left over is then looked for when all
// of them are through; with GOFABRIC_MANY one comes after the other, and each theme is looked at.
func RunTogether(t *testing.T, st Stack) {
	t.Helper()
	if !need.Many() {
		t.Parallel()
		beside.Add(1)
		t.Cleanup(func() { beside.Add(-1) })
	}
	Run(t, st)
}

// beside counts the stacks that run together at the moment.
var beside atomic.Int32

// NoLeaks fails the test if, at its end, there are more goroutines or descriptors than now. Of tests that run beside others nobody can tell whose they are.
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

// settledFDs waits until there are no more descriptors than there were, but not for ever, and returns how many there are.
func settledFDs(before int) (after int) {
	end := time.Now().Add(Deadline)
	for after = openFDs(); after > before && time.Now().Before(end); after = openFDs() {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return after
}

// openFDs counts the process's descriptors; 0 where /proc is not there.
func openFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}
