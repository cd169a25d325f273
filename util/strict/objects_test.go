package strict

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/util/hook"
)

// shop is a domain below. It opens fakes, or fails.
type shop struct {
	fakeDomain
	fail  error
	cqs   []core.CQAttr
	inner []*fakeEP
}

func (s *shop) Close() error { return s.fail }
func (s *shop) ep() (*fakeEP, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	s.inner = append(s.inner, &fakeEP{})
	return s.inner[len(s.inner)-1], nil
}

func (s *shop) OpenCQ(attr core.CQAttr, _ core.WaitDriver) (core.CQDriver, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	s.cqs = append(s.cqs, attr)
	return &fakeCQ{}, nil
}

func (s *shop) OpenCounter(core.CntrAttr, core.WaitDriver) (core.CounterDriver, error) {
	return &fakeCounter{}, s.fail
}

func (s *shop) OpenEndpoint(*core.Info, *core.Endpoint) (core.EndpointDriver, error) { return s.ep() }
func (s *shop) OpenSRX(*core.RxAttr) (core.SRXDriver, error)                         { return &fakeSRX{}, s.fail }
func (s *shop) OpenScalable(*core.Info, *core.ScalableEndpoint) (core.ScalableDriver, error) {
	ep, err := s.ep()
	if err != nil {
		return nil, err
	}
	return &fakeScalable{ep, s}, nil
}

// shopFabric is the fabric of a shop.
type shopFabric struct {
	core.FabricDriver
	s *shop
}

func (f shopFabric) OpenDomain(*core.Info) (core.DomainDriver, error) { return f.s, f.s.fail }
func (f shopFabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, f.s.fail
}
func (f shopFabric) OpenEQ(core.EQAttr, core.WaitDriver) (core.EQDriver, error) {
	return fakeEQ{}, f.s.fail
}

type fakeScalable struct {
	*fakeEP
	s *shop
}

func (e *fakeScalable) TxContext(int, *core.TxAttr) (core.EndpointDriver, error) { return e.s.ep() }
func (e *fakeScalable) RxContext(int, *core.RxAttr) (core.EndpointDriver, error) { return e.s.ep() }

type fakeSRX struct {
	core.SRXDriver
	posted []core.Op
	fail   error
}

func (x *fakeSRX) Post(op core.Op) error          { x.posted = append(x.posted, op); return nil }
func (x *fakeSRX) Bind(any, core.BindFlags) error { return nil }
func (x *fakeSRX) Close() error                   { return x.fail }

type fakeEQ struct{ core.EQDriver }

func (fakeEQ) Read(*core.EQEvent, core.EQFlags) error                   { return core.ErrAgain }
func (fakeEQ) SRead(context.Context, *core.EQEvent, core.EQFlags) error { return core.ErrTimedOut }

// newShop is newBelow over a shop.
func newShop(t *testing.T, k Kind) (*below, *shop) {
	b, s := newBelow(t, k), &shop{}
	b.d.Domain = hook.Domain{DomainDriver: s}
	b.d.f.Fabric, b.d.f.domains = hook.Fabric{FabricDriver: shopFabric{s: s}}, map[*domain]bool{b.d: true}
	return b, s
}

