package conform

// Triggered operations (fi_trigger(3)): the flag OpTrigger on the msg variants.

import (
	"bytes"
	"context"
	"testing"
	"time"

	"gofabric/core"
)

func testTrigger(t *testing.T, st Stack) {
	if !st.need(t, core.CapTrigger) {
		p := Open(t, st)
		refuse(t, "a triggered send",
			p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer, Trigger: &core.TriggeredContext{}},
				core.OpTrigger),
			core.ErrOpNotSupp, core.ErrBadFlags)
		return
	}
	t.Run("kinds", func(t *testing.T) { triggerKinds(t, st) })
	t.Run("order", func(t *testing.T) { triggerOrder(t, st) })
	t.Run("asleep", func(t *testing.T) { triggerAsleep(t, st) })
	t.Run("cancel", func(t *testing.T) { triggerCancel(t, st) })
}

// counter opens a counter that is closed before the side. It must not be bound to the endpoint.
func (s *Side) counter() *core.Counter {
	s.T.Helper()
	c := must(s.T, "OpenCounter", func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
	s.T.Cleanup(func() { s.ok("Close counter", c.Close()) })
	return c
}

// wantCount waits, blocked in Wait, until counter c of the side reaches n.
func (s *Side) wantCount(what string, c *core.Counter, n uint64) {
	s.T.Helper()
	for end := time.Now().Add(Deadline); s.Stack.Manual && c.Value() < n &&
		c.ErrValue() == 0 && time.Now().Before(end); {
		for _, x := range []*Side{s, s.also} {
			if x != nil && !x.Asleep {
				x.Pump()
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	if err := c.Wait(ctx, n); err != nil {
		s.T.Fatalf("%s: %s: %v; the counter is at %d with %d errors, want %d", s.Name,
			what, err, c.Value(), c.ErrValue(), n)
	}
}

// quiet fails the test if one of the sides has a completion.
func (p *Pair) quiet(what string) {
	p.T.Helper()
	for range 20 {
		p.Progress()
	}
	for _, s := range p.sides() {
		if len(s.got) > 0 {
			p.T.Fatalf("%s: too early\n%s", what, s.Dump())
		}
	}
}

// workCaps returns those capabilities of the stack whose operations can be deferred.
func workCaps(t *testing.T, st Stack) core.Caps {
	caps := core.CapTrigger
	for _, c := range []core.Caps{core.CapTagged, core.CapRMA, core.CapAtomic} {
		if st.Offers(t, caps|c) {
			caps |= c
		}
	}
	return caps
}

// triggerKinds triggers one operation of each kind at a threshold of its own, and later with a threshold in the past.
func triggerKinds(t *testing.T, st Stack) {
	caps := workCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	ca, cb := p.A.counter(), p.B.counter()
	mem := make([]byte, 64)
	buf, in, read := Pattern(64, 1), make([]byte, 64), make([]byte, 64)
	var riov []core.RMAIov
	var rioc []core.RMAIoc
	if caps&core.CapRMA != 0 {
		mr := p.B.Reg(mem, allAccess)
		defer func() { p.B.ok("Close MR", mr.Close()) }()
		riov = []core.RMAIov{{Addr: mr.Base(), Len: 64, Key: mr.Key()}}
		rioc = []core.RMAIoc{{Addr: mr.Base(), Count: 8, Key: mr.Key()}}
	}
	for round, done := 0, false; !done; round++ {
		done = round == 1
		at := uint64(0)
		when := func(c *core.Counter) *core.TriggeredContext {
			return &core.TriggeredContext{Cntr: c, Threshold: at}
		}
		// fire posts the operation of A, checks that it waits, and triggers it.
		fire := func(what string, ctx core.OpContext, post func(tc *core.TriggeredContext) error) {
			t.Helper()
			at++
			p.Retry(what, func() error { return post(when(ca)) })
			if round == 0 {
				p.quiet(what)
				p.A.ok("Add", ca.Add(1))
			}
			p.Want(p.A, ctx)
		}
		at = 1
		p.Retry("recv", func() error {
			return p.B.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{in}, Addr: core.AddrUnspec, Ctx: 1,
				Trigger: when(cb)}, core.OpTrigger)
		})
		if caps&core.CapTagged != 0 {
			p.Retry("trecv", func() error {
				return p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{read}, Addr: core.AddrUnspec, Tag: 9, Ctx: 2,
					Trigger: when(cb)}, core.OpTrigger)
			})
		}
		at = 0
		fire("send", 3, func(tc *core.TriggeredContext) error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{buf}, Addr: p.A.Peer, Ctx: 3, Trigger: tc},
				core.OpTrigger)
		})
		if caps&core.CapTagged != 0 {
			fire("tsend", 4, func(tc *core.TriggeredContext) error {
				return p.A.EP.TSendMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: p.A.Peer, Tag: 9,
					Ctx: 4, Trigger: tc}, core.OpTrigger)
			})
		}
		if round == 0 {
			p.quiet("receives")
			p.B.ok("Add", cb.Add(1))
		}
		p.Want(p.B, 1)
		CheckPattern(t, "triggered message", in, 64, 1)
		clear(in)
		if caps&core.CapTagged != 0 {
			p.Want(p.B, 2)
			CheckPattern(t, "triggered tagged message", read, 64, 1)
			clear(read)
		}
		if caps&core.CapRMA != 0 {
			fire("write", 5, func(tc *core.TriggeredContext) error {
				return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{buf}, Addr: p.A.Peer, RMAIOV: riov,
					Ctx: 5, Trigger: tc}, core.OpTrigger)
			})
			fire("read", 6, func(tc *core.TriggeredContext) error {
				return p.A.EP.ReadMsg(&core.RMAArgs{IOV: [][]byte{read}, Addr: p.A.Peer, RMAIOV: riov,
					Ctx: 6, Trigger: tc}, core.OpTrigger)
			})
			CheckPattern(t, "triggered write and read", read, 64, 1)
		}
		if caps&core.CapAtomic != 0 {
			m := &core.AtomicArgs{IOV: [][]byte{buf}, Addr: p.A.Peer, RMAIOC: rioc,
				Type: core.Uint64, Op: core.AtomicBXor, Ctx: 7}
			fire("atomic", 7, func(tc *core.TriggeredContext) error {
				m.Trigger = tc
				return p.A.EP.Atomic(m, core.OpTrigger)
			})
			fire("fetch", 7, func(tc *core.TriggeredContext) error {
				m.Trigger = tc
				return p.A.EP.FetchAtomic(m, [][]byte{read}, nil, core.OpTrigger)
			})
			CheckZero(t, "a pattern combined with itself", read)
			m.Op = core.AtomicCSwap
			fire("compare", 7, func(tc *core.TriggeredContext) error {
				m.Trigger = tc
				return p.A.EP.CompareAtomic(m, [][]byte{make([]byte, 64)}, nil, [][]byte{read}, nil, core.OpTrigger)
			})
			CheckPattern(t, "compared", read, 64, 1)
		}
	}
}

