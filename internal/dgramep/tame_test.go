package dgramep_test

// This file tests an endpoint whose port is busy, fails, or delivers more datagrams than there are receives for.

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/internal/dgramep"
)

// TestBusyPort: sends wait in order, up to the size of the queue, and complete when the port has taken them.
func TestBusyPort(t *testing.T) {
	const size = 4
	s, d := tamed(t, size, 0)
	d.port.fail = core.ErrAgain
	buf := []byte("0")
	for i := range size {
		must(t, s.ep.SendMsg(&core.MsgArgs{IOV: [][]byte{buf, {byte('a' + i)}}, Ctx: core.OpContext(i)}, 0))
	}
	if err := s.ep.Send(buf, 0, 0, 9); err != core.ErrAgain {
		t.Errorf("one more: %v", err)
	}
	s.none(s.tx)
	if err := s.ep.Inject(buf, 0); err != core.ErrAgain {
		t.Errorf("inject into a full port: %v; there is no copy to keep", err)
	}
	must(t, s.ep.Cancel(2))
	if e := s.failed(s.tx); e.Err != core.ErrCanceled || e.Ctx != 2 || e.Flags != core.CompMsg|core.CompSend {
		t.Errorf("canceled: %+v", e)
	}
	d.port.fail = nil
	must(t, s.ep.Send([]byte("late"), 0, 0, 7)) // after the waiting ones, although the port is free again
	s.none(s.tx)
	d.Progress().Lock()
	d.port.r.Writable()
	d.Progress().Unlock()
	var e [8]core.CQEntry
	n, err := s.tx.Read(e[:])
	if n != 4 || err != nil || e[0].Ctx != 0 || e[1].Ctx != 1 || e[2].Ctx != 3 || e[3].Ctx != 7 {
		t.Errorf("%d completions, %v: %+v", n, err, e[:n])
	}
	if !slices.Equal(d.port.sent, []string{"0a", "0b", "0d", "late"}) {
		t.Errorf("sent %q", d.port.sent)
	}
}

// TestFailingPort: the error of a send is returned by the call, or is in its completion if it has waited.
func TestFailingPort(t *testing.T) {
	s, d := tamed(t, 4, 0)
	d.port.fail = core.ErrNetUnreach
	if err := s.ep.Send([]byte("x"), 0, 0, 1); err != core.ErrNetUnreach {
		t.Errorf("send: %v", err)
	}
	s.none(s.tx)
	d.port.fail = core.ErrAgain
	must(t, s.ep.Send([]byte("x"), 0, 0, 2))
	d.port.fail = core.ErrNetUnreach
	d.Progress().Lock()
	d.port.r.Writable()
	d.Progress().Unlock()
	e := s.failed(s.tx)
	if e.Err != core.ErrNetUnreach || e.Ctx != 2 || !strings.Contains(e.Detail, "10.0.0.2:7") ||
		e.Peer != core.IPAddr(peerAt) {
		t.Errorf("waited: %+v", e)
	}
}

// TestRuns splits a run of datagrams, for posted receives and later ones.
func TestRuns(t *testing.T) {
	s, d := tamed(t, 8, 0)
	in := make([]byte, 16)
	must(t, s.ep.Recv(in, 0, core.AddrUnspec, 1))
	d.bring("aaabbbc", 3)
	d.bring("", 0)
	if e, src := s.next(); e.Ctx != 1 || e.Len != 3 || string(in[:3]) != "aaa" || src != 0 ||
		e.Flags != core.CompMsg|core.CompRecv {
		t.Errorf("first: %+v from %d, %q", e, src, in)
	}
	for i, want := range []string{"bbb", "c", ""} {
		must(t, s.ep.RecvV([][]byte{in[:1], {}, in[1:]}, nil, core.AddrUnspec, core.OpContext(i)))
		if e := s.one(s.rx); e.Ctx != core.OpContext(i) || string(in[:e.Len]) != want {
			t.Errorf("%q came, %+v; want %q", in[:e.Len], e, want)
		}
	}
	s.none(s.rx)
}

