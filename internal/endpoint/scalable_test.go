package endpoint_test

// This file tests scalable endpoints and their contexts, over the loop provider's endpoint.

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

// OpenScalable implements core.DomainDriver.
func (d *loopDomain) OpenScalable(info *core.Info, _ *core.ScalableEndpoint) (core.ScalableDriver, error) {
	d.scalable = newLoopEP(d, info)
	return endpoint.NewScalable(d.scalable)
}

// scalable is a scalable endpoint with its driver.
type scalable struct {
	*core.ScalableEndpoint
	drv *loopEP
}

func (d *domain) openScalable(t testing.TB, tx, rx int) *scalable {
	t.Helper()
	info := contextsInfo(allCaps)
	info.EP.TxCtxCnt, info.EP.RxCtxCnt = tx, rx
	s := opened(t, d.OpenScalable, info)
	return &scalable{s, d.drv.scalable}
}

func TestScalableRefused(t *testing.T) {
	f := newFabric()
	d := newContextsDomain(t, f)
	info := contextsInfo(allCaps)
	info.EP.TxCtxCnt = endpoint.MaxContexts + 1
	_, err := d.OpenScalable(info)
	wants(t, "too many contexts", err, core.ErrInval)
	s := d.openScalable(t, 2, 3)
	q, c, v, stx := d.queue(t), d.counter(t), d.vector(t), opened(t, d.OpenSTX, nil)
	for index, want := range map[int]core.Errno{-1: core.ErrInval, 2: core.ErrInval, 3: core.ErrInval} {
		_, err := s.TxContext(index, nil)
		wants(t, "a transmit context that does not exist", err, want)
	}
	_, err = s.RxContext(3, nil)
	wants(t, "a receive context that does not exist", err, core.ErrInval)
	for name, a := range map[string]core.TxAttr{
		"capability": {Caps: core.CapAtomic}, "receive flag": {OpFlags: core.OpMultiRecv}, "size": {Size: 33},
		"inject size": {InjectSize: 65}, "iov": {IOVLimit: 99},
	} {
		_, err := s.TxContext(0, &a)
		wants(t, "more than the endpoint has: "+name, err, core.ErrInval)
	}
	for name, a := range map[string]core.RxAttr{"capability": {Caps: core.CapAtomic},
		"transmit flag": {OpFlags: core.OpInject}, "size": {Size: 33}} {
		_, err := s.RxContext(0, &a)
		wants(t, "more than the endpoint has: "+name, err, core.ErrInval)
	}
	asked := &core.TxAttr{Size: 7}
	tx, err := s.TxContext(1, asked)
	must(t, err)
	if asked.Size != 7 || asked.InjectSize != 64 || asked.Caps != allCaps {
		t.Errorf("the context has %+v", asked)
	}
	rx, err := s.RxContext(2, &core.RxAttr{Size: 4})
	must(t, err)
	_, err = s.TxContext(1, nil)
	wants(t, "a context that is open", err, core.ErrBusy)
	wants(t, "closing before the contexts", s.Close(), core.ErrBusy)

	wants(t, "a receive queue at a transmit context", tx.BindCQ(q, core.BindTransmit|core.BindRecv), core.ErrBadFlags)
	wants(t, "a transmit queue at a receive context", rx.BindCQ(q, core.BindTransmit), core.ErrBadFlags)
	wants(t, "a receive counter at a transmit context", tx.BindCounter(c, core.BindRecv), core.ErrBadFlags)
	wants(t, "a transmit counter at a receive context", rx.BindCounter(c, core.BindWrite), core.ErrBadFlags)
	wants(t, "a vector at a context", tx.BindAV(v, 0), core.ErrInval)
	wants(t, "a shared context at a context", tx.BindSTX(stx), core.ErrInval)
	wants(t, "Enable without a queue", tx.Enable(), core.ErrNoCQ)
	must(t, tx.BindCQ(q, core.BindTransmit))
	must(t, rx.BindCounter(c, core.BindRecv))
	must(t, tx.Enable())
	must(t, rx.Enable())
	wants(t, "Enable again", tx.Enable(), core.ErrOpBadState)
	wants(t, "a send before the scalable endpoint's Enable", tx.Send(message, 0, 0, 1), core.ErrOpBadState)
	wants(t, "a send from a receive context", rx.Send(message, 0, 0, 1), core.ErrNoSys)
	wants(t, "a receive at a transmit context", tx.Recv(nil, 0, 0, 1), core.ErrNoSys)
	_, err = tx.GetOpt(core.OptMinMultiRecv)
	wants(t, "a receive option of a transmit context", err, core.ErrNoProtoOpt)
	wants(t, "setting one", tx.SetOpt(core.OptMinMultiRecv, 1), core.ErrNoProtoOpt)
	must(t, rx.SetOpt(core.OptMinMultiRecv, 17))
	if n, err := rx.GetOpt(core.OptMinMultiRecv); n != 17 || err != nil {
		t.Errorf("the option is %d, %v", n, err)
	}
	for _, o := range []core.Object{tx, rx} {
		must(t, o.Close())
	}
	must(t, s.Close())
	_, err = s.TxContext(0, nil)
	wants(t, "a context of a closed endpoint", err, core.ErrBadF)
	for _, o := range []core.Object{q, c, v, stx, d, f} {
		must(t, o.Close())
	}
}

