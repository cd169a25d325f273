package cost

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what processes have used of the machine in a time: processor time, how often a thread was scheduled, and
// how often another thread preempted it. All fields are 0 where there is no /proc.
type usage struct {
	time, cpu    time.Duration
	runs, ousted int
}

// userHz is the unit of processor times in /proc/stat: a hundredth of a second on all systems that Go supports
// (proc_stat(5)).
const userHz = time.Second / 100

// busy returns how long all processors have worked.
func busy() (d time.Duration) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	for i, word := range strings.Fields(line) {
		// Not the columns idle and iowait. Guests are included in other columns.
		if n, err := strconv.Atoi(word); err == nil && i != 4 && i != 5 && i < 9 {
			d += time.Duration(n) * userHz
		}
	}
	return d
}

// usageOf adds up the threads of processes.
func usageOf(pids ...int) (u usage) {
	u.time = time.Duration(time.Now().UnixNano()) // only the difference of two usages is meaningful
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			var ns, waited int64
			var runs int
			b, _ := os.ReadFile(filepath.Join(task, "schedstat"))
			fmt.Sscan(string(b), &ns, &waited, &runs)
			u.cpu += time.Duration(ns)
			u.runs += runs
			b, _ = os.ReadFile(filepath.Join(task, "status"))
			if _, n, ok := strings.Cut(string(b), "nonvoluntary_ctxt_switches:"); ok {
				ousted, _ := strconv.Atoi(strings.TrimSpace(n))
				u.ousted += ousted
			}
		}
	}
	return u
}

// family returns a process and its children.
func family(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range lists {
		b, _ := os.ReadFile(name)
		for _, word := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

func (u usage) add(o usage) usage {
	return usage{u.time + o.time, u.cpu + o.cpu, u.runs + o.runs, u.ousted + o.ousted}
}

func (u usage) sub(o usage) usage {
	return usage{u.time - o.time, u.cpu - o.cpu, u.runs - o.runs, u.ousted - o.ousted}
}

// String returns the usage per second.
func (u usage) String() string {
	s := u.time.Seconds()
	return fmt.Sprintf("%.2f ms of a processor per second, scheduled %.0f times, preempted %.0f times",
		u.cpu.Seconds()*1e3/s, float64(u.runs)/s, float64(u.ousted)/s)
}
