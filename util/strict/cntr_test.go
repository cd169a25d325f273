package strict

import (
	"errors"
	"testing"

	"gofabric/core"
)

// TestCounter: each way to look at a counter makes progress, so that what is held back leaves.
func TestCounter(t *testing.T) {
	for name, look := range map[string]func(c *counter) error{
		"value": func(c *counter) error { c.Value(); return nil },
		"wait":  func(c *counter) error { return c.Wait(t.Context(), 1) },
		"ready": func(c *counter) error { _, err := c.Ready(false); return err },
	} {
		b := newBelow(t, Kind{})
		e, f := b.over()
		c, err := b.d.OpenCounter(core.CntrAttr{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.hold(e)
		if err := look(c.(*counter)); (err != nil) != (name == "wait") {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.posted) != 1 || e.s.held != nil {
			t.Errorf("%s: %d posted", name, len(f.posted))
		}
	}
}

// TestCounters: there are as many as the adapter has.
func TestCounters(t *testing.T) {
	if _, err := newBelow(t, Kind{CntrCnt: none}).d.OpenCounter(core.CntrAttr{}, nil); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("where there are none: %v", err)
	}
	d := newBelow(t, Kind{CntrCnt: 2}).d
	var last core.CounterDriver
	for range 2 {
		var err error
		if last, err = d.OpenCounter(core.CntrAttr{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.OpenCounter(core.CntrAttr{}, nil); !errors.Is(err, core.ErrNoSpc) {
		t.Errorf("a third of two: %v", err)
	}
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.OpenCounter(core.CntrAttr{}, nil); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
}
