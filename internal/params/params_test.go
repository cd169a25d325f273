package params

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gofabric/core"
)

var defs = []core.Param{
	{Provider: "p", Name: "n", Type: core.ParamInt, Default: "3"},
	{Provider: "p", Name: "s", Type: core.ParamSize, Default: "-1"},
	{Provider: "p", Name: "on", Type: core.ParamBool, Default: "1"},
	{Provider: "p", Name: "wait", Type: core.ParamInt, Default: "20"},
	{Provider: "p", Name: "text", Type: core.ParamString, Default: "a b"},
}

func TestDefaults(t *testing.T) {
	r := Read(nil, "p", defs)
	if n, s := r.Int("n", 0, 3), r.Size("s", 1, core.MaxSize); n != 3 || s != core.MaxSize {
		t.Errorf("%d, %d", n, s)
	}
	if on, wait, text := r.Bool("on"), r.Millis("wait", 0), r.String("text"); !on || wait != 20*time.Millisecond ||
		text != "a b" {
		t.Errorf("%v, %v, %q", on, wait, text)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

// TestFirstError: the first bad variable is the error of all, in words that name it.
func TestFirstError(t *testing.T) {
	for name, value := range map[string]string{"FI_P_N": "4", "FI_P_S": "x", "FI_P_ON": "perhaps", "FI_P_WAIT": "-1"} {
		store, err := core.NewParams(func(n string) (string, bool) { return value, n == name }, "")
		if err != nil {
			t.Fatal(err)
		}
		r := Read(store, "p", defs)
		r.Int("n", 0, 3)
		r.Size("s", 0, core.MaxSize)
		r.Bool("on")
		r.Millis("wait", 0)
		r.Fail(errors.New("another"))
		if err := r.Err(); !errors.Is(err, core.ErrInval) || err == nil || !strings.Contains(err.Error(), name) &&
			!strings.Contains(err.Error(), "another") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}
