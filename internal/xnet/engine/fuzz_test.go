// This file feeds the engine any bytes. It must not panic, and must use bounded memory and release all resources.

package engine

import (
	"math/rand/v2"
	"testing"

	"gofabric/internal/xnet/wire"
)

func fuzzSeeds() [][]byte {
	cm := wire.AppendCM(nil, wire.CMConnReq, []byte("x"))
	var all []byte
	for _, h := range []wire.Header{
		{Op: wire.OpMsg, Flags: wire.FlagDelivery}, {Op: wire.OpTag, Tag: 1, Flags: wire.FlagCQData},
		{Op: wire.OpWrite, IovCnt: 1, IOV: segs(wire.RMAIov{Len: 5})},
	} {
		all = append(append(all, header(h, 5)...), "hello"...)
	}
	for _, h := range []wire.Header{
		{Op: wire.OpReadReq, IovCnt: 1, IOV: segs(wire.RMAIov{Len: 50})},
		{Op: wire.OpTagRTS, OpData: 3, Tag: 1, MsgSize: 5},
		{Op: wire.OpCTS, OpData: 1}, {Op: wire.OpMsg, OpData: wire.OpDataAck},
	} {
		all = append(all, header(h, 0)...)
	}
	for _, h := range []wire.Header{
		{Op: wire.OpAtomic, OpData: 7, Atomic: 2, IovCnt: 1, IOV: segs(wire.RMAIov{Len: 16})},
		{Op: wire.OpAtomicFetch, OpData: 9, Atomic: 3, IovCnt: 1, IOV: segs(wire.RMAIov{Len: 16})},
	} {
		all = append(append(all, header(h, 16)...), "sixteen operands"...)
	}
	all = append(append(all, header(wire.Header{Op: wire.OpAtomicCompare, OpData: 1, Atomic: 12, IovCnt: 1,
		IOV: segs(wire.RMAIov{Len: 8})}, 16)...), "sixteen operands"...)
	all = append(all, header(wire.Header{Op: wire.OpAtomicFetch, OpData: 1, Atomic: wire.AtomicRead, IovCnt: 1,
		IOV: segs(wire.RMAIov{Len: 8})}, 0)...)
	all = append(append(all, header(wire.Header{Op: wire.OpAtomicRsp}, 8)...), "8 bytes!"...)
	all = append(append(all, header(wire.Header{Op: wire.OpMsg, Flags: wire.FlagMatch}, 5)...), "match"...)
	all = append(append(all, header(wire.Header{Op: wire.OpExt}, wire.MatchedLen)...), wire.AppendMatched(nil, 0)...)
	all = append(append(all, header(wire.Header{Op: wire.OpAtomicFetch, Flags: wire.FlagCommit, OpData: 7, Atomic: 2,
		IovCnt: 1, IOV: segs(wire.RMAIov{Len: 8})}, 8)...), "operand!"...)
	all = append(append(all, header(wire.Header{Op: wire.OpColl, Tag: 1<<wire.CollGroup | 2, CQData: 3}, 5)...),
		"steps"...)
	all = append(all, header(wire.Header{Op: wire.OpColl, Tag: wire.CollJoin, CQData: wire.CollAbort}, 0)...)
	for _, v := range []wire.Verdict{{Kind: wire.ExtAccepted, Number: 1},
		{Kind: wire.ExtRefused, Why: wire.RefusedKey, Number: 1}, {Kind: wire.ExtReadRefused, Why: wire.RefusedRange}} {
		all = v.Append(append(all, header(wire.Header{Op: wire.OpExt}, wire.VerdictLen)...))
	}
	rsp := append(header(wire.Header{Op: wire.OpReadRsp}, 10), make([]byte, 10)...)
	data := append(header(wire.Header{Op: wire.OpData, OpData: 3}, 5), "hello"...)
	long := append(header(wire.Header{Op: wire.OpMsg}, 60000), make([]byte, 5000)...)
	auth := wire.AppendCMAuth(nil, wire.CMConnReq, wire.FeatureAuth|wire.FeatureExtended, 5, []byte("x"))
	auth = append(auth, wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, 0, make([]byte, 16))...)
	return [][]byte{auth, auth[:40], cm, append(cm, all...), all, rsp, append(all, data...), long,
		[]byte("GET / HTTP/1.1\r\n\r\n")}
}

