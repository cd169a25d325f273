package conform

// Refused remote accesses (docs/wire/tcp.md, "Verdicts"). The operation ends with an error that tells the reason, even
// if it has no completion otherwise. The connection and its other operations continue.

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

// refusedCall is one way to access 8 bytes of remote memory.
type refusedCall struct {
	name    string
	caps    core.Caps
	reads   bool // needs the right to read
	writes  bool // needs the right to write
	data    bool
	inject  bool           // has no completion if it succeeds
	result  bool           // puts a result into b
	counter core.BindFlags // the counter that counts it
	level   core.OpFlags   // the completion level that it needs
	do      func(s *Side, b []byte, addr, key uint64, ctx core.OpContext) error
}

// refusedCalls are all calls of fi_rma(3) and fi_atomic(3), with all completion levels.
func refusedCalls() (all []refusedCall) {
	for _, c := range rmaTable {
		counter := core.BindWrite
		if c.read {
			counter = core.BindRead
		}
		all = append(all, refusedCall{name: c.name, caps: core.CapRMA, reads: c.read, writes: !c.read, data: c.data,
			inject: c.inject, result: c.read, counter: counter, do: c.do})
	}
	for name, f := range map[string]core.OpFlags{"inject": core.OpInject, "inject_complete": core.OpInjectComplete,
		"transmit_complete": core.OpTransmitComplete, "fence": core.OpFence} {
		all = append(all, refusedCall{name: "writemsg+" + name, caps: core.CapRMA, writes: true,
			counter: core.BindWrite, level: f, do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				return s.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{b}, Addr: s.Peer, RMAIOV: riov(a, k, len(b), 1), Ctx: c},
					f)
			}})
	}
	args := func(s *Side, b []byte, a, k uint64, c core.OpContext) *core.AtomicArgs {
		return &core.AtomicArgs{IOV: [][]byte{Pattern(8, 2)}, Addr: s.Peer,
			RMAIOC: []core.RMAIoc{{Addr: a, Count: 1, Key: k}}, Type: core.Uint64, Op: core.AtomicSum, Ctx: c}
	}
	const caps = core.CapRMA | core.CapAtomic
	return append(all,
		refusedCall{name: "atomic", caps: caps, writes: true, counter: core.BindWrite,
			do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				return s.EP.Atomic(args(s, b, a, k, c), 0)
			}},
		refusedCall{name: "atomic+delivery_complete", caps: caps, writes: true, counter: core.BindWrite,
			do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				return s.EP.Atomic(args(s, b, a, k, c), core.OpDeliveryComplete)
			}},
		refusedCall{name: "inject_atomic", caps: caps, writes: true, inject: true, counter: core.BindWrite,
			do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				return s.EP.InjectAtomic(Pattern(8, 2), s.Peer, a, k, core.Uint64, core.AtomicSum)
			}},
		refusedCall{name: "fetch_atomic", caps: caps, reads: true, writes: true, result: true, counter: core.BindRead,
			do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				return s.EP.FetchAtomic(args(s, b, a, k, c), [][]byte{b}, nil, 0)
			}},
		refusedCall{name: "fetch_atomic read", caps: caps, reads: true, result: true, counter: core.BindRead,
			do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				m := args(s, b, a, k, c)
				m.IOV, m.Op = nil, core.AtomicRead
				return s.EP.FetchAtomic(m, [][]byte{b}, nil, 0)
			}},
		refusedCall{name: "compare_atomic", caps: caps, reads: true, writes: true, result: true,
			counter: core.BindRead, do: func(s *Side, b []byte, a, k uint64, c core.OpContext) error {
				m := args(s, b, a, k, c)
				m.Op = core.AtomicCSwap
				return s.EP.CompareAtomic(m, [][]byte{Pattern(8, 3)}, nil, [][]byte{b}, nil, 0)
			}},
	)
}

func testRefused(t *testing.T, st Stack) {
	if st.Foreign { // native's format cannot carry a refusal: testAccess
		return
	}
	for _, c := range refusedCalls() {
		if st.Offers(t, c.caps) {
			t.Run(c.name, func(t *testing.T) { refusedOne(t, st, &c) })
		}
	}
	if st.Offers(t, core.CapRMA) {
		t.Run("counters", func(t *testing.T) { refusedCounters(t, st) })
		t.Run("large", func(t *testing.T) { refusedLarge(t, st) })
	}
}

