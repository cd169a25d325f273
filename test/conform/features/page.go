package features

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gofabric/core"
	"gofabric/test/conform/record"
)

// column is a stack of the page.
type column struct {
	name     string
	reliable bool // every row without an explanation must work on it
	results  map[record.Key]*record.Outcome
}

// cell returns the entry of a row for a stack: "yes", "accepted", the error that calls return, or a dash if no test
// shows anything.
func (c *column) cell(r *row, accepted bool) string {
	o := c.results[r.key]
	switch {
	case o.Works() && accepted:
		return "accepted"
	case o.Works():
		return "yes"
	case o == nil || len(o.Refused) == 0:
		return "–"
	}
	for _, e := range []core.Errno{core.ErrNoSys, core.ErrOpNotSupp, core.ErrNoProtoOpt, core.ErrNoData,
		core.ErrInval, core.ErrBadFlags} {
		if slices.Contains(o.Refused, e) {
			return e.Name()
		}
	}
	return "–"
}

const head = `# Features

This page lists what the tests show of libfabric's interface, stack by stack. Running the conformance suite generates
it:

    %s

A test fails if the page differs from what the suite shows. A recorder above each stack notes every call, flag and value
that a test uses, and its result. A note counts if the test passes. The last column names the themes of the tests
(%s).

| cell | meaning |
|---|---|
| **yes** | a test uses the feature, and a test fails when the feature is taken away: the call does nothing, the flag or value does not reach the stack |
| **accepted** | stacks accept it and everything else works beside it, but no test can tell it from a stack that ignores it. Most of these are declarations: the application says what it can cope with, or asks for what every stack does anyway |
| **an error** | all uses in tests ended with this error, as they should |
| **–** | there is nothing to call, or it has no meaning on that type of endpoint |

A row that does not work on all of tcp RDM, tcp;ofi_rxm and udp;ofi_rxd has a note with the reason, by libfabric's own
definition. No other row may be refused there. tcp MSG covers endpoints with a receive queue of their own and with
shared ones. Peers are gofabric's; docs/wire describes what works with native peers.
`

// page renders the page. It also lists the cells that need an explanation and have none.
func page(sections []section, cols []*column, accepted map[string]bool) (text string, holes []string) {
	var b strings.Builder
	fmt.Fprintf(&b, head, "go test ./test/conform/features -features docs/features.md", "`test/conform`")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| |", s.title)
		for _, c := range cols {
			fmt.Fprintf(&b, " %s |", c.name)
		}
		b.WriteString(" shown by |\n|---|" + strings.Repeat("---|", len(cols)+1) + "\n")
		var notes []string
		for _, r := range s.rows {
			label, open := r.label, false
			var themes []string
			var cells strings.Builder
			for _, c := range cols {
				v := c.cell(r, accepted[r.text] || r.isDefault())
				fmt.Fprintf(&cells, " %s |", v)
				if v != "yes" && v != "accepted" && c.reliable {
					open = true
					if r.why == "" {
						holes = append(holes, fmt.Sprintf("%s on %s: %s", r.label, c.name, v))
					}
				}
				if o := c.results[r.key]; o.Works() {
					themes = union(themes, o.Themes)
				}
			}
			why := r.note
			if open {
				why = r.why
			}
			if why != "" {
				notes = note(notes, why)
				label += fmt.Sprintf(" (%d)", slices.Index(notes, why)+1)
			}
			fmt.Fprintf(&b, "| %s |%s %s |\n", label, cells.String(), some(themes))
		}
		for i, n := range notes {
			b.WriteString("\n" + wrap(fmt.Sprintf("(%d) %s", i+1, n)) + "\n")
		}
	}
	return b.String(), holes
}

// note adds a note unless it is there already.
func note(notes []string, n string) []string {
	if slices.Contains(notes, n) {
		return notes
	}
	return append(notes, n)
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// some returns the first themes of a list.
func some(themes []string) string {
	if len(themes) > 3 {
		return strings.Join(themes[:3], ", ") + ", ..."
	}
	return strings.Join(themes, ", ")
}

// wrap breaks text into lines of at most 120 characters.
func wrap(text string) string {
	var lines []string
	for _, w := range strings.Fields(text) {
		if n := len(lines) - 1; n >= 0 && utf8.RuneCountInString(lines[n])+1+utf8.RuneCountInString(w) <= 120 {
			lines[n] += " " + w
		} else {
			lines = append(lines, w)
		}
	}
	return strings.Join(lines, "\n")
}
