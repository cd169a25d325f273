package strict

import (
	"errors"
	"testing"

	"gofabric/core"
)

// TestCounter: each call that reads a counter makes progress, so that held operations leave.
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

// TestCounters: a domain opens as many counters as the adapter has.
func TestCounters(t *testing.T) {
	if _, err := newBelow(t, Kind{CntrCnt: none}).d.OpenCounter(core.CntrAttr{}, nil); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("a counter of an adapter without counters: %v", err)
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
		t.Errorf("a third counter of two: %v", err)
	}
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.OpenCounter(core.CntrAttr{}, nil); err != nil {
		t.Errorf("a counter after another was closed: %v", err)
	}
}
