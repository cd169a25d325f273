package features

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/conform/record"
)

var write = flag.String("features", "", "write the page to this file, a path from the root of the module")

const committed = "docs/features.md"

func TestMain(m *testing.M) { conform.Main(m) }

// TestFeatures runs the suite and compares the page with what it shows.
func TestFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("other packages run the suite over the same stacks")
	}
	cols := show(t)
	if t.Failed() || !everything() {
		t.Log("a part of the suite did not run or failed: the page cannot be compared")
		return
	}
	sections, err := api()
	if err != nil {
		t.Fatal(err)
	}
	known, err := readAccepted()
	if err != nil {
		t.Fatal(err)
	}
	text, holes := page(sections, cols, known)
	for _, h := range holes {
		t.Errorf("no test shows %s", h)
	}
	compare(t, text)
}

// stack is a column of the page.
type stack struct {
	column   string
	reliable bool // every row without an explanation must work on it
	of       conform.Stack
	params   map[string]string
}

func stacks() []stack {
	return []stack{
		{"tcp MSG", false, conform.Stack{Name: "tcp msg", Provider: "tcp",
			EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, nil},
		{"tcp RDM", true, conform.Stack{Name: "tcp rdm", Provider: "tcp",
			EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil},
		{"tcp;ofi_rxm", true, conform.Stack{Name: "tcp-ofi_rxm", Provider: "tcp;ofi_rxm",
			EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil},
		{"udp;ofi_rxd", true, conform.Stack{Name: "udp-ofi_rxd", Provider: "udp;ofi_rxd",
			EPType: core.EPTypeRDM, Caps: conform.RXDCaps},
			map[string]string{"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000",
				"FI_OFI_RXD_PEER_TIMEOUT": "3000", "FI_OFI_RXD_LINGER": "5000"}},
		{"udp DGRAM", false, conform.Stack{Name: "udp dgram", Provider: "udp",
			EPType: core.EPTypeDgram, Caps: core.CapMsg}, nil},
	}
}

// variants returns the stacks of a column. Connected endpoints also receive through shared contexts, and both count
// for the same column.
func (s *stack) variants() []conform.Stack {
	if s.of.EPType != core.EPTypeMsg {
		return []conform.Stack{s.of}
	}
	srx := s.of
	srx.Name, srx.SharedRx, srx.Caps = s.of.Name+" srx", true, conform.RDMCaps
	return []conform.Stack{s.of, srx}
}

// run runs the suite. rec records what it shows.
func (s *stack) run(t *testing.T, rec *record.Recorder) {
	all := s.variants()
	for i := range all {
		all[i].Record = rec
	}
	t.Run(s.of.Name, func(t *testing.T) {
		conform.RunParallel(t, conform.Over(t, all[0], s.params))
		for _, st := range all[1:] {
			t.Run(st.Name, func(t *testing.T) { conform.Run(t, conform.Over(t, st, s.params)) })
		}
	})
}

// show runs the suite over all stacks and returns what it shows.
func show(t *testing.T) (cols []*column) {
	t.Run("stacks", func(t *testing.T) {
		for _, s := range stacks() {
			rec := record.New()
			s.run(t, rec)
			cols = append(cols, &column{s.column, s.reliable, rec.Results()})
		}
	})
	return cols
}

// everything reports whether -run and -skip have left out no part of the suite.
func everything() bool {
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	return skip == "" && !strings.Contains(run, "/")
}

// compare writes the page, or compares it with the committed one, except for the last column: the themes that show a
// feature can differ between runs.
func compare(t *testing.T, text string) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	if *write != "" {
		if err := os.WriteFile(filepath.Join(root, *write), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(filepath.Join(root, committed))
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(old), "\n"), strings.Split(text, "\n")
	differ := 0
	for i := range max(len(was), len(is)) {
		a, b := claim(was, i), claim(is, i)
		if a == b {
			continue
		}
		if differ++; differ <= 10 {
			t.Errorf("%s:%d says\n\t%s\nbut the suite shows\n\t%s", committed, i+1, a, b)
		}
	}
	if differ > 0 {
		t.Errorf("%d lines of %s differ from what the suite shows; write the page again with -features %s", differ,
			committed, committed)
	}
}

// claim returns a line without the column of themes.
func claim(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	if l := lines[i]; strings.HasPrefix(l, "| ") {
		return l[:strings.LastIndex(strings.TrimRight(l, " |"), "|")+1]
	}
	return lines[i]
}
