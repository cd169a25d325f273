package conform

// Event queues without endpoints (fi_eq(3)).

import (
	"context"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

// eqObject checks an event queue without an endpoint: Write, Peek, ErrAgain.
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
		for _, f := range []core.EQFlags{core.EQPeek, core.EQPeek, 0} {
			if err := eq.Read(&ev, f); err != nil || ev.Type != core.EventNotify ||
				ev.Data != i || ev.Context != "mine" {
				t.Fatalf("Read(%#x): %+v, %v; want notification %d", uint64(f), ev, err, i)
			}
		}
	}
	if err := eq.Read(&ev, 0); !errors.Is(err, core.ErrAgain) {
		t.Errorf("Read after all were read: %v; want ErrAgain", err)
	}
	eqWait(t, p)
	ro := must(t, "OpenEQ", func() (*core.EventQueue, error) { return p.A.Fabric.OpenEQ(core.EQAttr{}) })
	refuse(t, "Write to a queue opened without Write", ro.Write(core.EQEvent{}, 0), core.ErrInval)
	p.A.ok("Close EQ", ro.Close())
}

// eqWait checks how a blocking read of events can end, and the descriptor.
func eqWait(t *testing.T, p *Pair) {
	t.Helper()
	eq := must(t, "OpenEQ", func() (*core.EventQueue, error) {
		return p.A.Fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitFD, Flags: core.EQWrite})
	})
	defer func() { p.A.ok("Close EQ", eq.Close()) }()
	var ev core.EQEvent
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	if err := eq.SRead(ctx, &ev, 0); !errors.Is(err, core.ErrAgain) {
		t.Errorf("SRead until a deadline: %v; want ErrAgain", err)
	}
	cancel()
	fd, err := eq.WaitFD()
	if err != nil {
		t.Fatalf("WaitFD: %v", err)
	}
	if err := p.A.Fabric.TryWait(eq); err != nil {
		t.Errorf("TryWait of an empty queue: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	res := make(chan error, 2)
	go func() { res <- eq.SRead(ctx, &ev, 0) }()
	time.Sleep(2 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	p.A.ok("Write", eq.Write(core.EQEvent{Type: core.EventNotify, Data: 7}, 0))
	if err := p.await("SRead", res); err != nil || ev.Data != 7 {
		t.Errorf("SRead: %v, data %d; want 7", err, ev.Data)
	}
	if err := p.A.Fabric.TryWait(eq); err != nil {
		t.Errorf("TryWait of a queue that was read empty: %v", err)
	}
	go func() {
		ok, err := pollFD(fd, Deadline/2)
		if !ok && err == nil {
			err = errors.New("not readable")
		}
		res <- err
	}()
	time.Sleep(2 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	p.A.ok("Write", eq.Write(core.EQEvent{Type: core.EventNotify, Data: 8}, 0))
	if err := p.await("poll", res); err != nil {
		t.Errorf("the descriptor of a queue with an event: %v", err)
	}
	if err := p.A.Fabric.TryWait(eq); !errors.Is(err, core.ErrAgain) {
		t.Errorf("TryWait with an event to read: %v; want ErrAgain", err)
	}
	if err := eq.Read(&ev, 0); err != nil || ev.Data != 8 {
		t.Errorf("Read: %v, data %d; want 8", err, ev.Data)
	}
}
