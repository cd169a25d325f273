package endpoint_test

import (
	"testing"

	"gofabric/core"
)

// TestRecvLate posts receives that were accepted earlier. They count like any others, and their errors become error
// entries.
func TestRecvLate(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	prog := w.d.drv.Progress()
	locked := func(f func()) { prog.Lock(); f(); prog.Unlock() }
	in := make([]byte, 8)
	locked(func() {
		if room, tagged := w.b.drv.RecvRoom(); room != 32 || !tagged {
			t.Errorf("room for %d, tagged %v; want 32 and true", room, tagged)
		}
		w.b.drv.RecvLate(in, core.AddrUnspec, false, 0, 0, 1)
		w.b.drv.RecvLate(in, core.AddrUnspec, true, 0x70, 0xf, 2)
		if room, _ := w.b.drv.RecvRoom(); room != 30 {
			t.Errorf("room for %d after two", room)
		}
	})
	must(t, w.a.TInject([]byte("tagged"), 0, 0x75))
	if e := next(t, w.qb); e.Ctx != 2 || e.Tag != 0x75 || e.Flags != core.CompTagged|core.CompRecv ||
		string(in[:e.Len]) != "tagged" {
		t.Errorf("%+v, %q", e, in)
	}
	must(t, w.a.Inject([]byte("message"), 0))
	if e := next(t, w.qb); e.Ctx != 1 || e.Flags != core.CompMsg|core.CompRecv || string(in[:e.Len]) != "message" {
		t.Errorf("%+v, %q", e, in)
	}
	must(t, w.a.Inject([]byte("early"), 0))
	none(t, w.qb)
	locked(func() { w.b.drv.RecvLate(in, core.AddrUnspec, false, 0, 0, 3) })
	if e := next(t, w.qb); e.Ctx != 3 || string(in[:e.Len]) != "early" {
		t.Errorf("%+v, %q", e, in)
	}
}

// TestRecvRoom: there is no room where the call itself must refuse receives, and a receive that was accepted before
// then becomes an error entry.
func TestRecvRoom(t *testing.T) {
	w := newWorld(t, allCaps&^core.CapTagged, 0)
	late := w.d.open(t, testInfo(allCaps))
	q := w.d.queue(t)
	must(t, late.BindCQ(q, core.BindTransmit|core.BindRecv))
	w.bound = append(w.bound, late, q)
	prog := w.d.drv.Progress()
	prog.Lock()
	if _, tagged := w.a.drv.RecvRoom(); tagged {
		t.Error("tagged receives of an endpoint without FI_TAGGED")
	}
	if room, _ := late.drv.RecvRoom(); room != 0 {
		t.Errorf("room for %d before Enable", room)
	}
	late.drv.RecvLate(make([]byte, 8), core.AddrUnspec, false, 0, 0, 9)
	prog.Unlock()
	if n, err := q.Read(make([]core.CQEntry, 1)); err != core.ErrAvail {
		t.Fatalf("%d completions, %v; want an error", n, err)
	}
	var e core.CQErrEntry
	must(t, q.ReadErr(&e))
	if e.Ctx != 9 || e.Err != core.ErrOpBadState {
		t.Errorf("%+v", e)
	}
}