// TestScalable: each context reports its own operations. A context that closes ends its operations without
// completions, and those of the others go on.
func TestScalable(t *testing.T) {
	f := newFabric()
	d := newContextsDomain(t, f)
	s, b := d.openScalable(t, 2, 1), d.open(t, contextsInfo(allCaps))
	s.drv.peer, b.drv.peer = b.drv, s.drv
	s.drv.held, b.drv.held = true, true
	qb := d.queue(t)
	must(t, b.BindCQ(qb, core.BindTransmit|core.BindRecv))
	must(t, b.Enable())
	carry := func() { d.locked(func() { s.drv.pump(); b.drv.pump() }) }
	var txs [2]*core.Endpoint
	var qs [2]*core.CompletionQueue
	for i := range txs {
		var err error
		txs[i], err = s.TxContext(i, nil)
		must(t, err)
		qs[i] = d.queue(t)
		must(t, txs[i].BindCQ(qs[i], core.BindTransmit))
		must(t, txs[i].Enable())
	}
	must(t, s.Enable())
	rx, err := s.RxContext(0, nil)
	must(t, err)
	qr := d.queue(t)
	must(t, rx.BindCQ(qr, core.BindRecv))
	must(t, rx.Enable())
	mem, buf := []byte("remote"), make([]byte, 6)
	region := opened(t, d.RegMR, &core.MRAttr{IOV: [][]byte{mem}, Access: core.AccessRemoteRead, RequestedKey: 3})

	in := make([]byte, 64)
	for i, tx := range txs {
		must(t, b.Recv(in, 0, core.AddrUnspec, 9))
		must(t, tx.Send(message, 0, 0, core.OpContext(i)))
		carry()
		if e := next(t, qb); e.Len != len(message) {
			t.Errorf("the peer receives %+v", e)
		}
		if e := next(t, qs[i]); e.Ctx != core.OpContext(i) {
			t.Errorf("context %d: %+v", i, e)
		}
		none(t, qs[1-i])
	}
	must(t, b.Send(message, 0, 0, 1))
	carry()
	must(t, rx.Recv(in, 0, core.AddrUnspec, 4))
	if e := next(t, qr); e.Ctx != 4 || e.Len != len(message) {
		t.Errorf("received %+v", e)
	}
	next(t, qb)
	must(t, rx.Recv(in, 0, core.AddrUnspec, 5))
	must(t, rx.Cancel(5))
	wants(t, "cancelling again", rx.Cancel(5), core.ErrNoEnt)
	var ee core.CQErrEntry
	must(t, qr.ReadErr(&ee))
	if ee.Ctx != 5 || ee.Err != core.ErrCanceled {
		t.Errorf("cancelled: %+v", ee)
	}

	must(t, txs[0].Read(buf, 0, 0, 0, 3, 1))
	must(t, txs[1].Read(buf, 0, 0, 0, 3, 2))
	must(t, txs[0].Close())
	carry()
	none(t, qs[0])
	if e := next(t, qs[1]); e.Ctx != 2 || string(buf) != "remote" {
		t.Errorf("of the context that stays: %+v, %q", e, buf)
	}
	again, err := s.TxContext(0, nil) // its place is free
	must(t, err)
	wants(t, "cancelling an operation that does not exist", again.Cancel(9), core.ErrNoEnt)
	for _, o := range []core.Object{again, txs[1], rx, s, b, region, qs[0], qs[1], qb, qr, d, f} {
		must(t, o.Close())
	}
}
