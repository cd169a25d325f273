package chaos

import (
	"fmt"
	"gofabric/test/wait"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// stock is what a process has in use.
type stock struct {
	Goroutines int
	FDs        map[string]int // by kind, "socket" or "memfd"
	Maps       int            // of shared memory
	Heap       uint64
}

// warm makes the runtime open its poller, which it keeps.
func warm() {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
}

// takeStock counts what the process has in use. Linux shows the kinds of descriptors; other systems show nothing.
func takeStock() (s stock) {
	runtime.GC()
	s.Goroutines = runtime.NumGoroutine()
	s.FDs = map[string]int{}
	if d, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, e := range d {
			to, err := os.Readlink("/proc/self/fd/" + e.Name())
			if err != nil {
				continue // the descriptor that reads the folder
			}
			kind, _, _ := strings.Cut(to, ":[")
			if strings.HasPrefix(kind, "/") && !strings.HasPrefix(kind, "/memfd") {
				kind = "file"
			}
			s.FDs[kind]++
		}
	}
	if text, err := os.ReadFile("/proc/self/maps"); err == nil {
		s.Maps = strings.Count(string(text), "memfd:") + strings.Count(string(text), "/dev/shm")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Heap = m.HeapInuse
	return s
}

// more returns by how much more is in use than before, beyond an allowance.
func (s stock) more(now stock, fds, maps int) string {
	var all []string
	if now.Goroutines > s.Goroutines {
		all = append(all, fmt.Sprintf("%d goroutines (%d)", now.Goroutines, s.Goroutines))
	}
	had, has := 0, 0
	for _, n := range s.FDs {
		had += n
	}
	for _, n := range now.FDs {
		has += n
	}
	if has > had+fds {
		all = append(all, fmt.Sprintf("%d descriptors %v (%d %v)", has, now.FDs, had, s.FDs))
	}
	if now.Maps > s.Maps+maps {
		all = append(all, fmt.Sprintf("%d maps of shared memory (%d)", now.Maps, s.Maps))
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}

// settle waits until no more is in use than before. If that does not happen in time, it returns the excess.
func (s stock) settle() (more string) {
	// The limit is less than the test waits for the process. No event tells when the kernel has closed descriptors.
	for end := time.Now().Add(wait.Limit / 2); ; time.Sleep(20 * time.Millisecond) {
		if more = s.more(takeStock(), 0, 0); more == "" || time.Now().After(end) {
			if strings.Contains(more, "goroutines") {
				b := make([]byte, 64<<10)
				fmt.Fprintf(os.Stderr, "%s\n", b[:runtime.Stack(b, true)])
			}
			return more
		}
	}
}

// exhaust takes all descriptors of the process for a time: open(2), socket(2) and accept(2) fail with EMFILE.
func exhaust(long time.Duration) {
	var was unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &was) != nil {
		return
	}
	used := 3
	if d, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(d) - 1
	}
	now := was
	now.Cur = uint64(used)
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &now) != nil {
		return
	}
	poor.Add(1)
	time.AfterFunc(long, func() {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
		poor.Add(-1)
	})
}

// poor counts the calls of exhaust under way. A node waits for their end before it opens its journal.
var poor atomic.Int32

// limitMemory sets the Go runtime's soft memory limit to what is in use for a time. The runtime collects garbage all
// the time and returns free memory to the system.
func limitMemory(long time.Duration) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	was := debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) * 9 / 10)
	time.AfterFunc(long, func() { debug.SetMemoryLimit(was) })
}