// TestScalable: the contexts of a scalable endpoint are endpoints with flags of their own. They share its address
// vector.
func TestScalable(t *testing.T) {
	b, below := newShop(t, Kind{})
	x, err := b.d.OpenScalable(b.d.info, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := x.(scalable)
	e.s.av = &vector{}
	tx, err := e.TxContext(0, &core.TxAttr{OpFlags: core.OpInject})
	if c := tx.(*endpoint); err != nil || c.txFlags != core.OpInject || c.s.av != e.s.av || c.s == e.s {
		t.Errorf("a transmit context: %v, flags %v", err, c.txFlags)
	}
	rx, err := e.RxContext(0, &core.RxAttr{OpFlags: core.OpMultiRecv})
	if c := rx.(*endpoint); err != nil || c.rxFlags != core.OpMultiRecv || c.s.av != e.s.av {
		t.Errorf("a receive context: %v, flags %v", err, c.rxFlags)
	}
	b.d.info.Tx.OpFlags = core.OpCompletion
	for _, open := range []func() (core.EndpointDriver, error){
		func() (core.EndpointDriver, error) { return e.TxContext(1, nil) },
		func() (core.EndpointDriver, error) { return e.RxContext(1, nil) },
	} {
		c, err := open()
		if err != nil || c.(*endpoint).txFlags != 0 { // those of the scalable endpoint's Info
			t.Errorf("without attributes: %v", err)
		}
	}
	tx.Enable()
	if err := tx.Post(core.Op{Call: core.CallSend, Buf: []byte{1}}); !errors.Is(err, core.ErrNoSys) { // no capability was asked for
		t.Errorf("a transmit without capability: %v", err)
	}
	if n := len(b.d.eps); n != 5 {
		t.Errorf("%d endpoints, want 5", n)
	}
	if err := rx.Close(); err != nil || !below.inner[2].closed || len(b.d.eps) != 4 {
		t.Errorf("closing a context: %v, %d endpoints", err, len(b.d.eps))
	}
	below.fail = core.ErrNoMem
	for name, open := range map[string]func() error{
		"scalable": func() error { _, err := b.d.OpenScalable(b.d.info, nil); return err },
		"tx":       func() error { _, err := e.TxContext(2, nil); return err },
		"rx":       func() error { _, err := e.RxContext(2, nil); return err },
		"endpoint": func() error { _, err := b.d.OpenEndpoint(b.d.info, nil); return err },
		"srx":      func() error { _, err := b.d.OpenSRX(nil); return err },
	} {
		if err := open(); err != core.ErrNoMem || len(b.d.eps) != 4 {
			t.Errorf("%s: %v, %d endpoints", name, err, len(b.d.eps))
		}
	}
}

// TestSharedReceives: receives are posted to a shared context with its flags. Their completions go to the queue of
// the first endpoint that is bound.
func TestSharedReceives(t *testing.T) {
	b, _ := newShop(t, Kind{})
	b.d.info.Caps, b.d.info.Rx.Size = core.CapMsg|core.CapMultiRecv, 2
	o, err := b.d.OpenSRX(&core.RxAttr{OpFlags: core.OpMultiRecv})
	if err != nil {
		t.Fatal(err)
	}
	x := o.(*sharedRx)
	f := x.lowerSRX.SRXDriver.(*fakeSRX)
	recv := core.Op{Call: core.CallRecv, Buf: make([]byte, 8), Addr: core.AddrUnspec, Ctx: 5}
	if err := x.Post(recv); err != nil || len(f.posted) != 1 {
		t.Fatalf("%v, %d posted", err, len(f.posted))
	}
	q, cq := b.queue(core.CQFormatTagged)
	other, _ := b.queue(core.CQFormatTagged)
	for _, to := range []*queue{q, other} {
		e, _ := b.over()
		if err := e.Bind(to, core.BindRecv|core.BindTransmit); err != nil {
			t.Fatal(err)
		}
		if err := e.Bind(x, 0); err != nil {
			t.Fatal(err)
		}
	}
	if x.s.rx.q != q {
		t.Error("the queue is not that of the first endpoint")
	}
	cq.put(core.CQEntry{Ctx: f.posted[0].Ctx, Flags: core.CompRecv})
	if got := q.all(t); got != "5" || len(b.d.transfers) != 1 {
		t.Errorf("%q, %d under way; want a buffer for many messages", got, len(b.d.transfers))
	}
	if err := x.Post(recv); err != nil {
		t.Error(err)
	}
	if err := x.Post(recv); err != core.ErrAgain {
		t.Errorf("more than its size: %v", err)
	}
	f.fail = core.ErrBusy
	if err := x.Close(); err != core.ErrBusy || len(b.d.transfers) != 2 {
		t.Errorf("closing one in use: %v", err)
	}
	f.fail = nil
	if err := x.Close(); err != nil || len(b.d.transfers) != 0 {
		t.Errorf("closing: %v, %d under way", err, len(b.d.transfers))
	}
	if err := x.Post(recv); !errors.Is(err, core.ErrBadF) {
		t.Errorf("after the close: %v", err)
	}
}

// TestBind: what a bind changes, and that a bind that fails below changes nothing.
func TestBind(t *testing.T) {
	b := newBelow(t, Kind{})
	q, _ := b.queue(core.CQFormatTagged)
	c := &counter{d: b.d}
	type want struct{ txq, rxq, txQuiet, rxQuiet, txCounted, rxCounted bool }
	for _, tt := range []struct {
		obj   any
		flags core.BindFlags
		want  want
	}{
		{q, core.BindTransmit, want{txq: true}},
		{q, core.BindRecv | core.BindSelectiveCompletion, want{rxq: true, rxQuiet: true}},
		{q, core.BindTransmit | core.BindSelectiveCompletion, want{txq: true, txQuiet: true}},
		{c, core.BindSend, want{txCounted: true}},
		{c, core.BindRead | core.BindWrite, want{txCounted: true}},
		{c, core.BindRecv, want{rxCounted: true}},
		{c, core.BindRemoteWrite, want{}},
		{&vector{}, 0, want{}},
	} {
		for _, fail := range []error{core.ErrInval, nil} {
			e, f := b.over()
			f.fail = fail
			if err := e.Bind(tt.obj, tt.flags); err != fail {
				t.Errorf("%T: %v", tt.obj, err)
			}
			s := e.s
			got, expect := want{s.tx.q == q, s.rx.q == q, s.tx.quiet, s.rx.quiet, s.tx.counted, s.rx.counted}, tt.want
			if fail != nil {
				expect = want{}
			}
			if got != expect {
				t.Errorf("%T, flags %v, below %v: %+v, want %+v", tt.obj, tt.flags, fail, got, expect)
			}
			if _, av := tt.obj.(*vector); (s.av != nil) != (av && fail == nil) {
				t.Errorf("%T, below %v: the vector is %v", tt.obj, fail, s.av)
			}
		}
	}
}

// TestOpenQueues: which wait objects, how many queues there are, and what the stack below is asked for.
func TestOpenQueues(t *testing.T) {
	b, below := newShop(t, Kind{CQCnt: 2, CQSize: 16, WaitObjs: []core.WaitObj{core.WaitNone, core.WaitUnspec}})
	if _, err := b.d.OpenCQ(core.CQAttr{WaitObj: core.WaitFD}, nil); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("a wait object that the provider does not have: %v", err)
	}
	below.fail = core.ErrNoMem
	for range 3 {
		if _, err := b.d.OpenCQ(core.CQAttr{}, nil); err != core.ErrNoMem {
			t.Errorf("a failure below: %v", err)
		}
	}
	below.fail = nil
	first, err := b.d.OpenCQ(core.CQAttr{Format: core.CQFormatContext}, nil)
	if err != nil || first.(*queue).size != 16 || first.(*queue).format != core.CQFormatContext {
		t.Fatalf("%v, %+v", err, first)
	}
	if second, err := b.d.OpenCQ(core.CQAttr{Size: 4, Format: core.CQFormatMsg}, nil); err != nil || second.(*queue).size != 4 {
		t.Error(err)
	}
	if !slices.EqualFunc(below.cqs, []core.CQFormat{core.CQFormatTagged, core.CQFormatTagged}, func(a core.CQAttr, f core.CQFormat) bool { return a.Format == f }) {
		t.Errorf("asked for below: %+v", below.cqs)
	}
	if _, err := b.d.OpenCQ(core.CQAttr{}, nil); !errors.Is(err, core.ErrNoSpc) {
		t.Errorf("a third of two: %v", err)
	}
	f := first.(*queue).CQ.CQDriver.(*fakeCQ)
	f.fail = core.ErrBusy
	if err := first.Close(); err != core.ErrBusy || b.d.cqs != 2 {
		t.Errorf("closing one in use: %v", err)
	}
	f.fail = nil
	if err := first.Close(); err != nil || b.d.cqs != 1 {
		t.Errorf("closing: %v", err)
	}
	b, below = newShop(t, Kind{CntrCnt: 1})
	below.fail = core.ErrNoMem
	for range 2 {
		if _, err := b.d.OpenCounter(core.CntrAttr{}, nil); err != core.ErrNoMem {
			t.Errorf("a counter that fails below: %v", err)
		}
	}
}

