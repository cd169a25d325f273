package chaos

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
)

// Counts of faults and of events.

// count is a kind of fault.
type count int

const (
	lost count = iota
	duplicated
	altered
	disordered
	hung
	leaked
	counts
)

var countNames = [counts]string{"lost", "duplicated", "altered", "disordered", "hung", "leaked"}

// totals holds the counts of a stack.
type totals struct {
	t      *testing.T
	quiet  bool // set by tests of the harness: a fault does not fail the test
	counts [counts]int
	told   int

	events   map[eventKind]int // of the schedule
	messages int               // received
	bytes    uint64
	posted   int
	failed   int
	levels   [levels]int // messages that have completed
}

// toldMost is how many faults are printed in full.
const toldMost = 40

// fault counts a fault.
func (y *totals) fault(c count, format string, args ...any) {
	y.counts[c]++
	if y.quiet {
		return
	}
	y.t.Helper()
	y.told++
	if y.told <= toldMost {
		y.t.Errorf(countNames[c]+": "+format, args...)
	} else {
		y.t.Fail()
	}
}

// bad returns the number of faults.
func (y *totals) bad() (n int) {
	for _, k := range y.counts {
		n += k
	}
	return n
}

// row is a line of the table.
type row struct {
	name string
	totals
}

var (
	rowsMu sync.Mutex
	rows   []row
)

func addRow(name string, y *totals) {
	rowsMu.Lock()
	defer rowsMu.Unlock()
	rows = append(rows, row{name, *y})
}

// table returns all rows.
func table(seed uint64) string {
	rowsMu.Lock()
	defer rowsMu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-26s", fmt.Sprintf("seed %d", seed))
	columns := []eventKind{evKill, evExit, evClose, evShutdown, evStop, evLink,
		evHalfOpen, evExhaust, evMemory, evClient}
	for _, c := range columns {
		fmt.Fprintf(&b, " %9s", c.plural())
	}
	fmt.Fprintf(&b, " %9s %9s", "messages", "MiB")
	for _, name := range countNames {
		fmt.Fprintf(&b, " %10s", name)
	}
	b.WriteByte('\n')
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].name < rows[j].name })
	for _, r := range rows {
		fmt.Fprintf(&b, "%-26s", r.name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %9d", r.events[c])
		}
		fmt.Fprintf(&b, " %9d %9d", r.messages, r.bytes>>20)
		for _, n := range r.counts {
			fmt.Fprintf(&b, " %10d", n)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