// triggerOrder queues messages in any order, and then exceeds all their thresholds at once. They arrive in the order
// of the thresholds, and with equal thresholds in the order of posting.
func triggerOrder(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger))
	c := p.A.counter()
	const n = 60
	in := make([]byte, n)
	for i := range n {
		p.Retry("recv", func() error { return p.B.Rx().Recv(in[i:i+1], 0, core.AddrUnspec, core.OpContext(i)) })
	}
	out := make([]byte, n)
	want := make([]byte, 0, n)
	for i := range out {
		out[i] = byte(i)
		at := uint64(5 - i%3) // 5, 4, 3, 5, ...
		p.Retry("send", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{out[i : i+1]},
				Addr: p.A.Peer, Ctx: core.OpContext(100 + i),
				Trigger: &core.TriggeredContext{Cntr: c, Threshold: at}}, core.OpTrigger)
		})
	}
	p.A.ok("Add", c.Add(2))
	p.quiet("messages below their thresholds")
	p.A.ok("Add", c.Add(10))
	for first := 2; first >= 0; first-- {
		for i := first; i < n; i += 3 {
			want = append(want, byte(i))
			p.Want(p.A, core.OpContext(100+i))
		}
	}
	for i := range n {
		p.Want(p.B, core.OpContext(i))
	}
	if !bytes.Equal(in, want) {
		t.Errorf("received %v, want %v", in, want)
	}
}

