package conform

// Every flag that libfabric defines for the msg variants of data calls, one at a time. The data are checked.

import (
	"slices"
	"testing"

	"gofabric/core"
)

// Flags of transmits (fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3)).
var transmitFlags = []core.OpFlags{core.OpCompletion, core.OpMore, core.OpInject, core.OpRemoteCQData,
	core.OpInjectComplete, core.OpTransmitComplete, core.OpDeliveryComplete, core.OpFence}

func testMsgFlags(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	for _, c := range []core.Caps{core.CapAtomic, core.CapFence} {
		if st.Offers(t, c) {
			caps |= c
		}
	}
	p := Open(t, st, WithCaps(caps))
	flagsOfSends(p, caps)
	flagsOfReceives(p, caps)
	if caps&core.CapRMA != 0 {
		flagsOfRMA(p)
	}
	if caps&(core.CapRMA|core.CapAtomic) == core.CapRMA|core.CapAtomic {
		flagsOfAtomics(p)
	}
}

// flags returns the flags that the side's capabilities allow.
func (s *Side) flags() []core.OpFlags {
	if s.Info.Caps&core.CapFence != 0 {
		return transmitFlags
	}
	return slices.DeleteFunc(slices.Clone(transmitFlags), func(f core.OpFlags) bool { return f == core.OpFence })
}

// finish waits for the end of an operation that was posted with flags. Behind an operation with FI_MORE it sends a
// message.
func finish(p *Pair, ctx core.OpContext, flags core.OpFlags) Got {
	p.T.Helper()
	if flags&core.OpMore != 0 {
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 20, 7000+uint64(ctx))
	}
	return p.Want(p.A, ctx)
}

func flagsOfSends(p *Pair, caps core.Caps) {
	for i, f := range p.A.flags() {
		seed := 100 + uint64(i)
		c := sendCall{name: "sendmsg with " + f.String(), data: f == core.OpRemoteCQData}
		c.do = func(s *Side, b []byte, _ uint64, ctx core.OpContext) error {
			return s.EP.SendMsg(&core.MsgArgs{IOV: s.tx(b, 2), Addr: s.Peer, Ctx: ctx, Data: s.data()}, f)
		}
		exchange(p, p.A, p.B, c, msgRecvs[0], 60, seed)
		if caps&core.CapTagged == 0 {
			continue
		}
		c.name, c.tagged = "t"+c.name, true
		c.do = func(s *Side, b []byte, tag uint64, ctx core.OpContext) error {
			return s.EP.TSendMsg(&core.TaggedArgs{IOV: s.tx(b, 2), Addr: s.Peer, Tag: tag, Ctx: ctx, Data: s.data()}, f)
		}
		exchange(p, p.A, p.B, c, taggedRecvs[0], 60, seed)
	}
}

func flagsOfReceives(p *Pair, caps core.Caps) {
	for i, f := range []core.OpFlags{core.OpMore, core.OpCompletion} {
		seed := 200 + uint64(i)
		rc := recvCall{"recvmsg with " + f.String(), func(s *Side, b []byte, _ uint64, c core.OpContext) error {
			return s.Rx().RecvMsg(&core.MsgArgs{IOV: s.rx(b, 2), Addr: core.AddrUnspec, Ctx: c}, f)
		}}
		exchange(p, p.A, p.B, msgSends[0], rc, 60, seed)
		if caps&core.CapTagged == 0 {
			continue
		}
		rc.do = func(s *Side, b []byte, tag uint64, c core.OpContext) error {
			return s.Rx().TRecvMsg(&core.TaggedArgs{IOV: s.rx(b, 2), Addr: core.AddrUnspec, Tag: tag, Ctx: c}, f)
		}
		exchange(p, p.A, p.B, taggedSends[0], rc, 60, seed)
	}
}