// TestTruncation: truncation is reported, and the bytes that fit are received.
func TestTruncation(t *testing.T) {
	for name, early := range map[string]bool{"posted": false, "early": true} {
		t.Run(name, func(t *testing.T) {
			s, d := tamed(t, 8, 0)
			in := make([]byte, 4)
			if early {
				d.bring("abcdefg", 0)
			}
			must(t, s.ep.Recv(in, 0, core.AddrUnspec, 5))
			if !early {
				d.bring("abcdefg", 0)
			}
			if e := s.failed(s.rx); e.Err != core.ErrTrunc || e.Len != 4 || e.OLen != 3 || e.Ctx != 5 ||
				string(in) != "abcd" {
				t.Errorf("%+v, %q", e, in)
			}
		})
	}
}

// TestExpected: the port is informed of inserted addresses, and of those in the vector before it is bound or the
// port opened.
func TestExpected(t *testing.T) {
	s, d := tamed(t, 8, 0)
	more := netip.MustParseAddrPort("10.0.0.3:7")
	s.knows(core.IPAddr(more))
	heard := func(when string) {
		t.Helper()
		if got := d.port.expected; !slices.Equal(got, []netip.AddrPort{peerAt, more}) {
			t.Errorf("%s: it was informed of %v", when, got)
		}
	}
	heard("inserted")
	first := d.port
	ep, port := s.another(d, func(*core.Endpoint) error { return nil })
	if port == first {
		t.Fatal("no port of its own")
	}
	heard("bound")
	must(t, ep.SetName(core.IPAddr(netipAt("10.0.0.1", 99))))
	if d.port == port {
		t.Fatal("the same port")
	}
	heard("named")
}

// TestEarlyBound: datagrams without a receive are kept up to a bound, and the rest is counted.
func TestEarlyBound(t *testing.T) {
	s, d := tamed(t, 8, 0)
	const n = 2000
	for range n {
		d.bring(strings.Repeat("x", 1000), 0)
	}
	st, ok := dgramep.StatsOf(s.ep.Driver())
	if !ok || st.Unposted == 0 || st.Unposted >= n {
		t.Fatalf("%+v", st)
	}
	in, got := make([]byte, 1000), uint64(0)
	for ; ; got++ {
		must(t, s.ep.Recv(in, 0, core.AddrUnspec, 1))
		var e [1]core.CQEntry
		if k, _ := s.rx.Read(e[:]); k == 0 {
			break
		}
	}
	if got+st.Unposted != n {
		t.Errorf("%d received, %d dropped of %d", got, st.Unposted, n)
	}
}

// TestReceiveQueue: the number of receives is bounded. They are canceled in any order, and end when the port is
// lost.
func TestReceiveQueue(t *testing.T) {
	s, d := tamed(t, 4, 0)
	in := make([]byte, 8)
	for i := range 4 {
		must(t, s.ep.Recv(in, 0, core.AddrUnspec, core.OpContext(i)))
	}
	if err := s.ep.Recv(in, 0, core.AddrUnspec, 9); err != core.ErrAgain {
		t.Errorf("one more: %v", err)
	}
	must(t, s.ep.Cancel(1))
	if e := s.failed(s.rx); e.Err != core.ErrCanceled || e.Ctx != 1 {
		t.Errorf("canceled: %+v", e)
	}
	if err := s.ep.Cancel(1); err != core.ErrNoEnt {
		t.Errorf("canceled twice: %v", err)
	}
	d.bring("m", 0)
	if e := s.one(s.rx); e.Ctx != 0 {
		t.Errorf("first: %+v", e)
	}
	d.Progress().Lock()
	d.port.r.Lost(core.ErrNoBufs)
	d.Progress().Unlock()
	for _, ctx := range []core.OpContext{2, 3} {
		if e := s.failed(s.rx); e.Err != core.ErrNoBufs || e.Ctx != ctx {
			t.Errorf("lost: %+v", e)
		}
	}
	if err := s.ep.Recv(in, 0, core.AddrUnspec, 9); err != core.ErrNoBufs {
		t.Errorf("after that: %v", err)
	}
}

