package conform

import (
	"context"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

// avEvents inserts asynchronously (fi_av(3), FI_EVENT).
func avEvents(t *testing.T, st Stack) {
	p := Open(t, st)
	a := p.A
	av := must(t, "OpenAV", func() (*core.AddressVector, error) { return a.Domain.OpenAV(core.AVAttr{Flags: core.AVEvent}) })
	list := []core.Addr{p.B.Addr, {}, a.Addr}
	fi := make([]core.FIAddr, len(list))
	_, err := av.Insert(list, fi, 0, "early")
	refuse(t, "insertion without event queue", err, core.ErrNoEQ)
	eq := must(t, "OpenEQ", func() (*core.EventQueue, error) { return a.Fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}) })
	refuse(t, "BindEQ with a flag", av.BindEQ(eq, core.BindWrite), core.ErrBadFlags)
	a.ok("BindEQ", av.BindEQ(eq, 0))
	refuse(t, "Close of the bound event queue", eq.Close(), core.ErrBusy)
	refuse(t, "BindEQ of a synchronous vector", a.AV.BindEQ(eq, 0), core.ErrInval)

	if n, err := av.Insert(list, fi, 0, "list"); n != 0 || err != nil {
		t.Fatalf("Insert: %d, %v; want 0 at once", n, err)
	}
	if n, err := av.InsertSym("127.0.0.1", 0, "1", 1, nil, 0, 2); n != 0 || err != nil {
		t.Fatalf("InsertSym: %d, %v; want 0 at once", n, err)
	}
	if _, err := av.InsertSvc("no.such.host.invalid", "7471", 0, 3); err != nil {
		t.Fatalf("InsertSvc: %v; want its failure as an event", err)
	}
	refused := func(index uint64, ctx any) {
		t.Helper()
		var e core.EQErrEntry
		waitEQ(t, eq, core.ErrAvail)
		a.ok("ReadErr", eq.ReadErr(&e, 0))
		if e.Err == 0 || e.Data != index || e.Context != ctx || e.Object != core.Object(av) {
			t.Errorf("refused address: %+v; want position %d and context %v", e, index, ctx)
		}
	}
	done := func(n uint64, ctx any) {
		t.Helper()
		if ev := waitEQ(t, eq, nil); ev.Type != core.EventAVComplete || ev.Data != n ||
			ev.Context != ctx || ev.Object != core.Object(av) {
			t.Errorf("event %+v; want EventAVComplete of %d, context %v", ev, n, ctx)
		}
	}
	refused(1, "list")
	done(2, "list")
	if fi[0] != 0 || fi[1] != core.AddrNotAvail || fi[2] != 1 {
		t.Errorf("indices %v; want 0, AddrNotAvail, 1", fi)
	}
	done(0, 2)
	refused(0, 3)
	done(0, 3)
	a.ok("Close after the last event", av.Close())
	a.ok("Close EQ", eq.Close())
}

// waitEQ waits for the next event of a queue, or for the error want.
func waitEQ(t *testing.T, eq *core.EventQueue, want error) (ev core.EQEvent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*Deadline) // names are resolved, which may take long
	defer cancel()
	begin := time.Now()
	if err := eq.SRead(ctx, &ev, 0); err != want && !errors.Is(err, want) {
		t.Fatalf("SRead after %v: %v, want %v", time.Since(begin), err, want)
	}
	return ev
}