// TestFabric: reads of an event queue and fi_trywait make progress. What fails below fails.
func TestFabric(t *testing.T) {
	b, below := newShop(t, Kind{})
	f := b.d.f
	eq, err := f.OpenEQ(core.EQAttr{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"read":  func() error { return eq.Read(nil, 0) },
		"sread": func() error { return eq.SRead(t.Context(), nil, 0) },
	} {
		e, low := b.over()
		b.hold(e)
		if err := call(); err == nil || len(low.posted) != 1 {
			t.Errorf("%s: %v, %d posted", name, err, len(low.posted))
		}
		e.Close()
	}
	d, err := f.OpenDomain(core.NewHints())
	if err != nil || !f.domains[d.(*domain)] {
		t.Errorf("a domain: %v", err)
	}
	below.fail = core.ErrBusy
	if err := d.Close(); err != core.ErrBusy || !f.domains[d.(*domain)] {
		t.Errorf("closing one in use: %v", err)
	}
	for name, open := range map[string]func() error{
		"domain":  func() error { _, err := f.OpenDomain(core.NewHints()); return err },
		"passive": func() error { _, err := f.OpenPassiveEndpoint(nil, nil); return err },
		"eq":      func() error { _, err := f.OpenEQ(core.EQAttr{}, nil); return err },
	} {
		if err := open(); err != core.ErrBusy {
			t.Errorf("%s: %v", name, err)
		}
	}
	below.fail = nil
	if err := d.Close(); err != nil || f.domains[d.(*domain)] {
		t.Errorf("closing: %v", err)
	}
}

// TestThreads: with FI_THREAD_DOMAIN a second thread in a call is misuse, with other levels it is not.
func TestThreads(t *testing.T) {
	for _, level := range []core.Threading{core.ThreadSafe, core.ThreadDomain} {
		b := newBelow(t, Kind{})
		e, _, q, _ := b.ready(func(i *core.Info) { i.Domain.Threading = level })
		if err := b.d.enter("fi_send"); err != nil {
			t.Fatal(err)
		}
		send := core.Op{Call: core.CallInject, Buf: []byte{1}}
		_, read := q.Read(make([]core.CQEntry, 1), nil)
		for name, err := range map[string]error{"post": e.Post(send), "read": read} {
			if errors.Is(err, core.ErrOpBadState) != (level == core.ThreadDomain) {
				t.Errorf("level %v, %s: %v", level, name, err)
			}
		}
		b.d.leave()
		if err := e.Post(send); err != nil {
			t.Errorf("level %v, afterwards: %v", level, err)
		}
	}
}

// TestLimits: limits that no profile's misuse test reaches.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(i *core.Info)
		op   core.Op
		want core.Errno
		text string
	}{
		{"remote ranges", func(i *core.Info) { i.Tx.RMAIOVLimit = 1 }, core.Op{Call: core.CallWriteMsg, IOV: [][]byte{{1}}, RMAIOV: make([]core.RMAIov, 2)}, core.ErrInval, "rma_iov_limit"},
		{"receive buffers", func(i *core.Info) { i.Rx.IOVLimit = 1 }, core.Op{Call: core.CallRecvV, IOV: make([][]byte, 2), Addr: core.AddrUnspec}, core.ErrInval, "iov_limit"},
		{"message size", func(i *core.Info) { i.EP.MaxMsgSize = 4 }, core.Op{Call: core.CallSend, Buf: make([]byte, 5)}, core.ErrMsgSize, "max_msg_size"},
		{"inject by flag", func(i *core.Info) { i.Tx.InjectSize = 4 }, core.Op{Call: core.CallSendMsg, IOV: [][]byte{make([]byte, 5)}, Flags: core.OpInject}, core.ErrInval, "inject_size"},
	} {
		e, f, _, _ := newBelow(t, Kind{}).ready(c.set)
		if err := e.Post(c.op); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || len(f.posted) > 0 {
			t.Errorf("%s: %v, %d posted; want %v and %q", c.name, err, len(f.posted), c.want, c.text)
		}
	}
}

