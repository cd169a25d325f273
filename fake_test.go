package gofabric

import (
	"context"
	"sync"

	"gofabric/core"
)

// This file is a provider that does exactly what a test tells it to do.

type fakeEP struct {
	core.EndpointDriver // calls without a method here panic
	mu                  sync.Mutex
	posted              []core.OpContext
	onPost              func(ctx core.OpContext) error
	onCancel            func(ctx core.OpContext) error
	closed              bool
}

// Post accepts sends and receives.
func (f *fakeEP) Post(op core.Op) error {
	if op.Call != core.CallSend && op.Call != core.CallRecv {
		panic(op.Call)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.onPost != nil {
		if err := f.onPost(op.Ctx); err != nil {
			return err
		}
	}
	f.posted = append(f.posted, op.Ctx)
	return nil
}

func (f *fakeEP) Cancel(ctx core.OpContext) error {
	if f.onCancel != nil {
		return f.onCancel(ctx)
	}
	return core.ErrNoEnt
}

func (f *fakeEP) SetOpt(core.EPOpt, int) error { return core.ErrNoProtoOpt }

func (f *fakeEP) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fakeEP) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// fakeCQ returns the completions that a test puts into ch.
type fakeCQ struct {
	core.CQDriver
	ch     chan core.CQErrEntry // with Err: an error entry
	signal chan struct{}
	fatal  chan error
	bad    []core.CQErrEntry // error entries that the leader has read
	reads  chan struct{}     // if not nil, gets a token when a read begins to wait
}

func newFakeCQ() *fakeCQ {
	return &fakeCQ{ch: make(chan core.CQErrEntry, 1024), signal: make(chan struct{}, 1), fatal: make(chan error, 1)}
}

func (q *fakeCQ) Read(e []core.CQEntry, src []core.FIAddr) (int, error) {
	select {
	case c := <-q.ch:
		return q.give(c, e, src)
	default:
		return 0, core.ErrAgain
	}
}

func (q *fakeCQ) give(c core.CQErrEntry, e []core.CQEntry, src []core.FIAddr) (int, error) {
	if c.Err != 0 {
		q.bad = append(q.bad, c)
		return 0, core.ErrAvail
	}
	e[0], src[0] = c.CQEntry, c.SrcAddr
	return 1, nil
}

func (q *fakeCQ) SRead(ctx context.Context, e []core.CQEntry, src []core.FIAddr) (int, error) {
	if q.reads != nil {
		q.reads <- struct{}{}
	}
	select {
	case c := <-q.ch:
		return q.give(c, e, src)
	case <-q.signal:
		return 0, core.ErrAgain
	case err := <-q.fatal:
		return 0, err
	case <-ctx.Done():
		return 0, &cause{core.ErrAgain, ctx.Err()}
	}
}

func (q *fakeCQ) ReadErr(e *core.CQErrEntry) error {
	if len(q.bad) == 0 {
		return core.ErrAgain
	}
	*e, q.bad = q.bad[0], q.bad[1:]
	return nil
}

func (q *fakeCQ) Signal() error {
	select {
	case q.signal <- struct{}{}:
	default:
	}
	return nil
}

func (q *fakeCQ) Close() error { return nil }

type fakeDomain struct {
	core.DomainDriver
	ep *fakeEP
	cq *fakeCQ
}

func (fakeDomain) Close() error { return nil }
func (d fakeDomain) OpenEndpoint(*core.Info, *core.Endpoint) (core.EndpointDriver, error) {
	return d.ep, nil
}
func (d fakeDomain) OpenCQ(core.CQAttr, core.WaitDriver) (core.CQDriver, error) { return d.cq, nil }
func (fakeDomain) OpenAV(core.AVAttr, *core.AddressVector) (core.AVDriver, error) {
	return fakeAV{}, nil
}

type fakeFabric struct {
	core.FabricDriver
	domain fakeDomain
}

func (fakeFabric) Close() error                                       { return nil }
func (f fakeFabric) OpenDomain(*core.Info) (core.DomainDriver, error) { return f.domain, nil }

type fakeAV struct{ core.AVDriver }

func (fakeAV) Close() error                          { return nil }
func (fakeAV) Lookup(core.FIAddr) (core.Addr, error) { return core.Addr{}, core.ErrInval }

// fakeEndpoint returns an Endpoint over the fakes.
func fakeEndpoint() (*Endpoint, *fakeEP, *fakeCQ) {
	ep, cq := &fakeEP{}, newFakeCQ()
	info := core.NewHints()
	info.Fabric.ProvName = "fake"
	b := &base{info: info, fabric: core.NewFabric(fakeFabric{domain: fakeDomain{ep: ep, cq: cq}})}
	b.domain, _ = b.fabric.OpenDomain(info) // the fakes open without an error
	b.hub.cq, _ = b.domain.OpenCQ(core.CQAttr{})
	b.refs.Store(1)
	e := &Endpoint{base: b, grace: defaultGrace}
	e.ep, _ = b.domain.OpenEndpoint(info)
	e.av, _ = b.domain.OpenAV(core.AVAttr{})
	return e, ep, cq
}
