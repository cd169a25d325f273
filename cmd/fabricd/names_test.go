package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestShortened: tables show long names without their middle, and short names in full.
func TestShortened(t *testing.T) {
	for _, name := range []string{"job/1", strings.Repeat("ä", nameWidth)} {
		if got := shortened(name); got != name {
			t.Errorf("%q is %q", name, got)
		}
	}
	long := "begin/" + strings.Repeat("ä", 500) + "/end"
	if got := shortened(long); utf8.RuneCountInString(got) != nameWidth || !strings.HasPrefix(got, "begin/") ||
		!strings.HasSuffix(got, "/end") {
		t.Errorf("%q has %d letters", got, utf8.RuneCountInString(got))
	}
}
