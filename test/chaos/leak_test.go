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

// stock is what a process has.
type stock struct {
	Goroutines int
	FDs        map[string]int // by what they are, "socket" or "memfd"
	Maps       int            // of shared memory
	Heap       uint64
}

// warm has the runtime open what it keeps, its poller.
func warm() {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
}

// takeStock looks at the process. Linux shows what descriptors are, others show nothing.
func takeStock() (s stock) {
	runtime.GC()
	s.Goroutines = runtime.NumGoroutine()
	s.FDs = map[string]int{}
	if d, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, e := range d {
			to, err := os.Readlink("/proc/self/fd/" + e.Name())
			if err != nil {
				continue // the one that the folder was read with
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

// more says what there is more of than before, allowing for some of it.
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

// settle waits until there is no more than before, and says what there is if that does not come about.
func (s stock) settle() (more string) {
	for end := time.Now().Add(wait.Limit / 2); ; time.Sleep(20 * time.Millisecond) { // less than the test waits for the process
		if more = s.more(takeStock(), 0, 0); more == "" || time.Now().After(end) {
			if strings.Contains(more, "goroutines") {
				b := make([]byte, 64<<10)
				fmt.Fprintf(os.Stderr, "%s\n", b[:runtime.Stack(b, true)])
			}
			return more
		}
	}
}

// exhaust has the process have no descriptors left for a time: open(2), socket(2) and accept(2) fail with EMFILE.
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

// poor counts the times of no descriptors: a node opens its journal behind them.
var poor atomic.Int32

// limitMemory has the Go runtime believe for a time that there is no more memory than is in use: it collects all the time, and gives back what is free.
func limitMemory(long time.Duration) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	was := debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) * 9 / 10)
	time.AfterFunc(long, func() { debug.SetMemoryLimit(was) })
}
