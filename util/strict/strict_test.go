package strict

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

// TestNames: the parameter's text lists the existing profiles, and so does the error for an unknown one.
func TestNames(t *testing.T) {
	if got := strings.Join(names(), ", "); got != core.StrictProfiles {
		t.Errorf("profiles %q, the parameter's text has %q", got, core.StrictProfiles)
	}
	set := func(v string) *core.Params {
		p, err := core.NewParams(func(n string) (string, bool) { return v, n == "FI_STRICT" }, "")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, err := New(set("infiniband"), nil); !errors.Is(err, core.ErrInval) ||
		!strings.Contains(err.Error(), core.StrictProfiles) {
		t.Errorf("unknown profile: %v", err)
	}
	if o, err := New(set("off"), nil); o != nil || err != nil {
		t.Errorf("off: %v, %v", o, err)
	}
	if o, err := New(set("VERBS"), nil); o == nil || err != nil {
		t.Errorf("VERBS: %v, %v", o, err)
	}
}