// refusedOne makes a call fail for each possible reason. Meanwhile a message is pending that needs the connection.
func refusedOne(t *testing.T, st Stack, c *refusedCall) {
	const size = 64
	caps := c.caps
	// A fence would wait for it.
	witness := c.level != core.OpFence && st.Offers(t, core.CapTagged) && offersLevel(t, st, core.OpMatchComplete)
	if witness {
		caps |= core.CapTagged
	}
	if c.level == core.OpFence {
		if !st.Offers(t, caps|core.CapFence) {
			return
		}
		caps |= core.CapFence
	}
	p := Open(t, st, WithCaps(caps))
	p.Ping(1)
	guard := make([]byte, 3*size)
	whole := p.B.Reg(guard[size:2*size], allAccess)
	right := core.AccessRemoteWrite // the region gets the right that the call does not need
	if c.writes {
		right = core.AccessRemoteRead
	}
	half := p.B.Reg(make([]byte, size), core.AccessSend|core.AccessRecv|right)
	closed := p.B.Reg(make([]byte, size), allAccess)
	base, key := closed.Base(), closed.Key()
	if c.level == 0 {
		settle(p, closed) // the key was valid before
	}
	p.B.ok("Close MR", closed.Close())
	if witness {
		p.Retry("tsendmsg", func() error {
			return p.A.EP.TSendMsg(&core.TaggedArgs{IOV: [][]byte{Pattern(8, 7)}, Addr: p.A.Peer, Tag: 77, Ctx: 9000},
				core.OpMatchComplete)
		})
	}
	ctx := core.OpContext(100)
	for _, x := range []struct {
		name      string
		addr, key uint64
		want      core.Errno
	}{
		{"an unknown key", whole.Base(), whole.Key() ^ 0x55, core.ErrKeyRejected},
		{"a closed region", base, key, core.ErrKeyRejected},
		{"behind the end", whole.Base() + size - 4, whole.Key(), core.ErrAccess},
		{"far outside", whole.Base() + 1<<40, whole.Key(), core.ErrAccess},
		{"wrapping around", whole.Base() + ^uint64(3), whole.Key(), core.ErrAccess},
		{"no right", half.Base(), half.Key(), core.ErrAccess},
	} {
		ctx++
		what := c.name + " with " + x.name
		b := make([]byte, 8)
		if !c.result {
			copy(b, Pattern(8, 1))
		}
		if e := p.refusal(what, c, b, x.addr, x.key, ctx); e != nil {
			if e.Err != x.want || e.ProvErrno == 0 || !strings.Contains(e.Detail, "refused") &&
				!strings.Contains(e.Detail, "hardware") {
				t.Errorf("%s: %v (provider's %d): %s; want %v", what, e.Err, e.ProvErrno, e.Detail, x.want)
			}
		}
		if c.result {
			CheckZero(t, what, b)
		}
		CheckZero(t, what+": the target's memory", guard)
		p.goodAfter(what, whole, guard[size:2*size])
		clear(guard)
	}
	if witness {
		buf := make([]byte, 8)
		p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, 77, 0, 9001) })
		p.Want(p.B, 9001)
		p.Want(p.A, 9000)
		CheckPattern(t, "message from before", buf, 8, 7)
	}
	p.B.ok("Close MR", whole.Close())
	p.B.ok("Close MR", half.Close())
}

// refusal makes a call that is refused and returns its error entry. It returns nil if the call itself has failed.
func (p *Pair) refusal(what string, c *refusedCall, b []byte, addr, key uint64, ctx core.OpContext) *core.CQErrEntry {
	p.T.Helper()
	if p.refusedAtOnce(what, func() error { return c.do(p.A, b, addr, key, ctx) }) {
		return nil
	}
	if c.inject {
		ctx = 0
	}
	g := p.find(p.A, p.Stack.bounded(), what, func(g *Got) bool { return g.Ctx == ctx })
	if g.Err == nil {
		p.T.Fatalf("%s succeeded: %v", what, g)
	}
	return g.Err
}

// refusedAtOnce posts an access that must be refused. It reports whether the call itself refused it, as strict mode
// does where it knows the target.
func (p *Pair) refusedAtOnce(what string, post func() error) bool {
	p.T.Helper()
	err := p.TryPost(post)
	if err == nil {
		return false
	}
	notOffered(p.T, err)
	if !p.Stack.Comply || !oneOf(err, core.ErrKeyRejected, core.ErrAccess) {
		p.T.Fatalf("%s: %v", what, err)
	}
	if !strings.Contains(err.Error(), "On hardware: ") {
		p.T.Errorf("%s: %v; want the behaviour of the hardware in the error", what, err)
	}
	return true
}

// goodAfter sends a message and writes, and checks that both arrive, and nothing else.
func (p *Pair) goodAfter(what string, mr *core.MemoryRegion, mem []byte) {
	p.T.Helper()
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 3)
	p.forData()
	p.Retry("writedata", func() error {
		return p.A.EP.WriteData(Pattern(8, 5), 0, p.A.data()^1, p.A.Peer, mr.Base(), mr.Key(), 50)
	})
	p.Want(p.A, 50)
	g := p.find(p.B, Deadline, "remote CQ data after "+what,
		func(g *Got) bool { return g.Flags&core.CompRemoteCQData != 0 })
	if g.Data != p.A.data()^1 || g.Err != nil {
		p.T.Errorf("%s: the target saw %v", what, g)
	}
	p.Progress()
	CheckPattern(p.T, "a good write after "+what, mem, 8, 5)
	if len(p.A.got)+len(p.B.got) > 0 {
		p.T.Errorf("%s: further completions\n%s", what, p.Dump())
	}
}