func FuzzConn(f *testing.F) {
	for i, b := range fuzzSeeds() {
		f.Add(uint64(i), b)
	}
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScript(t)
		e := s.b
		e.cfg.InternalMax, e.cfg.RendezvousOver = r.IntN(5), 500
		e.rx.PeerLimit, e.rx.Limit, e.rx.Depth = 8192, 16384, 50
		if seed%8 == 0 {
			s.keyed("", "key", 1)
		}
		if seed%4 != 0 { // otherwise it is passive
			s.connect()
			e.c.Rendezvous = true
			e.c.Extended = seed%8 >= 4
			e.c.Ours = seed%16 >= 12
			if seed%32 >= 28 {
				e.c.Agreed |= wire.FeatureVerdicts
			}
			if seed%4 == 1 {
				e.c.in.order = wire.Big
			}
		}
		e.mem.regions = [][]byte{make([]byte, 100)}
		posted, done := 0, 0
		for len(b) > 0 || r.IntN(20) > 0 {
			if seed%8 == 0 && e.c.State() == Connected {
				t.Fatal("connected without the key")
			}
			posted += e.fuzzStep(r)
			if n := min(len(b), 1+r.IntN(60)); n > 0 && !e.c.Stalled() {
				direct := 0
				if r.IntN(2) == 0 {
					direct = copy(e.c.Target(), b[:n])
				}
				e.c.Receive(direct, b[direct:n])
				b = b[n:]
			} else if n > 0 && r.IntN(50) == 0 {
				break
			}
			if e.c.State() == Deciding {
				if e.c.Denied() || r.IntN(8) == 0 {
					must(t, e.c.Reject(nil))
				} else {
					must(t, e.c.Accept(nil))
				}
			}
			if got := e.rx.UnexpectedBytes(); got > 16384+256<<10+256*messageOverhead {
				t.Fatalf("%d bytes of unexpected messages", got)
			}
		}
		e.c.Drop(ErrClosed)
		e.rx.Flush(ErrClosed)
		e.rx.Release()
		done = e.completions()
		if done != posted {
			t.Fatalf("%d operations posted, %d completed: %q", posted, done, e.events)
		}
		e.checkPool()
		s.a.events, e.events = nil, nil
	})
}

// completions counts the events that end operations of the application.
func (e *end) completions() (n int) {
	for _, ev := range e.events {
		for _, kind := range []string{"send 1", "inject send", "inject write", "recv 1", "read 1", "write 1",
			"fetch 1"} {
			if len(ev) >= len(kind) && ev[:len(kind)] == kind {
				n++
			}
		}
	}
	return n
}

// fuzzStep makes a random call of the application, and returns the number of posted operations.
func (e *end) fuzzStep(r *rand.Rand) int {
	o := Send{Ctx: 1, Match: r.IntN(6) == 0, NIOV: 1, Ack: r.IntN(3) == 0, Tagged: r.IntN(2) == 0, Tag: 1,
		Inject: r.IntN(5) == 0}
	o.IOV[0] = make([]byte, r.IntN(1000))
	switch r.IntN(11) {
	case 0, 1:
		op := e.rx.NewOp()
		if op == nil {
			return 0
		}
		op.Ctx = 1
		op.SetBuf(make([]byte, r.IntN(10000)))
		if r.IntN(2) == 0 {
			e.rx.PostMsg(op, AnySource)
		} else {
			e.rx.PostTagged(op, AnySource, 1, ^uint64(r.IntN(2)))
		}
		return 1
	case 2:
		if e.c.Submit(&o) == nil {
			return 1
		}
	case 3:
		o.Kind, o.NRMA, o.IOV[0], o.Inject = KindRead, 1, make([]byte, 10), false
		if e.c.Submit(&o) == nil {
			return 1
		}
	case 9:
		o.Kind, o.NRMA, o.NIOV, o.Inject, o.Fence = KindFetch, 1, 0, false, r.IntN(2) == 0
		o.RMA[0].Len = 8
		o.Atomic = &Atomic{Type: 7, Op: wire.AtomicRead, NResult: 1, Result: [MaxIOV][]byte{make([]byte, 8)}}
		if e.c.Submit(&o) == nil {
			return 1
		}
	case 10:
		o.Kind, o.NRMA, o.Match, o.Commit = KindWrite, 1, false, r.IntN(2) == 0
		o.RMA[0].Len = uint64(len(o.IOV[0]))
		if e.c.Submit(&o) == nil {
			return 1
		}
	case 4:
		e.rx.Cancel(1)
	case 5:
		e.c.Cancel(1)
	case 6:
		must(e.t, e.rx.Peek(true, AnySource, 0, ^uint64(0), 7, 0, false, true))
	case 7:
		e.rx.SetSource(e.c, 2)
	case 8:
		e.transmit(r.IntN(3000))
	}
	return 0
}
