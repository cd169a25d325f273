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

// first counts the threads of this process that go before others.
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

// TestFirst: one thread goes first, the one that moves frames, and it ends with the fabric rather than serve others.
func TestFirst(t *testing.T) {
	need.Root(t, "to go before other programs")
	if err := onThread(becomeFirst); err != nil {
		if os.IsPermission(err) {
			t.Skip("this system gives no thread real-time priority: ", err) // a container's, or CONFIG_RT_GROUP_SCHED without a share
		}
		t.Fatal(err)
	}
	wait.Until(t, "the thread that asked has ended", func() bool { return first(t) == 0 })
	t.Run("open", func(t *testing.T) {
		open(t, "pair")
		wait.Until(t, "one thread goes first", func() bool { return first(t) == 1 })
	})
	wait.Until(t, "it has ended", func() bool { return first(t) == 0 })
}
