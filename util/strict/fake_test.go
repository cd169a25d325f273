package strict

// This file has the drivers below the hook for unit tests. They do what the test sets.

import (
	"bytes"
	"context"
	"testing"

	"gofabric/core"
)

// below is a domain of a profile with one kind of endpoint, over fakes. log has the messages of the hook.
type below struct {
	d   *domain
	log bytes.Buffer
}

func newBelow(t testing.TB, k Kind) *below {
	t.Helper()
	b := &below{}
	k.Type = core.EPTypeRDM
	h := &Hook{profile: &Profile{Name: "test", Kinds: []Kind{k}}, log: &b.log, said: map[string]bool{}, open: map[*state]bool{}}
	info := core.NewHints()
	info.EP.Type = core.EPTypeRDM
	b.d = newDomain(&fabric{h: h}, fakeDomain{}, info)
	return b
}

// fakeDomain opens fakes.
type fakeDomain struct{ core.DomainDriver }

func (fakeDomain) OpenCounter(core.CntrAttr, core.WaitDriver) (core.CounterDriver, error) {
	return &fakeCounter{}, nil
}
func (fakeDomain) OpenAV(core.AVAttr, *core.AddressVector) (core.AVDriver, error) {
	return &fakeAV{}, nil
}

// fakeCounter counts its reads.
type fakeCounter struct {
	core.CounterDriver
	reads int
}

func (c *fakeCounter) Value() uint64                      { c.reads++; return 7 }
func (c *fakeCounter) Wait(context.Context, uint64) error { return core.ErrTimedOut }
func (c *fakeCounter) Ready(bool) (bool, error)           { return true, nil }
func (c *fakeCounter) Close() error                       { return nil }
func (c *fakeCounter) Ended() bool                        { return false }

// fakeAV gives indices in order, and none to the zero address.
type fakeAV struct {
	core.AVDriver
	next core.FIAddr
	fail error
}

func (v *fakeAV) take() core.FIAddr { v.next++; return v.next - 1 }

func (v *fakeAV) Insert(addrs []core.Addr, fi []core.FIAddr, _ core.InsertFlags, _ ...any) (n int, err error) {
	for i, a := range addrs {
		at := core.AddrNotAvail
		if a.IP.IsValid() {
			at = v.take()
			n++
		}
		if i < len(fi) {
			fi[i] = at
		}
	}
	return n, v.fail
}

func (v *fakeAV) InsertSvc(string, string, core.InsertFlags, ...any) (core.FIAddr, error) {
	return v.take(), v.fail
}

func (v *fakeAV) InsertSym(_ string, nodes int, _ string, services int, fi []core.FIAddr, _ core.InsertFlags, _ ...any) (int, error) {
	for i := range nodes * services {
		if at := v.take(); i < len(fi) {
			fi[i] = at
		}
	}
	return nodes * services, v.fail
}

func (v *fakeAV) Remove([]core.FIAddr, core.InsertFlags) error { return v.fail }

// fakeEP is an endpoint that keeps the operations that are posted.
type fakeEP struct {
	core.EndpointDriver
	posted []core.Op
	full   error // of transfers
	fail   error // of other calls
	closed bool
}

func (e *fakeEP) Post(op core.Op) error {
	if e.full == nil {
		e.posted = append(e.posted, op)
	}
	return e.full
}
func (e *fakeEP) Enable() error                                 { return e.fail }
func (e *fakeEP) Connect(core.Addr, []byte) error               { return e.fail }
func (e *fakeEP) Accept([]byte) error                           { return e.fail }
func (e *fakeEP) Shutdown() error                               { return e.fail }
func (e *fakeEP) SetOpFlags(core.BindFlags, core.OpFlags) error { return e.fail }
func (e *fakeEP) Cancel(core.OpContext) error                   { return core.ErrNoEnt }
func (e *fakeEP) Bind(any, core.BindFlags) error                { return e.fail }
func (e *fakeEP) Close() error                                  { e.closed = e.fail == nil; return e.fail }
func (e *fakeEP) Alias(core.BindFlags, core.OpFlags) (core.EndpointDriver, error) {
	return &fakeEP{}, e.fail
}

// over makes an endpoint of the domain over a fake.
func (b *below) over() (*endpoint, *fakeEP) {
	f := &fakeEP{}
	info := b.d.info.Dup()
	info.Tx.OpFlags, info.Rx.OpFlags = core.OpCompletion, core.OpMultiRecv
	return b.d.over(f, info), f
}

// hold has the endpoint hold a message back, as it may do with a transmit without ordering.
func (b *below) hold(e *endpoint) {
	e.s.held = &transfer{s: e.s, below: e.below, Op: core.Op{Call: core.CallInject, IOV: [][]byte{{1}}}}
}
