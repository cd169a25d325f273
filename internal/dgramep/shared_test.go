package dgramep_test

// This file tests shared contexts over a port that the test controls. The conformance suite tests them over sockets.

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/transport/datagram"
)

// another opens a second endpoint beside that of s, with its queues. It calls bind before it enables the endpoint.
func (s *side) another(d *tame, bind func(*core.Endpoint) error) (*core.Endpoint, *tamePort) {
	s.t.Helper()
	ep, err := s.d.OpenEndpoint(s.info)
	must(s.t, err)
	port := d.port
	must(s.t, ep.BindCQ(s.tx, core.BindTransmit))
	must(s.t, ep.BindCQ(s.rx, core.BindRecv))
	must(s.t, ep.BindAV(s.av, 0))
	must(s.t, bind(ep))
	s.more = append(s.more, ep)
	return ep, port
}

// TestSharedTx: endpoints share the room for waiting sends, and free it when these end.
func TestSharedTx(t *testing.T) {
	s, d := tamed(t, 8, 0)
	stx, err := s.d.OpenSTX(&core.TxAttr{Size: 2})
	must(t, err)
	s.bound = append(s.bound, stx)
	bind := func(ep *core.Endpoint) error { return ep.BindSTX(stx) }
	a, first := s.another(d, bind)
	b, second := s.another(d, bind)
	must(t, a.Enable())
	must(t, b.Enable())
	first.fail, second.fail = core.ErrAgain, core.ErrAgain
	buf := []byte("x")
	must(t, a.Send(buf, 0, 0, 1))
	must(t, b.Send(buf, 0, 0, 2))
	for name, ep := range map[string]*core.Endpoint{"first": a, "second": b} {
		if err := ep.Send(buf, 0, 0, 3); err != core.ErrAgain {
			t.Errorf("a third one, on the %s endpoint: %v", name, err)
		}
	}
	must(t, a.Cancel(1))
	if e := s.failed(s.tx); e.Ctx != 1 || e.Err != core.ErrCanceled {
		t.Errorf("canceled: %+v", e)
	}
	must(t, b.Send(buf, 0, 0, 4))
	if err := a.Send(buf, 0, 0, 5); err != core.ErrAgain {
		t.Errorf("beside two of the other endpoint: %v", err)
	}
	second.fail = nil
	d.tell(func() { second.r.Writable() })
	for _, want := range []core.OpContext{2, 4} {
		var e [1]core.CQEntry
		if n, err := s.tx.Read(e[:]); n != 1 || err != nil || e[0].Ctx != want {
			t.Errorf("%d, %v: completion of %d, want %d", n, err, e[0].Ctx, want)
		}
	}
	first.fail = nil
	must(t, a.Send(buf, 0, 0, 6))
	if e := s.one(s.tx); e.Ctx != 6 {
		t.Errorf("completion of %d", e.Ctx)
	}
}

// tell calls f with the lock held, as the domain's progress engine does.
func (d *tame) tell(f func()) {
	d.Progress().Lock()
	defer d.Progress().Unlock()
	f()
}

// TestSharedRx: datagrams of all endpoints complete the receives in order. Early datagrams are kept per endpoint,
// and endpoints take turns.
func TestSharedRx(t *testing.T) {
	s, d := tamed(t, 8, 0)
	srx, err := s.d.OpenSRX(&core.RxAttr{Size: 3})
	must(t, err)
	s.bound = append(s.bound, srx)
	bind := func(ep *core.Endpoint) error { return ep.BindSRX(srx) }
	a, first := s.another(d, bind)
	b, second := s.another(d, bind)
	bring := func(r datagram.Receiver, text string) { d.tell(func() { r.Received(peerAt, []byte(text), 0) }) }
	in := make([]byte, 8)
	want := func(ctx core.OpContext, text string) {
		t.Helper()
		if e := s.one(s.rx); e.Ctx != ctx || string(in[:e.Len]) != text {
			t.Errorf("completion of %d with %q; want %d with %q", e.Ctx, in[:e.Len], ctx, text)
		}
	}
	must(t, a.Enable())
	must(t, srx.Recv(in, 0, core.AddrUnspec, 1))
	bring(second.r, "b1") // which is not enabled
	s.none(s.rx)
	must(t, b.Enable())
	want(1, "b1")

	for _, text := range []string{"a1", "a2"} {
		bring(first.r, text)
	}
	bring(second.r, "b2")
	got := map[string]bool{}
	for ctx := range core.OpContext(2) {
		must(t, srx.RecvMsg(&core.MsgArgs{IOV: [][]byte{in}, Ctx: ctx}, 0))
		got[string(in[:s.one(s.rx).Len])] = true
	}
	if !got["a1"] || !got["b2"] {
		t.Errorf("%v came; want one of each endpoint", got)
	}
	must(t, srx.RecvV([][]byte{in}, nil, core.AddrUnspec, 9))
	want(9, "a2")

	for i := range core.OpContext(3) {
		must(t, srx.Recv(in, 0, core.AddrUnspec, i))
	}
	if err := srx.Recv(in, 0, core.AddrUnspec, 3); err != core.ErrAgain {
		t.Errorf("one more than the size: %v", err)
	}
	if err := a.Recv(in, 0, core.AddrUnspec, 3); err != core.ErrOpNotSupp {
		t.Errorf("a receive of an endpoint: %v", err)
	}
	must(t, srx.Cancel(1))
	if e := s.failed(s.rx); e.Ctx != 1 || e.Err != core.ErrCanceled {
		t.Errorf("canceled: %+v", e)
	}
	bring(second.r, "c")
	want(0, "c")

	d.tell(func() { first.r.Lost(core.ErrNetDown) })
	s.none(s.rx)
	d.tell(func() { second.r.Lost(core.ErrNetDown) })
	if e := s.failed(s.rx); e.Ctx != 2 || e.Err != core.ErrNetDown {
		t.Errorf("without a port: %+v", e)
	}
	if err := srx.Close(); err == nil {
		t.Error("closed while endpoints are bound")
	}
}
