package endpoint_test

// This file tests shared transmit contexts, and the router of operations that count against them (contextRouter).

import (
	"testing"

	"gofabric/core"
)

// contextsInfo is testInfo of a domain with shared transmit contexts and scalable endpoints.
func contextsInfo(caps core.Caps) *core.Info {
	i := testInfo(caps)
	i.Domain.MaxEPStxCtx = 4
	i.Tx.Caps, i.Rx.Caps = caps, caps
	return i
}

// newContextsDomain is newDomain with contextsInfo.
func newContextsDomain(t testing.TB, f *core.Fabric) *domain {
	t.Helper()
	d := opened(t, f.OpenDomain, contextsInfo(allCaps))
	return &domain{d, d.Driver().(*loopDomain)}
}

func TestSharedTxRefused(t *testing.T) {
	f := newFabric()
	plain, d, other := newDomain(t, f), newContextsDomain(t, f), newContextsDomain(t, f)
	for name, c := range map[string]struct {
		d    *domain
		attr core.TxAttr
		want core.Errno
	}{
		"none here":       {plain, core.TxAttr{}, core.ErrNoSys},
		"a receive flag":  {d, core.TxAttr{OpFlags: core.OpMultiRecv}, core.ErrBadFlags},
		"a negative size": {d, core.TxAttr{Size: -1}, core.ErrInval},
	} {
		_, err := c.d.OpenSTX(&c.attr)
		wants(t, name, err, c.want)
	}
	stx := opened(t, d.OpenSTX, &core.TxAttr{Caps: core.CapMsg | core.CapSend})
	foreign, any := opened(t, other.OpenSTX, nil), opened(t, d.OpenSTX, nil)
	e := d.open(t, contextsInfo(allCaps))
	wants(t, "of another domain", e.BindSTX(foreign), core.ErrInval)
	wants(t, "without the endpoint's capabilities", e.BindSTX(stx), core.ErrInval)
	must(t, e.BindSTX(any))
	wants(t, "a second one", e.BindSTX(any), core.ErrInval)
	wants(t, "closing it in use", any.Close(), core.ErrBusy)
	must(t, e.Close())
	for _, s := range []*core.SharedTx{stx, foreign, any} {
		must(t, s.Close())
		wants(t, "closing it again", s.Close(), core.ErrBadF)
	}
	for _, o := range []core.Object{plain, d, other, f} {
		must(t, o.Close())
	}
}

// TestSharedTx: the operations of all bound endpoints count against the size until they complete.
func TestSharedTx(t *testing.T) {
	f := newFabric()
	d := newContextsDomain(t, f)
	stx := opened(t, d.OpenSTX, &core.TxAttr{Size: 2})
	var ends [2]*loopEndpoint
	var queues [2]*core.CompletionQueue
	for i := range ends {
		ends[i], queues[i] = d.open(t, contextsInfo(allCaps)), d.queue(t)
		must(t, ends[i].BindCQ(queues[i], core.BindTransmit|core.BindRecv))
		must(t, ends[i].BindSTX(stx))
		must(t, ends[i].Enable())
	}
	a, b := ends[0], ends[1]
	a.drv.peer, b.drv.peer = b.drv, a.drv
	a.drv.held, b.drv.held = true, true
	mem := make([]byte, 8)
	region := opened(t, d.RegMR, &core.MRAttr{IOV: [][]byte{mem}, Access: core.AccessRemoteRead, RequestedKey: 3})
	buf := make([]byte, 8)
	for round := range 3 {
		must(t, a.Read(buf, 0, 0, 0, 3, 1))
		must(t, b.Read(buf, 0, 0, 0, 3, 2))
		for _, e := range ends {
			wants(t, "a third of two", e.Read(buf, 0, 0, 0, 3, 3), core.ErrAgain)
		}
		d.locked(func() { a.drv.pump(); b.drv.pump() })
		for i, q := range queues {
			if e := next(t, q); e.Ctx != core.OpContext(i+1) {
				t.Errorf("round %d: %+v", round, e)
			}
		}
	}
	must(t, a.Inject(message, 0)) // it completes at once, so it does not count
	must(t, a.Inject(message, 0))
	must(t, a.Read(buf, 0, 0, 0, 3, 1))
	must(t, b.Read(buf, 0, 0, 0, 3, 2))
	wants(t, "a third of two", b.Read(buf, 0, 0, 0, 3, 3), core.ErrAgain)
	must(t, a.Close()) // its operations in progress end with it
	must(t, b.Read(buf, 0, 0, 0, 3, 4))
	must(t, b.Close())
	for _, o := range []core.Object{stx, region, queues[0], queues[1], d, f} {
		must(t, o.Close())
	}
}

// TestReadsFirst: with the order of writes after reads, a write waits until an earlier read completes. Other
// operations do not wait.
func TestReadsFirst(t *testing.T) {
	for name, order := range map[string]core.Order{"no order": 0, "RMA writes after reads": core.OrderRMAWAR,
		"sends after reads": core.OrderSAR} {
		t.Run(name, func(t *testing.T) {
			f := newFabric()
			d := newDomain(t, f)
			info := testInfo(allCaps)
			info.Tx.MsgOrder = order
			a, b, q := d.open(t, info), d.open(t, testInfo(allCaps)), d.queue(t)
			a.drv.peer, b.drv.peer, a.drv.held = b.drv, a.drv, true
			for _, e := range []*loopEndpoint{a, b} {
				must(t, e.BindCQ(q, core.BindTransmit|core.BindRecv))
				must(t, e.Enable())
			}
			mem := []byte("before")
			region := opened(t, d.RegMR,
				&core.MRAttr{IOV: [][]byte{mem}, Access: core.AccessRemoteRead | core.AccessRemoteWrite,
					RequestedKey: 3})
			in := make([]byte, 6)
			must(t, a.Read(in, 0, 0, 0, 3, 1))
			queued := a.drv.conn.Queued()
			must(t, a.Write([]byte("after!"), 0, 0, 0, 3, 2))
			if waits := a.drv.conn.Queued() == queued; waits != (order == core.OrderRMAWAR) {
				t.Errorf("the write waits for the read: %v", waits)
			}
			d.locked(func() { a.drv.pump() })
			if string(in) != "before" || string(mem) != "after!" {
				t.Errorf("read %q, memory %q", in, mem)
			}
			var es [4]core.CQEntry
			if n, err := q.Read(es[:]); n != 2 || err != nil {
				t.Errorf("%d completions, %v", n, err)
			}
			for _, o := range []core.Object{a, b, region, q, d, f} {
				must(t, o.Close())
			}
		})
	}
}
