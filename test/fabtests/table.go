package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// row is a test with its outcomes.
type row struct {
	stack        string
	test         test
	ours, native outcome
}

type table struct {
	rows     []row
	markdown bool
	native   bool
	worse    int // tests that fail on ours and not on native
}

func (t *table) add(stack string, test test, ours, native outcome) {
	t.rows = append(t.rows, row{stack, test, ours, native})
	if bad(ours) && !bad(native) {
		t.worse++
	}
}

func bad(o outcome) bool { return o.result == fail || o.result == hang }

// group is a list of tests on a stack.
type group struct{ stack, list string }

// print prints the number of tests that pass, fail and do not run, by stack and list, then each test that did not pass
// on ours.
func (t *table) print(w io.Writer) {
	sums := map[group]map[string]int{}
	var groups []group
	for _, r := range t.rows {
		g := group{r.stack, r.test.kind}
		if sums[g] == nil {
			sums[g] = map[string]int{}
			groups = append(groups, g)
		}
		sums[g]["ours "+r.ours.result]++
		sums[g]["native "+r.native.result]++
	}
	head := []string{"stack", "list", "pass", "fail", "hang", "not run"}
	if t.native {
		head = append(head, "native: pass", "fail", "hang", "not run")
	}
	var lines [][]string
	for _, g := range groups {
		line := []string{g.stack, g.list}
		for _, who := range []string{"ours ", "native "}[:1+btoi(t.native)] {
			for _, result := range []string{pass, fail, hang, notRun} {
				line = append(line, fmt.Sprint(sums[g][who+result]))
			}
		}
		lines = append(lines, line)
	}
	t.write(w, head, lines)
	fmt.Fprintln(w)
	head, lines = []string{"stack", "test", "ours"}, nil
	if t.native {
		head = append(head, "native")
	}
	for _, r := range t.rows {
		if r.ours.result != pass {
			line := []string{r.stack, r.test.line, r.ours.result}
			if t.native {
				line = append(line, r.native.result)
			}
			lines = append(lines, line)
		}
	}
	t.write(w, head, lines)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *table) write(w io.Writer, head []string, lines [][]string) {
	if len(lines) == 0 {
		return
	}
	sep, end := "\t", ""
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if t.markdown {
		sep, end = " | ", " |"
	}
	row := func(cells []string) {
		for i, c := range cells {
			if i > 0 || t.markdown {
				fmt.Fprint(out, sep[btoi(t.markdown && i == 0):])
			}
			fmt.Fprint(out, c)
		}
		fmt.Fprintln(out, end)
	}
	row(head)
	if t.markdown {
		rule := make([]string, len(head))
		for i := range rule {
			rule[i] = "---"
		}
		row(rule)
	}
	for _, l := range lines {
		row(l)
	}
	out.Flush()
}
