package conform

// Run: all themes over one stack, each with a check that goroutines and descriptors come back to where they were.

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofabric/core"
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
		if !slices.Contains(st.Except, theme.name) {
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

// NoLeaks fails the test if, at its end, there are more goroutines or descriptors than now.
func NoLeaks(t *testing.T) {
	t.Helper()
	before := openFDs()
	opt := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := goleak.Find(opt); err != nil {
			t.Errorf("goroutines left over: %v", err)
		}
		end := time.Now().Add(Deadline)
		for after := openFDs(); after > before; after = openFDs() {
			if time.Now().After(end) {
				t.Errorf("descriptors: %d before, %d after", before, after)
				return
			}
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// openFDs counts the process's descriptors; 0 where /proc is not there.
func openFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}