// flagsOfRMA writes with each flag, and reads the data back.
func flagsOfRMA(p *Pair) {
	const n = 48
	mem := make([]byte, 256)
	mr := p.B.Reg(mem, allAccess)
	defer func() { p.B.ok("Close MR", mr.Close()) }()
	for i, f := range p.A.flags() {
		seed := uint64(300 + i)
		local := Pattern(n, seed)
		if f == core.OpRemoteCQData {
			p.forData()
		}
		p.Retry("writemsg", func() error {
			return p.A.EP.WriteMsg(&core.RMAArgs{IOV: p.A.tx(local, 2), Addr: p.A.Peer,
				RMAIOV: p.A.remote(mr.Base()+5, mr.Key(), n, 2), Ctx: 1, Data: p.A.data()}, f)
		})
		if f&core.OpInject != 0 {
			clear(local)
		}
		finish(p, 1, f)
		if f&core.OpRemoteCQData != 0 {
			p.WantWhere(p.B, "remote CQ data",
				func(g *Got) bool { return g.Flags&core.CompRemoteWrite != 0 && g.Data == p.A.data() })
		}
		if f&(core.OpInject|core.OpRemoteCQData|core.OpInjectComplete|core.OpTransmitComplete) != 0 {
			if f = 0; p.A.Info.Caps&core.CapFence != 0 {
				f = core.OpFence
			}
		}
		read := make([]byte, n)
		p.Retry("readmsg", func() error {
			return p.A.EP.ReadMsg(&core.RMAArgs{IOV: p.A.tx(read, 2), Addr: p.A.Peer,
				RMAIOV: p.A.remote(mr.Base()+5, mr.Key(), n, 2), Ctx: 2}, f)
		})
		finish(p, 2, f)
		CheckPattern(p.T, "what was written with "+transmitFlags[i].String(), read, n, seed)
	}
	p.Progress()
}

// flagsOfAtomics adds with each flag, in the three kinds of call.
func flagsOfAtomics(p *Pair) {
	mem := make([]byte, 64)
	mr := p.B.Reg(mem, allAccess)
	defer func() { p.B.ok("Close MR", mr.Close()) }()
	one := []byte{1, 0, 0, 0, 1, 0, 0, 0}
	sum := byte(0)
	for _, f := range p.A.flags() {
		m := &core.AtomicArgs{IOV: p.A.tx(one, 1), Addr: p.A.Peer,
			RMAIOC: []core.RMAIoc{{Addr: mr.Base() + 8, Count: 2, Key: mr.Key()}}, Type: core.Uint32,
			Op: core.AtomicSum, Ctx: 1, Data: p.A.data()}
		if f == core.OpRemoteCQData {
			p.forData()
		}
		p.Retry("atomicmsg", func() error { return p.A.EP.Atomic(m, f) })
		if f == core.OpRemoteCQData && p.Stack.Foreign { // native's atomics over rxm carry none
			if g := p.WantEnd(p.A, 1, Deadline); g.Err != nil {
				if g.Err.Err != core.ErrOpNotSupp {
					p.T.Errorf("atomic with remote CQ data: %v; want ErrOpNotSupp", g)
				}
				continue
			}
		} else {
			finish(p, 1, f)
		}
		if f&core.OpRemoteCQData != 0 {
			p.WantWhere(p.B, "remote CQ data",
				func(g *Got) bool { return g.Flags&core.CompRemoteCQData != 0 && g.Data == p.A.data() })
		}
		sum++
		if f&(core.OpInject|core.OpRemoteCQData|core.OpInjectComplete|core.OpTransmitComplete) != 0 {
			if f = 0; p.A.Info.Caps&core.CapFence != 0 {
				f = core.OpFence
			}
		}
		result := make([]byte, 8)
		m.Ctx = 2
		p.Retry("fetch_atomicmsg", func() error { return p.A.EP.FetchAtomic(m, [][]byte{result}, nil, f) })
		finish(p, 2, f)
		if result[0] != sum || result[4] != sum {
			p.T.Errorf("fetched %x after %d additions, the last with %s", result, sum, f.String())
		}
		sum++
		now, next := []byte{sum, 0, 0, 0, sum, 0, 0, 0}, []byte{sum + 1, 0, 0, 0, sum + 1, 0, 0, 0}
		m.Ctx, m.Op, m.IOV = 3, core.AtomicCSwap, [][]byte{next}
		p.Retry("compare_atomicmsg", func() error {
			return p.A.EP.CompareAtomic(m, [][]byte{now}, nil, [][]byte{result}, nil, f)
		})
		finish(p, 3, f)
		if result[0] != sum || result[4] != sum {
			p.T.Errorf("compared with %x, found %x", now, result)
		}
		sum++
	}
	m := &core.AtomicArgs{IOV: p.A.tx(one, 2), Addr: p.A.Peer,
		RMAIOC: []core.RMAIoc{{Addr: mr.Base() + 8, Count: 2, Key: mr.Key()}}, Type: core.Uint8,
		Op: core.AtomicSum, Ctx: 4}
	m.RMAIOC[0].Count = 8
	p.Retry("atomicv", func() error { return p.A.EP.Atomic(m, 0) })
	p.Want(p.A, 4)
	settle(p, mr)
	if mem[8] != sum+1 || mem[12] != sum+1 {
		p.T.Errorf("memory is %x, want %d", mem[8:16], sum+1)
	}
	p.Progress()
}
