package cost

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what processes have used of the machine in a time: processors, how often their threads were put on one, and how often another took it away from them.
// All is 0 where there is no /proc.
type usage struct {
	time, cpu    time.Duration
	runs, ousted int
}

// userHz is the unit of /proc/stat, in which processors' times are told: a hundredth of a second on all that Go runs on (proc_stat(5)).
const userHz = time.Second / 100

// busy is how long all processors have been at work.
func busy() (d time.Duration) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	for i, word := range strings.Fields(line) {
		if n, err := strconv.Atoi(word); err == nil && i != 4 && i != 5 && i < 9 { // idle, waiting for disks; guests are in others
			d += time.Duration(n) * userHz
		}
	}
	return d
}

// usageOf adds up all threads of processes.
func usageOf(pids ...int) (u usage) {
	u.time = time.Duration(time.Now().UnixNano()) // of two of them the difference counts
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

// family is a process and those that it has started.
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

// String is the usage in a second.
func (u usage) String() string {
	s := u.time.Seconds()
	return fmt.Sprintf("%.2f ms of a processor in a second, put on one %.0f times, driven off %.0f", u.cpu.Seconds()*1e3/s, float64(u.runs)/s, float64(u.ousted)/s)
}
