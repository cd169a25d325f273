package conform

// Run: all themes over one stack, each with a check that goroutines and descriptors come back to where they were.

import (
	"os"
	"runtime"
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
	for _, theme := range []struct {
		name string
		run  func(t *testing.T, st Stack)
	}{
		{"msg", testMsg},
		{"truncation", testTruncation},
		{"completion", testCompletion},
		{"tagged", testTagged},
		{"peek", testPeek},
		{"multirecv", testMultiRecv},
		{"rma", testRMA},
		{"access", testAccess},
		{"progress", testAutoProgress},
		{"slowpoll", testSlowPoll},
		{"cq", testCQ},
		{"counters", testCounters},
		{"av", testAV},
		{"cm", testCM},
		{"control", testControl},
		{"rdm", testRDM},
		{"threads", testThreads},
	} {
		t.Run(theme.name, func(t *testing.T) {
			NoLeaks(t)
			theme.run(t, st)
		})
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
		end := time.Now().Add(2 * time.Second)
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