// TestRefusals: features that datagrams lack, and invalid calls, are refused.
func TestRefusals(t *testing.T) {
	s, _ := tamed(t, 4, 0)
	b := []byte("x")
	iov := [][]byte{b}
	five := [][]byte{b, b, b, b, b}
	for name, c := range map[string]struct{ got, want error }{
		"senddata":          {s.ep.SendData(b, 0, 1, 0, 0), core.ErrNoSys},
		"injectdata":        {s.ep.InjectData(b, 1, 0), core.ErrNoSys},
		"cq data":           {s.ep.SendMsg(&core.MsgArgs{IOV: iov}, core.OpRemoteCQData), core.ErrNoSys},
		"delivery complete": {s.ep.SendMsg(&core.MsgArgs{IOV: iov}, core.OpDeliveryComplete), core.ErrOpNotSupp},
		"send flags":        {s.ep.SendMsg(&core.MsgArgs{IOV: iov}, core.OpPeek), core.ErrBadFlags},
		"multi-receive":     {s.ep.RecvMsg(&core.MsgArgs{IOV: iov}, core.OpMultiRecv), core.ErrBadFlags},
		"five buffers":      {s.ep.SendV(five, nil, 0, 0), core.ErrInval},
		"five to receive":   {s.ep.RecvV(five, nil, 0, 0), core.ErrInval},
		"too long":          {s.ep.Send(make([]byte, 1473), 0, 0, 0), core.ErrMsgSize},
		"inject too long":   {s.ep.Inject(make([]byte, 65), 0), core.ErrInval},
		"no such peer":      {s.ep.Send(b, 0, 7, 0), core.ErrInval},
		"no destination":    {s.ep.Send(b, 0, core.AddrUnspec, 0), core.ErrInval},
		"no such group":     {s.ep.Send(b, 0, 1<<63|5, 0), core.ErrInval},
		"tagged":            {s.ep.TSend(b, 0, 0, 1, 0), core.ErrNoSys},
		"tagged receive":    {s.ep.TRecv(b, 0, 0, 1, 0, 0), core.ErrNoSys},
		"rma":               {s.ep.Write(b, 0, 0, 0, 0, 0), core.ErrNoSys},
		"atomic":            {s.ep.Atomic(&core.AtomicArgs{}, 0), core.ErrOpNotSupp},
		"option":            {s.ep.SetOpt(core.OptMinMultiRecv, 1), core.ErrNoProtoOpt},
		"connect":           {s.ep.Connect(core.Addr{}, nil), core.ErrNoSys},
		"enabled twice":     {s.ep.Enable(), core.ErrOpBadState},
		"renamed":           {s.ep.SetName(core.IPAddr(here)), core.ErrOpBadState},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if _, ok := dgramep.StatsOf(nil); ok {
		t.Error("StatsOf(nil) returns counts")
	}
}

// TestSelective: with selective completion (fi_ep_bind(3)) an operation is reported only on request, and an alias
// requests it for all of its operations.
func TestSelective(t *testing.T) {
	s, d := tamed(t, 8, core.BindSelectiveCompletion)
	b, in := []byte("x"), make([]byte, 8)
	must(t, s.ep.Send(b, 0, 0, 1))
	must(t, s.ep.Inject(b, 0))
	s.none(s.tx)
	must(t, s.ep.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Ctx: 2}, core.OpCompletion))
	if e := s.one(s.tx); e.Ctx != 2 {
		t.Errorf("%+v", e)
	}
	loud, err := s.ep.Alias(core.BindTransmit, core.OpCompletion)
	must(t, err)
	must(t, loud.Send(b, 0, 0, 3))
	if e := s.one(s.tx); e.Ctx != 3 {
		t.Errorf("%+v", e)
	}
	must(t, loud.SetOpFlags(core.BindTransmit, 0))
	must(t, loud.SetOpFlags(core.BindRecv, core.OpCompletion))
	must(t, loud.Send(b, 0, 0, 3))
	s.none(s.tx)
	for dir, want := range map[core.BindFlags]core.OpFlags{core.BindTransmit: 0, core.BindRecv: core.OpCompletion} {
		ofAlias, err := loud.OpFlags(dir)
		must(t, err)
		if ofEP, err := s.ep.OpFlags(dir); err != nil || ofAlias != want || ofEP != 0 {
			t.Errorf("the alias has flags %v, the endpoint %v: %v", ofAlias, ofEP, err)
		}
	}
	if err := loud.SetOpFlags(core.BindRecv, core.OpInject); !errors.Is(err, core.ErrBadFlags) {
		t.Errorf("a flag of the other direction: %v", err)
	}
	if err := s.ep.Close(); !errors.Is(err, core.ErrBusy) {
		t.Errorf("closed under an alias: %v", err)
	}
	must(t, loud.Close())
	if err := loud.Close(); err != core.ErrBadF {
		t.Errorf("an alias closed twice: %v", err)
	}
	must(t, s.ep.Recv(in, 0, core.AddrUnspec, 4))
	must(t, s.ep.RecvMsg(&core.MsgArgs{IOV: [][]byte{in}, Ctx: 5}, core.OpCompletion))
	d.bring("ab", 1)
	if e := s.one(s.rx); e.Ctx != 5 {
		t.Errorf("%+v", e)
	}
	if _, err := s.ep.Alias(core.BindRecv, core.OpMultiRecv); !errors.Is(err, core.ErrBadFlags) {
		t.Errorf("alias with multi-receive: %v", err)
	}
}

