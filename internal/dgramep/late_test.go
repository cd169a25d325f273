package dgramep_test

import (
	"testing"

	"gofabric/core"
)

// TestRecvLate posts receives that were accepted earlier.
func TestRecvLate(t *testing.T) {
	s, d := tamed(t, 4, 0)
	ep := s.ep.Driver().(interface {
		RecvRoom() (int, bool)
		RecvLate(buf []byte, src core.FIAddr, tagged bool, tag, ignore uint64, ctx core.OpContext)
	})
	late := func(buf []byte, ctx core.OpContext) {
		d.Progress().Lock()
		defer d.Progress().Unlock()
		ep.RecvLate(buf, core.AddrUnspec, false, 0, 0, ctx)
	}
	room := func(want int) {
		t.Helper()
		d.Progress().Lock()
		defer d.Progress().Unlock()
		if n, tagged := ep.RecvRoom(); n != want || tagged {
			t.Errorf("room for %d, tagged %v; want %d of messages only", n, tagged, want)
		}
	}
	in := make([]byte, 8)
	room(4)
	late(in, 1)
	room(3)
	d.bring("one", 0)
	if e, src := s.next(); e.Ctx != 1 || string(in[:e.Len]) != "one" || src != 0 {
		t.Errorf("%+v from %d, %q", e, src, in)
	}
	d.bring("early", 0)
	late(in, 2)
	if e, _ := s.next(); e.Ctx != 2 || string(in[:e.Len]) != "early" {
		t.Errorf("%+v, %q", e, in)
	}
	late(in[:2], 3)
	d.bring("long", 0)
	if e := s.failed(s.rx); e.Ctx != 3 || e.Err != core.ErrTrunc || e.Len != 2 || e.OLen != 2 {
		t.Errorf("%+v", e)
	}
	late(in, 4)
	d.Progress().Lock()
	d.port.r.Lost(core.ErrNetDown)
	d.Progress().Unlock()
	s.failed(s.rx)
	room(0)
	late(in, 5)
	if e := s.failed(s.rx); e.Ctx != 5 || e.Err != core.ErrNetDown {
		t.Errorf("%+v", e)
	}
}

// TestSharedRecvLate does the same with a shared context, whose endpoints have no room of their own.
func TestSharedRecvLate(t *testing.T) {
	type late interface {
		RecvRoom() (int, bool)
		RecvLate(buf []byte, src core.FIAddr, tagged bool, tag, ignore uint64, ctx core.OpContext)
	}
	s, d := tamed(t, 8, 0)
	srx, err := s.d.OpenSRX(&core.RxAttr{Size: 3})
	must(t, err)
	s.bound = append(s.bound, srx)
	ep, port := s.another(d, func(ep *core.Endpoint) error { return ep.BindSRX(srx) })
	must(t, ep.Enable())
	in := make([]byte, 8)
	for ctx := range core.OpContext(2) {
		d.tell(func() {
			if n, _ := ep.Driver().(late).RecvRoom(); n != 0 {
				t.Errorf("the endpoint has room for %d", n)
			}
			if n, _ := srx.Driver().(late).RecvRoom(); n != 3 {
				t.Errorf("the context has room for %d, want 3", n)
			}
			if ctx == 0 {
				srx.Driver().(late).RecvLate(in, core.AddrUnspec, false, 0, 0, ctx)
				if n, _ := srx.Driver().(late).RecvRoom(); n != 2 {
					t.Errorf("the context has room for %d after one", n)
				}
			}
			port.r.Received(peerAt, []byte("shared"), 0)
			if ctx == 1 {
				srx.Driver().(late).RecvLate(in, core.AddrUnspec, false, 0, 0, ctx)
			}
		})
		if e := s.one(s.rx); e.Ctx != ctx || string(in[:e.Len]) != "shared" {
			t.Errorf("completion of %d with %q; want %d", e.Ctx, in[:e.Len], ctx)
		}
	}
}

// TestDestination: the address of the last send is cached while its index stands for it.
func TestDestination(t *testing.T) {
	a, b, c := real(t, "udp", "127.0.0.1").enable(), real(t, "udp", "127.0.0.1").enable(),
		real(t, "udp", "127.0.0.1").enable()
	to := a.knows(b.name())
	send := func(at *side) {
		t.Helper()
		in := make([]byte, 8)
		must(t, at.ep.Recv(in, 0, core.AddrUnspec, 1))
		must(t, a.ep.Inject([]byte("here"), to))
		at.next()
	}
	send(b)
	send(b)
	must(t, a.av.Remove([]core.FIAddr{to}, 0))
	if err := a.ep.Inject([]byte("nowhere"), to); err != core.ErrInval {
		t.Errorf("send to an index that was removed: %v", err)
	}
	if again := a.knows(c.name()); again != to {
		t.Fatalf("index %d, want %d again", again, to)
	}
	send(c)
}
