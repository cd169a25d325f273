package features

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"gofabric/test/need"
)

// Calls in the headers that do not belong to the interface: retired ones, and helpers for implementers.
var notListed = []string{"fi_bind"}

// TestComplete checks that every call in the headers of an installed libfabric has a row.
func TestComplete(t *testing.T) {
	sections, err := api()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, s := range sections {
		for _, r := range s.rows {
			if have[r.label] {
				t.Errorf("%s: two rows of one name", r.label)
			}
			have[r.label] = true
		}
	}
	headers, _ := filepath.Glob("/usr/include/rdma/fi_*.h")
	if len(headers) > 0 {
		headers = append(headers, "/usr/include/rdma/fabric.h")
	}
	if len(headers) == 0 {
		need.Missing(t, "there are no headers of libfabric: apt install libfabric-dev")
	}
	call := regexp.MustCompile(`(?m)^(?:static inline .*[ *]|[a-z].*[ *])?(fi_[a-z0-9_]+)\(`)
	for _, h := range headers {
		text, err := os.ReadFile(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if !have[m[1]] && !slices.Contains(notListed, m[1]) {
				t.Errorf("%s has %s, but the page does not", filepath.Base(h), m[1])
			}
		}
	}
}
