package conform

// Event queues by themselves (fi_eq(3)).

import (
	"errors"
	"testing"

	"gofabric/core"
)

// eqObject checks an event queue by itself: Write, Peek, ErrAgain.
func eqObject(t *testing.T, st Stack) {
	p := Open(t, st)
	eq := p.A.EQ
	var ev core.EQEvent
	if err := eq.Read(&ev, 0); !errors.Is(err, core.ErrAgain) {
		t.Fatalf("Read of nothing: %v; want ErrAgain", err)
	}
	if err := eq.ReadErr(&core.EQErrEntry{}, 0); !errors.Is(err, core.ErrAgain) {
		t.Errorf("ReadErr of nothing: %v; want ErrAgain", err)
	}
	for i := range uint64(3) {
		p.A.ok("Write", eq.Write(core.EQEvent{Type: core.EventNotify, Data: i, Context: "mine"}, 0))
	}
	for i := range uint64(3) {
		for _, f := range []core.Flags{core.Peek, core.Peek, 0} {
			if err := eq.Read(&ev, f); err != nil || ev.Type != core.EventNotify || ev.Data != i || ev.Context != "mine" {
				t.Fatalf("Read(%#x): %+v, %v; want notification %d", uint64(f), ev, err, i)
			}
		}
	}
	if err := eq.Read(&ev, 0); !errors.Is(err, core.ErrAgain) {
		t.Errorf("Read after all were read: %v; want ErrAgain", err)
	}
	ro := must(t, "OpenEQ", func() (core.EventQueue, error) { return p.A.Fabric.OpenEQ(core.EQAttr{}) })
	refuse(t, "Write to a queue opened without Write", ro.Write(core.EQEvent{}, 0), core.ErrInval)
	p.A.ok("Close EQ", ro.Close())
}