// TestRemote: the remote ranges of each kind of call.
func TestRemote(t *testing.T) {
	ranges := []core.RMAIov{{Addr: 8, Len: 4, Key: 1}, {Addr: 16, Len: 2, Key: 2}}
	for _, c := range []struct {
		op   core.Op
		want []core.RMAIov
	}{
		{core.Op{Call: core.CallSend, Buf: make([]byte, 4)}, nil},
		{core.Op{Call: core.CallWrite, IOV: [][]byte{make([]byte, 4)}, RMA: core.RMAIov{Addr: 8, Key: 3}}, []core.RMAIov{{Addr: 8, Len: 4, Key: 3}}},
		{core.Op{Call: core.CallReadMsg, RMAIOV: ranges}, ranges},
		{core.Op{Call: core.CallAtomicMsg, Type: core.Uint32, RMAIOC: []core.RMAIoc{{Addr: 8, Count: 3, Key: 4}, {Addr: 24, Count: 1, Key: 5}}},
			[]core.RMAIov{{Addr: 8, Len: 12, Key: 4}, {Addr: 24, Len: 4, Key: 5}}},
	} {
		tr := &transfer{Op: c.op}
		if got := tr.remote(); !slices.Equal(got, c.want) {
			t.Errorf("%v: %+v, want %+v", c.op.Call, got, c.want)
		}
	}
	if n := lengthOf(ranges); n != 6 {
		t.Errorf("%d bytes, want 6", n)
	}
}
