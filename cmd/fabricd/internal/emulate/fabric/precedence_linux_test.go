package fabric

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/test/need"
	"gofabric/test/wait"
)

// first counts the threads of this process that have real-time priority.
func first(t *testing.T) (n int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			t.Fatal(err)
		}
		a, err := unix.SchedGetAttr(tid, 0)
		if err == nil && a.Policy == unix.SCHED_FIFO { // a thread may have ended meanwhile
			n++
		}
	}
	return n
}

// TestFirst: only the thread that moves frames has real-time priority, and it ends with the fabric instead of
// running other goroutines.
func TestFirst(t *testing.T) {
	need.Root(t, "real-time priority")
	if err := onThread(becomeFirst); err != nil {
		if os.IsPermission(err) {
			t.Skip("this system gives no thread real-time priority: ", err) // in a container, or with CONFIG_RT_GROUP_SCHED and no share
		}
		t.Fatal(err)
	}
	wait.Until(t, "the thread of the attempt ends", func() bool { return first(t) == 0 })
	t.Run("open", func(t *testing.T) {
		open(t, "pair")
		wait.Until(t, "one thread has real-time priority", func() bool { return first(t) == 1 })
	})
	wait.Until(t, "the thread of the fabric ends", func() bool { return first(t) == 0 })
}
