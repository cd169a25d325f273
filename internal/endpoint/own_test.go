package endpoint_test

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

// TestOwnCalls: what endpoints ask that implement their data calls themselves: default flags, whether an operation
// has a queue entry, and the room of a shared transmit context.
func TestOwnCalls(t *testing.T) {
	f := newFabric()
	d := newContextsDomain(t, f)
	info := contextsInfo(allCaps)
	info.Tx.OpFlags, info.Rx.OpFlags = core.OpInject, core.OpCompletion
	stx, err := d.OpenSTX(&core.TxAttr{Size: 2})
	must(t, err)
	q := d.queue(t)
	open := func(tx, rx core.BindFlags) *loopEndpoint {
		e := d.open(t, info)
		must(t, e.BindCQ(q, core.BindTransmit|tx))
		must(t, e.BindCQ(q, core.BindRecv|rx))
		return e
	}
	const selective = core.BindSelectiveCompletion
	for _, tt := range []struct {
		tx, rx core.BindFlags
	}{{0, 0}, {selective, 0}, {0, selective}, {selective, selective}} {
		e := open(tt.tx, tt.rx)
		d.locked(func() {
			for flags, silent := range map[core.OpFlags]bool{0: true, core.OpMore: true, core.OpCompletion: false} {
				if got := e.drv.SilentTx(flags); got != (silent && tt.tx != 0) {
					t.Errorf("%+v: a transmit with flags %v is silent: %v", tt, flags, got)
				}
				if got := e.drv.SilentRx(flags); got != (silent && tt.rx != 0) {
					t.Errorf("%+v: a receive with flags %v is silent: %v", tt, flags, got)
				}
			}
			if tx, rx := e.drv.DefaultFlags(core.BindTransmit), e.drv.DefaultFlags(core.BindRecv); tx != core.OpInject || rx != core.OpCompletion {
				t.Errorf("default flags %v and %v", tx, rx)
			}
			e.drv.CountTransmits(1000)
			if !e.drv.TransmitRoom() {
				t.Error("without a shared context there is no limit")
			}
		})
		must(t, e.Close())
	}

	a, b := open(0, 0), open(0, 0)
	must(t, a.BindSTX(stx))
	must(t, b.BindSTX(stx))
	d.locked(func() {
		a.drv.CountTransmits(1)
		if !b.drv.TransmitRoom() {
			t.Error("no room for the second of two operations")
		}
		b.drv.CountTransmits(1)
		if a.drv.TransmitRoom() || b.drv.TransmitRoom() {
			t.Error("room for a third operation")
		}
		b.drv.CountTransmits(-1)
		if !a.drv.TransmitRoom() {
			t.Error("no room after the other endpoint's operation has ended")
		}
		a.drv.CountTransmits(-1)
	})
	for _, o := range []core.Object{a, b, stx, q, d, f} {
		must(t, o.Close())
	}
}

// TestOwnSharedReceives: what such endpoints ask a shared receive context.
func TestOwnSharedReceives(t *testing.T) {
	f := newFabric()
	d := newDomain(t, f)
	e := d.open(t, testInfo(allCaps))
	for _, quiet := range []bool{false, true} {
		o, err := d.OpenSRX(&core.RxAttr{OpFlags: core.OpMultiRecv, Size: 4})
		must(t, err)
		q := d.queue(t)
		s := o.Driver().(*endpoint.SharedRx)
		d.locked(func() {
			if s.Reporter(&e.drv.Endpoint) != &e.drv.Endpoint {
				t.Error("without queues of its own, the endpoint reports")
			}
		})
		flags := core.BindRecv
		if quiet {
			flags |= core.BindSelectiveCompletion
		}
		must(t, o.BindCQ(q, flags))
		d.locked(func() {
			if got := s.DefaultFlags(); got != core.OpMultiRecv {
				t.Errorf("default flags %v", got)
			}
			if s.SilentRx(0) != quiet || s.SilentRx(core.OpCompletion) {
				t.Errorf("selective %v: silent without the flag: %v, with it: %v", quiet, s.SilentRx(0), s.SilentRx(core.OpCompletion))
			}
			if s.Reporter(&e.drv.Endpoint) == &e.drv.Endpoint {
				t.Error("with a queue of its own, the context reports")
			}
		})
		must(t, o.Close())
		must(t, q.Close())
	}
	for _, o := range []core.Object{e, d, f} {
		must(t, o.Close())
	}
}
