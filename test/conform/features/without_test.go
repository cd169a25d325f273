package features

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/test/conform"
	"gofabric/test/conform/record"
	"gofabric/test/need"
)

// A row says "yes" if a test fails without its feature (record.Recorder.Without), and "accepted" if none does. It
// takes an hour to find that out, because some themes must run again for each row. So accepted.txt lists the accepted
// rows, and TestWithout checks a sample of the list, or all rows.
//
//	go test ./test/conform/features -run 'TestWithout$' -sample 20          # rows chosen by -seed
//	GOFABRIC_MANY=1 go test -timeout 3h ./test/conform/features -run 'TestWithout$' -accepted test/conform/features/accepted.txt

var (
	sample = flag.Int("sample", 0,
		"number of rows whose features TestWithout takes away; 0: all with GOFABRIC_MANY, otherwise none")
	seed     = flag.Uint64("seed", 1, "seed that selects the rows of the sample")
	accepted = flag.String("accepted", "",
		"write the rows whose features no test misses to this file, a path from the root of the module")

	child     = flag.String("without", "", "internal: run the suite without this feature, a row of api.txt")
	childOver = flag.String("over", "", "internal: run the suite over this stack")
	themes    = flag.String("themes", "", "internal: run these themes")
)

// childLimit is the time limit of the suite without a feature. A test that waits longer has failed.
const childLimit = 90 * time.Second

// TestChild runs themes without a feature. TestWithout starts it.
func TestChild(t *testing.T) {
	if *child == "" {
		t.Skip("runs only as a child of TestWithout")
	}
	r, err := parseRow(*child)
	if err != nil {
		t.Fatal(err)
	}
	rec := record.New()
	rec.Without(r.key)
	conform.Deadline = 2 * time.Second
	for _, s := range stacks() {
		if s.column != *childOver {
			continue
		}
		for _, st := range s.variants() {
			st.Record, st.Only = rec, strings.Split(*themes, ",")
			t.Run(st.Name, func(t *testing.T) { conform.Run(t, conform.Over(t, st, s.params)) })
		}
	}
}

// TestWithout takes away features, one at a time, and checks whether a test fails.
func TestWithout(t *testing.T) {
	n := *sample
	if n == 0 && !need.Many() {
		t.Skip("it runs the suite again for each row: -sample N, or GOFABRIC_MANY=1 for all")
	}
	cols := show(t)
	if t.Failed() {
		return
	}
	rows := takeable(t)
	if n > 0 && n < len(rows) {
		rows = choose(rows, n, *seed)
	}
	known := acceptedRows(t)
	unnoticed := unnoticedOf(t, rows, cols)
	if *accepted != "" {
		writeAccepted(t, unnoticed)
		return
	}
	for _, r := range rows {
		switch no := slices.Contains(unnoticed, r.text); {
		case no && !known[r.text]:
			t.Errorf("%s: no test fails without it, but the page says yes", r.text)
		case !no && known[r.text]:
			t.Errorf("%s: a test fails without it: remove it from accepted.txt", r.text)
		}
	}
}

// takeable returns the rows whose features can be taken away. Default values cannot.
func takeable(t *testing.T) (rows []*row) {
	sections, err := api()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		for _, r := range s.rows {
			if !r.isDefault() {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// choose returns n rows at equal distances. The seed determines the first.
func choose(rows []*row, n int, seed uint64) (some []*row) {
	step := len(rows) / n
	for i := range n {
		some = append(some, rows[(i*step+int(seed%uint64(step)))%len(rows)])
	}
	return some
}

// unnoticedOf returns the rows without whose features all tests pass that have shown them.
func unnoticedOf(t *testing.T, rows []*row, cols []*column) (unnoticed []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	busy := make(chan struct{}, 2)
	for _, r := range rows {
		column, shown := "", []string(nil)
		for _, c := range preferred(cols) {
			if o := c.results[r.key]; o.Works() && !o.Checked {
				column, shown = c.name, o.Themes
				break
			}
		}
		if column == "" {
			continue
		}
		busy <- struct{}{}
		wg.Go(func() {
			defer func() { <-busy }()
			start := time.Now()
			noticed := suiteFails(r.text, column, shown)
			t.Logf("%s over %s: noticed %v, %.1f s", r.text, column, noticed, time.Since(start).Seconds())
			if !noticed {
				mu.Lock()
				unnoticed = append(unnoticed, r.text)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return unnoticed
}

// preferred moves the stack with the most features to the front.
func preferred(cols []*column) []*column {
	return append([]*column{cols[1], cols[0]}, cols[2:]...)
}

// suiteFails reports whether a theme fails without the feature.
func suiteFails(row, column string, shown []string) bool {
	for _, theme := range shown {
		ctx, cancel := context.WithTimeout(context.Background(), childLimit)
		c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$", "-test.failfast", "-without", row,
			"-over", column, "-themes", theme)
		err := c.Run()
		cancel()
		if err != nil {
			return true
		}
	}
	return false
}

// acceptedRows reads the list of rows whose features no test misses.
func acceptedRows(t *testing.T) map[string]bool {
	rows, err := readAccepted()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func writeAccepted(t *testing.T, rows []string) {
	slices.Sort(rows)
	f, err := os.Create(filepath.Join("..", "..", "..", *accepted))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "; Rows of api.txt without whose feature all tests pass: stacks accept them, and no test can tell more. Written by TestWithout.")
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestChoose checks the size of samples, and that seeds select different rows.
func TestChoose(t *testing.T) {
	var rows []*row
	for i := range 100 {
		rows = append(rows, &row{text: strconv.Itoa(i)})
	}
	a, b := choose(rows, 10, 1), choose(rows, 10, 2)
	if len(a) != 10 || len(b) != 10 || a[0] == b[0] {
		t.Errorf("%d and %d rows", len(a), len(b))
	}
}
