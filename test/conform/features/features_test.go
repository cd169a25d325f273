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
	msg, rdm, rxm, rxd, dgram := record.New(), record.New(), record.New(), record.New(), record.New()
	t.Run("stacks", func(t *testing.T) { runStacks(t, msg, rdm, rxm, rxd, dgram) })
	if t.Failed() || !everything() {
		t.Log("not all of the suite has passed: nothing to compare the page with")
		return
	}
	sections, err := api()
	if err != nil {
		t.Fatal(err)
	}
	text, holes := page(sections, []*column{{"tcp MSG", false, msg.Results()}, {"tcp RDM", true, rdm.Results()}, {"tcp;ofi_rxm", true, rxm.Results()},
		{"udp;ofi_rxd", true, rxd.Results()}, {"udp DGRAM", false, dgram.Results()}})
	for _, h := range holes {
		t.Errorf("no test shows %s", h)
	}
	compare(t, text)
}

// runStacks runs the suite over all stacks, and has what it shows written down.
func runStacks(t *testing.T, msg, rdm, rxm, rxd, dgram *record.Recorder) {
	over := func(st conform.Stack, rec *record.Recorder, params map[string]string) {
		st.Record = rec
		st.Name = strings.NewReplacer(";", "-", " ", "-").Replace(st.Name)
		t.Run(st.Name, func(t *testing.T) {
			conform.RunTogether(t, conform.Over(t, st, params))
			if st.EPType == core.EPTypeMsg { // what it shows is written down in the same place
				srx := st
				srx.SharedRx, srx.Caps = true, conform.RDMCaps
				t.Run("srx", func(t *testing.T) { conform.Run(t, conform.Over(t, srx, params)) })
			}
		})
	}
	over(conform.Stack{Name: "tcp msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, msg, nil)
	over(conform.Stack{Name: "tcp rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, rdm, nil)
	over(conform.Stack{Name: "tcp;ofi_rxm", Provider: "tcp;ofi_rxm", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, rxm, nil)
	over(conform.Stack{Name: "udp;ofi_rxd", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM, Caps: conform.RXDCaps}, rxd,
		map[string]string{"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000", "FI_OFI_RXD_LINGER": "300"})
	over(conform.Stack{Name: "udp dgram", Provider: "udp", EPType: core.EPTypeDgram, Caps: core.CapMsg}, dgram, nil)
}

// everything reports whether no part of the suite was left out by -run or -skip.
func everything() bool {
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	return skip == "" && !strings.Contains(run, "/")
}

// compare writes the page, or compares it with the committed one, but for the last column: themes may see more of a thing one day than the other.
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
			t.Errorf("%s:%d says\n\t%s\nthe suite shows\n\t%s", committed, i+1, a, b)
		}
	}
	if differ > 0 {
		t.Errorf("%d lines of %s are not what the suite shows; write it anew with -features %s", differ, committed, committed)
	}
}

// claim is a line without the column of themes.
func claim(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	if l := lines[i]; strings.HasPrefix(l, "| ") {
		return l[:strings.LastIndex(strings.TrimRight(l, " |"), "|")+1]
	}
	return lines[i]
}
