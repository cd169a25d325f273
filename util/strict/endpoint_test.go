package strict

import (
	"errors"
	"testing"

	"gofabric/core"
)

// TestEnabled: the calls that enable an endpoint enable it only if they succeed.
func TestEnabled(t *testing.T) {
	for name, call := range map[string]func(e *endpoint) error{
		"enable":  (*endpoint).Enable,
		"connect": func(e *endpoint) error { return e.Connect(core.Addr{}, nil) },
		"accept":  func(e *endpoint) error { return e.Accept(nil) },
	} {
		for _, fail := range []error{nil, core.ErrNoCQ} {
			e, f := newBelow(t, Kind{}).over()
			f.fail = fail
			if err := call(e); err != fail || e.s.enabled.Load() != (fail == nil) {
				t.Errorf("%s: %v, enabled: %v; below: %v", name, err, e.s.enabled.Load(), fail)
			}
		}
	}
}

// TestFlags: an alias has its own flags, and shares everything else. FI_SETOPSFLAG changes the flags of one
// direction, if the endpoint below accepts them.
func TestFlags(t *testing.T) {
	e, f := newBelow(t, Kind{}).over()
	want := func(what string, e *endpoint, tx, rx core.OpFlags) {
		t.Helper()
		if e.txFlags != tx || e.rxFlags != rx {
			t.Errorf("%s: flags %v and %v, want %v and %v", what, e.txFlags, e.rxFlags, tx, rx)
		}
	}
	want("opened", e, core.OpCompletion, core.OpMultiRecv)
	opened, err := e.Alias(core.BindTransmit, core.OpFence)
	if err != nil {
		t.Fatal(err)
	}
	a := opened.(*endpoint)
	want("an alias for transmits", a, core.OpFence, core.OpMultiRecv)
	if a.s != e.s || a.below == e.below {
		t.Error("the alias does not share its endpoint's state, or posts to the endpoint below")
	}
	if opened, err = e.Alias(core.BindRecv, 0); err != nil {
		t.Fatal(err)
	}
	want("an alias for receives", opened.(*endpoint), core.OpCompletion, 0)
	if err := a.SetOpFlags(core.BindTransmit, core.OpInject); err != nil {
		t.Error(err)
	}
	if err := a.SetOpFlags(core.BindRecv, 0); err != nil {
		t.Error(err)
	}
	want("set", a, core.OpInject, 0)
	want("its endpoint", e, core.OpCompletion, core.OpMultiRecv)
	f.fail = core.ErrBadFlags
	if err := e.SetOpFlags(core.BindTransmit, core.OpInject); err != core.ErrBadFlags {
		t.Error(err)
	}
	want("refused", e, core.OpCompletion, core.OpMultiRecv)
	if _, err := e.Alias(core.BindRecv, 0); err != core.ErrBadFlags {
		t.Errorf("an alias that the endpoint below refuses: %v", err)
	}
	if err := a.Close(); err != nil || e.s.closed.Load() {
		t.Errorf("closing an alias: %v, its endpoint is closed: %v", err, e.s.closed.Load())
	}
}

// TestLacks checks calls that the provider does not have.
func TestLacks(t *testing.T) {
	for _, c := range []struct {
		lacks Lack
		call  func(e *endpoint) error
		below error // the error of a provider that has the call
	}{
		{LacksAlias, func(e *endpoint) error { _, err := e.Alias(core.BindTransmit, 0); return err }, nil},
		{LacksCancel, func(e *endpoint) error { return e.Cancel(1) }, core.ErrNoEnt},
	} {
		e, _ := newBelow(t, Kind{Lacks: c.lacks}).over()
		if err := c.call(e); !errors.Is(err, core.ErrNoSys) {
			t.Errorf("lack %d: %v", c.lacks, err)
		}
		e, _ = newBelow(t, Kind{}).over()
		if err := c.call(e); !errors.Is(err, c.below) {
			t.Errorf("without lack %d: %v", c.lacks, err)
		}
	}
}

// TestClose: an endpoint is closed once, and stays open if the one below does. Held operations leave before, or are
// forgotten if they cannot leave.
func TestClose(t *testing.T) {
	b := newBelow(t, Kind{EPCnt: 1})
	e, f := b.over()
	if _, err := b.d.OpenEndpoint(b.d.info, nil); !errors.Is(err, core.ErrNoSpc) {
		t.Errorf("a second endpoint of an adapter with one: %v", err)
	}
	f.fail = core.ErrBusy
	if err := e.Close(); err != core.ErrBusy || e.s.closed.Load() || len(b.d.eps) != 1 {
		t.Errorf("closing an endpoint in use: %v, %d open", err, len(b.d.eps))
	}
	f.fail = nil
	b.hold(e)
	if err := e.Close(); err != nil || len(f.posted) != 1 || len(b.d.eps) != 0 || len(b.d.h.open) != 0 {
		t.Errorf("closing: %v, %d posted, %d open", err, len(f.posted), len(b.d.eps))
	}
	if err := e.Close(); !errors.Is(err, core.ErrBadF) {
		t.Errorf("closing again: %v", err)
	}
	e, f = b.over()
	f.full = core.ErrAgain
	b.hold(e)
	if err := e.Close(); err != nil || e.s.held != nil {
		t.Errorf("closing an endpoint without room: %v, held: %v", err, e.s.held)
	}
}

// TestShutdown: held operations leave before the connection ends.
func TestShutdown(t *testing.T) {
	b := newBelow(t, Kind{})
	e, f := b.over()
	b.hold(e)
	if err := e.Shutdown(); err != nil || len(f.posted) != 1 {
		t.Errorf("%v, %d posted", err, len(f.posted))
	}
}