// refusedCounters checks that refused accesses are counted as errors, and only as errors.
func refusedCounters(t *testing.T, st Stack) {
	var writes, reads, remote *core.Counter
	var all []*core.Counter
	p := Open(t, st, WithCaps(core.CapRMA), WithBefore(func(s *Side) {
		open := func(dir core.BindFlags) *core.Counter {
			c := must(t, "OpenCounter",
				func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
			s.ok("BindCounter", s.EP.BindCounter(c, dir))
			all = append(all, c)
			return c
		}
		if s.Name == "A" {
			writes, reads = open(core.BindWrite), open(core.BindRead)
		} else if s.Info.Caps&core.CapRMAEvent != 0 {
			remote = open(core.BindRemoteWrite)
		}
	}))
	mem := make([]byte, 64)
	mr := p.B.Reg(mem, allAccess)
	done := func() {
		p.B.ok("Close MR", mr.Close())
		p.A.CloseEP()
		p.B.CloseEP()
		for _, c := range all {
			p.A.ok("Close counter", c.Close())
		}
	}
	const n = 5
	if p.refusedAtOnce("a wrong key",
		func() error { return p.A.EP.Write(still[:8], 0, p.A.Peer, mr.Base(), mr.Key()^0x55, 1) }) {
		done() // nothing is counted
		return
	}
	p.WantErr(p.A, 1, core.ErrKeyRejected)
	for range n {
		p.Retry("access", func() error { return p.A.EP.Write(still[:8], 0, p.A.Peer, mr.Base(), mr.Key()^0x55, 1) })
		p.Retry("access", func() error { return p.A.EP.InjectWrite(still[:8], p.A.Peer, mr.Base(), mr.Key()^0x55) })
		p.Retry("access", func() error { return p.A.EP.Read(make([]byte, 8), 0, p.A.Peer, mr.Base(), mr.Key()^0x55, 2) })
		p.Retry("access", func() error { return p.A.EP.Write(still[:8], 0, p.A.Peer, mr.Base(), mr.Key(), 3) })
	}
	p.until("counters", func() bool {
		return writes.Value() == n && writes.ErrValue() == 2*n+1 && reads.ErrValue() == n &&
			(remote == nil || remote.Value() == n)
	})
	if reads.Value() != 0 || remote != nil && remote.ErrValue() != 0 {
		t.Errorf("reads %d, remote errors", reads.Value())
	}
	for range n {
		p.WantErr(p.A, 1, core.ErrKeyRejected)
		p.WantErr(p.A, 0, core.ErrKeyRejected)
		p.WantErr(p.A, 2, core.ErrKeyRejected)
		p.Want(p.A, 3)
	}
	done()
}

// refusedLarge mixes good and refused accesses of all sizes in both directions, more than can be pending at once.
func refusedLarge(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	const most = 200_000
	type half struct {
		from, to *Side
		mem      []byte
		mr       *core.MemoryRegion
		posted   core.OpContext
		ended    core.OpContext
	}
	halves := []*half{{from: p.A, to: p.B}, {from: p.B, to: p.A}}
	for _, h := range halves {
		h.mem = make([]byte, most)
		h.mr = h.to.Reg(h.mem, allAccess)
	}
	src := Pattern(most, 9)
	const rounds = 60
	bad := func(c core.OpContext) bool { return c%3 == 1 }
	post := func(h *half) error {
		c := h.posted + 1
		n := []int{1, 300, 9000, most}[c%4]
		key := h.mr.Key()
		if bad(c) {
			key ^= 0x55
		}
		if c%5 == 2 {
			return h.from.EP.Read(make([]byte, n), 0, h.from.Peer, h.mr.Base(), key, c)
		}
		return h.from.EP.Write(src[:n], 0, h.from.Peer, h.mr.Base(), key, c)
	}
	p.until("all accesses", func() bool {
		for _, h := range halves {
			for h.posted < rounds {
				err := post(h)
				if oneOf(err, core.ErrKeyRejected) && st.Comply {
					h.ended++
				} else if errors.Is(err, core.ErrAgain) {
					break
				} else if err != nil {
					notOffered(t, err)
					t.Fatal(err)
				}
				h.posted++
			}
			for _, g := range h.from.got {
				if (g.Err != nil) != bad(g.Ctx) || g.Err != nil && g.Err.Err != core.ErrKeyRejected {
					t.Fatalf("access %d: %v", g.Ctx, g)
				}
				h.ended++
			}
			h.from.got = nil
		}
		return halves[0].ended == rounds && halves[1].ended == rounds
	})
	for _, h := range halves {
		CheckPattern(t, "memory", h.mem, most, 9)
		h.to.ok("Close MR", h.mr.Close())
	}
}