// TestCounters counts operations, and failed ones separately.
func TestCounters(t *testing.T) {
	s, d := tamed(t, 8, 0)
	c, err := s.d.OpenCounter(core.CntrAttr{})
	must(t, err)
	s.bound = append(s.bound, c)
	must(t, s.ep.BindCounter(c, core.BindSend|core.BindRecv))
	must(t, s.ep.Send([]byte("x"), 0, 0, 1))
	must(t, s.ep.Inject([]byte("x"), 0))
	must(t, s.ep.Recv(make([]byte, 1), 0, core.AddrUnspec, 1))
	d.bring("ab", 0)
	if c.Value() != 2 || c.ErrValue() != 1 {
		t.Errorf("%d, %d errors; want 2 and 1", c.Value(), c.ErrValue())
	}
}

// TestNoAllocation: a message allocates nothing, whether it is received early or late, and sent at once or later.
func TestNoAllocation(t *testing.T) {
	s, d := tamed(t, 8, 0)
	d.port.deaf = true
	in, got, msg := make([]byte, 64), make([]core.CQEntry, 4), []byte("message")
	n := testing.AllocsPerRun(200, func() {
		d.port.fail = core.ErrAgain
		must(t, s.ep.Send(msg, 0, 0, 1))
		d.port.fail = nil
		must(t, s.ep.Recv(in, 0, core.AddrUnspec, 1))
		d.Progress().Lock()
		d.port.r.Writable()
		d.port.r.Received(peerAt, msg, 0)
		d.port.r.Received(peerAt, msg, 0)
		d.Progress().Unlock()
		must(t, s.ep.Send(msg, 0, 0, 1))
		must(t, s.ep.Recv(in, 0, core.AddrUnspec, 1))
		for _, q := range []*core.CompletionQueue{s.tx, s.rx} {
			if n, err := q.Read(got); n != 2 || err != nil {
				t.Fatal(n, err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