// triggerAsleep has incoming messages and peers' writes trigger an answer while the application makes no calls.
func triggerAsleep(t *testing.T, st Stack) {
	caps := core.CapTrigger
	if st.Offers(t, caps|core.CapRMA|core.CapRMAEvent) {
		caps |= core.CapRMA | core.CapRMAEvent
	}
	var c *core.Counter
	p := Open(t, st, WithCaps(caps), withAuto(), WithBefore(func(s *Side) {
		if s.Name != "B" {
			return
		}
		c = must(t, "OpenCounter", func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
		dir := core.BindRecv
		if caps&core.CapRMA != 0 {
			dir |= core.BindRemoteWrite
		}
		s.ok("BindCounter", s.EP.BindCounter(c, dir))
	}))
	const n = 20
	in, buf, out := make([]byte, 8), make([]byte, 8), Pattern(n, 3)
	p.Ping(1)
	p.quiet("before")
	began := c.Value()
	for i := range n {
		p.Retry("answer", func() error {
			return p.B.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{out[i : i+1]},
				Addr: p.B.Peer, Ctx: core.OpContext(100 + i),
				Trigger: &core.TriggeredContext{Cntr: c, Threshold: began + uint64(i) + 1}}, core.OpTrigger)
		})
		if caps&core.CapRMA == 0 || i%2 == 0 {
			p.Retry("recv", func() error { return p.B.Rx().Recv(in, 0, core.AddrUnspec, core.OpContext(200+i)) })
		}
	}
	var mr *core.MemoryRegion
	if caps&core.CapRMA != 0 {
		mr = p.B.Reg(make([]byte, 8), allAccess)
	}
	p.B.Asleep = true
	for i := range n {
		p.Retry("recv", func() error { return p.A.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
		if i%3 == 0 {
			time.Sleep(3 * time.Millisecond) // long enough that no thread polls any more
		}
		if caps&core.CapRMA == 0 || i%2 == 0 {
			p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		} else {
			p.Retry("write", func() error { return p.A.EP.InjectWrite(still[:8], p.A.Peer, mr.Base(), mr.Key()) })
		}
		p.Want(p.A, 1)
		if buf[0] != out[i] {
			t.Fatalf("answer %d is %#x, want %#x", i, buf[0], out[i])
		}
	}
	p.B.Asleep = false
	for i := range n {
		p.Want(p.B, core.OpContext(100+i))
		if caps&core.CapRMA == 0 || i%2 == 0 {
			p.Want(p.B, core.OpContext(200+i))
		}
	}
	if mr != nil {
		p.B.ok("Close MR", mr.Close())
	}
	p.B.CloseEP()
	p.B.ok("Close counter", c.Close())
}

// triggerCancel cancels waiting operations (fi_cancel(3)), and closes endpoints with waiting operations.
func triggerCancel(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger))
	ca, cb := p.A.counter(), p.B.counter()
	send := func(ctx core.OpContext) {
		t.Helper()
		p.Retry("send", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer, Ctx: ctx,
				Trigger: &core.TriggeredContext{Cntr: ca, Threshold: 1}}, core.OpTrigger)
		})
	}
	recv := func(ctx core.OpContext) {
		t.Helper()
		p.Retry("recv", func() error {
			return p.B.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{make([]byte, 8)}, Addr: core.AddrUnspec, Ctx: ctx,
				Trigger: &core.TriggeredContext{Cntr: cb, Threshold: 1}}, core.OpTrigger)
		})
	}
	send(1)
	send(2)
	recv(3)
	recv(4)
	refuse(t, "Close of a counter with a waiting operation", ca.Close(), core.ErrBusy)
	p.A.ok("Cancel", p.A.EP.Cancel(1))
	p.WantErr(p.A, 1, core.ErrCanceled)
	p.B.ok("Cancel", p.B.Rx().Cancel(3))
	p.WantErr(p.B, 3, core.ErrCanceled)
	refuse(t, "second Cancel", p.A.EP.Cancel(1), core.ErrNoEnt)
	p.A.ok("Add", ca.Add(1))
	p.B.ok("Add", cb.Add(1))
	p.Want(p.A, 2)
	p.Want(p.B, 4)
	send(5) // the condition is met
	ca.Set(0)
	send(6)
	cb.Set(0)
	recv(7)
	p.Want(p.A, 5)
	p.B.ok("Cancel", p.B.Rx().Cancel(7))
	p.WantErr(p.B, 7, core.ErrCanceled)
	p.A.CloseEP() // drops a triggered send that has not started
	p.A.ok("Add", ca.Add(1))
}
