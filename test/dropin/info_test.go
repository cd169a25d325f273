package dropin

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gofabric/internal/version"
	"gofabric/test/program"
)

// This file runs Debian's fi_info on the library, and compares it with ofi info of this module.

// builtOFI is the path of ofi, built once for all tests.
var builtOFI = sync.OnceValues(func() (string, error) {
	return filepath.Join(work, "ofi"), program.Build(work, "gofabric/cmd/ofi")
})

// fiInfo returns what ofi info of this module prints, in native's form.
func fiInfo(t *testing.T, args ...string) string {
	t.Helper()
	path, err := builtOFI()
	if err != nil {
		t.Fatal(err)
	}
	return finish(t, nil, path, append([]string{"info"}, args...)...)
}

func TestInfoVersion(t *testing.T) {
	needs(t, "fi_info")
	if out := finish(t, onOurs(t), "fi_info",
		"--version"); !strings.Contains(out, "libfabric: "+version.Library()+"\n") {
		t.Fatalf("fi_info runs on another library:\n%s", out)
	}
}

// TestInfo compares the short form.
func TestInfo(t *testing.T) {
	needs(t, "fi_info")
	for _, args := range [][]string{nil, {"-p", "tcp"}, {"-p", "udp;ofi_rxd"}, {"-t", "FI_EP_MSG"},
		{"-c", "FI_TAGGED|FI_ATOMIC"}, {"-s", "127.0.0.1"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			got, want := finish(t, onOurs(t), "fi_info", args...), fiInfo(t, args...)
			if got != want {
				t.Errorf("fi_info on the library:\n%s\nofi info:\n%s", got, want)
			}
		})
	}
}

// TestInfoVerbose compares the long form line by line, except for what a program of API 1.17 sees differently.
func TestInfoVerbose(t *testing.T) {
	needs(t, "fi_info")
	args := []string{"-v", "-s", "127.0.0.1", "-p", "tcp"}
	got, want := attributes(finish(t, onOurs(t), "fi_info", args...)), attributes(fiInfo(t, args...))
	if len(got) < 40 {
		t.Fatalf("found only %d attributes", len(got))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if name != "api_version" && !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: %q, ofi info prints %q", name, got[name], want[name])
		}
	}
}

// attributes returns the values of each name, in order.
func attributes(text string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = append(m[name], strings.TrimSpace(value))
		}
	}
	return m
}

// TestInfoLists checks the lists of providers and of variables.
func TestInfoLists(t *testing.T) {
	needs(t, "fi_info")
	list := finish(t, onOurs(t), "fi_info", "-l")
	for _, p := range []string{"tcp", "udp", "ofi_rxm", "ofi_rxd"} {
		if !strings.Contains(list, p+":\n    version: ") {
			t.Errorf("fi_info -l has no %s:\n%s", p, list)
		}
	}
	vars := finish(t, append(onOurs(t), "FI_UNIVERSE_SIZE=77"), "fi_info", "-e")
	for _, want := range []string{"# FI_PROVIDER: String\n", "# FI_UNIVERSE_SIZE: size_t\n", "FI_UNIVERSE_SIZE=\x0077\x00\n" /* sic */} {
		if !strings.Contains(vars, want) {
			t.Errorf("fi_info -e has no %q:\n%s", want, vars)
		}
	}
}
