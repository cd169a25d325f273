package conform

// Counters of bytes (fi_cntr(3), FI_CNTR_EVENTS_BYTES), and counters of remote memory regions for reads, writes and
// atomics.

import (
	"context"
	"testing"

	"gofabric/core"
)

// counters are the six counters of an endpoint, by what they count.
type counters map[core.BindFlags]*core.Counter

var counterDirs = []core.BindFlags{core.BindSend, core.BindRecv, core.BindRead, core.BindWrite,
	core.BindRemoteRead, core.BindRemoteWrite}

// openCounters binds a counter of events for each direction to the side's endpoint.
func (s *Side) openCounters(events core.CntrEvents) counters {
	cs := counters{}
	for _, d := range counterDirs {
		c := must(s.T, "OpenCounter", func() (*core.Counter, error) {
			return s.Domain.OpenCounter(core.CntrAttr{Events: events, WaitObj: core.WaitUnspec})
		})
		s.ok("BindCounter", s.EP.BindCounter(c, d))
		cs[d] = c
	}
	return cs
}

// close closes the counters when their endpoint is closed.
func (cs counters) close(s *Side) {
	s.CloseEP()
	for _, c := range cs {
		s.ok("Close counter", c.Close())
	}
}

// want waits until the counters have the given values. Counters without a value must be 0.
func (cs counters) want(p *Pair, who string, values map[core.BindFlags]uint64) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	for _, d := range counterDirs {
		if err := cs[d].Wait(ctx, values[d]); err != nil || cs[d].Value() != values[d] || cs[d].ErrValue() != 0 {
			p.T.Errorf("%s: counter %#x: %d and %d errors, %v; want %d", who, uint64(d), cs[d].Value(),
				cs[d].ErrValue(), err, values[d])
		}
	}
}

// cntrTraffic counts the same traffic by operations and by bytes, at both endpoints and at two regions of the target.
func cntrTraffic(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA|core.CapAtomic|core.CapRMAEvent) {
		return
	}
	for _, events := range []core.CntrEvents{core.CntrEventsComp, core.CntrEventsBytes} {
		var a, b counters
		p := Open(t, st, WithCaps(core.CapRMA|core.CapAtomic|core.CapRMAEvent), WithBefore(func(s *Side) {
			if s.Name == "A" {
				a = s.openCounters(events)
			} else {
				b = s.openCounters(events)
			}
		}))
		var regs [2]*core.MemoryRegion
		var rd, wr [2]*core.Counter
		for i := range regs {
			regs[i] = must(t, "RegMR", func() (*core.MemoryRegion, error) {
				attr := &core.MRAttr{IOV: [][]byte{make([]byte, 4096)}, Access: allAccess,
					RequestedKey: uint64(i + 1), Flags: core.MRRMAEvent}
				return p.B.RegAttr(attr, func(mr *core.MemoryRegion) {
					for dir, c := range map[core.BindFlags]**core.Counter{core.BindRemoteRead: &rd[i],
						core.BindRemoteWrite: &wr[i]} {
						*c = must(t, "OpenCounter", func() (*core.Counter, error) { return p.B.Domain.OpenCounter(core.CntrAttr{Events: events}) })
						p.B.ok("BindCounter", mr.BindCounter(*c, dir))
					}
				})
			})
		}
		cntrCalls(p, regs)
		pick := func(comp, bytes uint64) uint64 {
			if events == core.CntrEventsBytes {
				return bytes
			}
			return comp
		}
		a.want(p, "initiator", map[core.BindFlags]uint64{core.BindSend: pick(2, 108),
			core.BindWrite: pick(4, 3156), core.BindRead: pick(5, 2056)})
		b.want(p, "target", map[core.BindFlags]uint64{core.BindRecv: pick(2, 108),
			core.BindRemoteWrite: pick(4, 3156), core.BindRemoteRead: pick(5, 2056)})
		for i, want := range [][2]uint64{{pick(5, 1056), pick(4, 2156)}, {pick(1, 1000), pick(1, 1000)}} {
			if r, w := rd[i].Value(), wr[i].Value(); r != want[0] || w != want[1] {
				t.Errorf("events %d: region %d: %d read, %d written; want %d", events, i, r, w, want)
			}
			p.B.ok("Close MR", regs[i].Close())
			p.B.ok("Close counter", rd[i].Close())
			p.B.ok("Close counter", wr[i].Close())
		}
		a.close(p.A)
		b.close(p.B)
	}
}

// cntrCalls makes the traffic that cntrTraffic counts.
func cntrCalls(p *Pair, regs [2]*core.MemoryRegion) {
	buf := make([]byte, 2000)
	for ctx := range core.OpContext(2) {
		p.Retry("recv", func() error { return p.B.Rx().Recv(make([]byte, 200), 0, core.AddrUnspec, ctx) })
	}
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
	p.Retry("senddata", func() error { return p.A.EP.SendData(buf[:100], 0, 1, p.A.Peer, 1) })
	p.Want(p.B, 0)
	p.Want(p.B, 1)
	p.Want(p.A, 1)
	both := []core.RMAIov{{Addr: regs[0].Base(), Len: 500, Key: regs[0].Key()},
		{Addr: regs[1].Base(), Len: 1000, Key: regs[1].Key()},
		{Addr: regs[0].Base() + 500, Len: 500, Key: regs[0].Key()}}
	r := regs[0]
	p.Retry("write", func() error { return p.A.EP.Write(buf[:1148], 0, p.A.Peer, r.Base(), r.Key(), 2) })
	p.Retry("inject_write", func() error { return p.A.EP.InjectWrite(still[:0], p.A.Peer, r.Base(), r.Key()) })
	p.Retry("writemsg", func() error {
		return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{buf}, Addr: p.A.Peer, RMAIOV: both, Ctx: 3}, 0)
	})
	p.Retry("readmsg", func() error {
		return p.A.EP.ReadMsg(&core.RMAArgs{IOV: [][]byte{buf}, Addr: p.A.Peer, RMAIOV: both, Ctx: 4}, 0)
	})
	p.Retry("read", func() error { return p.A.EP.Read(buf[:16], 0, p.A.Peer, r.Base(), r.Key(), 5) })
	m := &core.AtomicArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer,
		RMAIOC: []core.RMAIoc{{Addr: r.Base(), Count: 1, Key: r.Key()}}, Type: core.Uint64, Op: core.AtomicSum, Ctx: 6}
	p.Retry("atomic", func() error { return p.A.EP.Atomic(m, 0) })
	m.Ctx = 7
	p.Retry("fetch", func() error { return p.A.EP.FetchAtomic(m, [][]byte{buf[:8]}, nil, 0) })
	m.Op, m.Ctx = core.AtomicCSwap, 8
	p.Retry("compare", func() error {
		return p.A.EP.CompareAtomic(m, [][]byte{still[8:16]}, nil, [][]byte{buf[8:16]}, nil, 0)
	})
	m.Op, m.Ctx, m.IOV, m.Type = core.AtomicRead, 9, nil, core.Uint64
	m.RMAIOC[0].Count = 3
	p.Retry("fetching read", func() error { return p.A.EP.FetchAtomic(m, [][]byte{buf[16:40]}, nil, 0) })
	for ctx := core.OpContext(2); ctx <= 9; ctx++ {
		p.Want(p.A, ctx)
	}
	p.Progress()
}
