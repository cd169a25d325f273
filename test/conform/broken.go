package conform

// Connections that break. This is not part of the suite, but for stacks with such a network.

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gofabric/core"
)

// Broken sends messages over connections that break all the time, until breaks of them have failed. Every operation
// ends, messages arrive unchanged, and after an error the next ones succeed.
func Broken(t *testing.T, st Stack, breaks int) {
	p := Open(t, st)
	p.Stack.Inserts = true
	failed, arrived := 0, 0
	end := time.Now().Add(4 * Deadline)
	for seq := uint64(1); failed < breaks || arrived < breaks; seq++ {
		if time.Now().After(end) {
			t.Fatalf("%d breaks, %d messages arrived; want %d of each\n%s", failed, arrived, breaks, p.Dump())
		}
		if p.oneOverBroken(seq) {
			arrived++
			continue
		}
		failed++
		if st.EPType == core.EPTypeMsg {
			p.again(end)
		}
	}
	t.Logf("%d messages arrived, %d failed", arrived, failed)
	p.Forget()
}

// oneOverBroken sends one message, and reports whether it arrived. The sender may get an error although the message
// arrived.
func (p *Pair) oneOverBroken(seq uint64) bool {
	p.T.Helper()
	const size = 3000
	recv, send := core.OpContext(seq<<1), core.OpContext(seq<<1|1)
	buf := make([]byte, size)
	if err := p.TryPost(func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, recv) }); err != nil {
		return false // not connected
	}
	err := p.TryPost(func() error {
		return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(size, seq)}, Addr: p.A.Peer, Ctx: send},
			core.OpDeliveryComplete)
	})
	ok := err == nil && p.WantEnd(p.A, send, p.Stack.bounded()).Err == nil
	if !ok && p.B.SRX == nil && p.Stack.EPType == core.EPTypeRDM || p.B.SRX != nil && !ok {
		if err := p.B.Rx().Cancel(recv); err != nil && !errors.Is(err, core.ErrNoEnt) {
			p.T.Fatalf("cancel: %v", err)
		}
	}
	g := p.WantEnd(p.B, recv, p.Stack.bounded())
	if g.Err == nil {
		CheckPattern(p.T, "message over connections that break", buf, size, seq)
	} else if ok {
		p.T.Fatalf("the sender reports message %d as delivered, but the receive ended with %v", seq, g)
	}
	return ok
}

// again connects MSG endpoints again, with as many attempts as necessary.
func (p *Pair) again(end time.Time) {
	p.T.Helper()
	for {
		p.A.CloseEP()
		p.B.CloseEP()
		p.Forget()
		p.A.openEP(p.A.Info)
		if p.tryConnect() {
			return
		}
		if time.Now().After(end) {
			p.T.Fatalf("no connection\n%s", p.Dump())
		}
	}
}

// tryConnect makes one attempt, which the network may break.
func (p *Pair) tryConnect() bool {
	p.T.Helper()
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, nil))
	up := func(s *Side) bool {
		return slices.ContainsFunc(s.events, func(e core.EQEvent) bool { return e.Type == core.EventConnected })
	}
	down := func(s *Side) bool {
		return len(s.errs) > 0 || slices.ContainsFunc(s.events,
			func(e core.EQEvent) bool { return e.Type == core.EventShutdown })
	}
	ok := false
	p.untilFor(2*Deadline, "outcome of a connect", func() bool {
		p.A.pumpEQ()
		p.B.pumpEQ()
		if i := slices.IndexFunc(p.B.events, func(e core.EQEvent) bool { return e.Type == core.EventConnReq }); i >= 0 && p.B.EP == nil {
			req := p.B.events[i]
			p.B.events = slices.Delete(p.B.events, i, i+1)
			ep, err := p.B.Domain.OpenEndpoint(req.Info)
			if err != nil {
				return false // the request has been broken off meanwhile
			}
			p.B.EP = ep
			p.B.BindAll(ep)
			p.B.ok("Enable", ep.Enable())
			if ep.Accept(nil) != nil {
				return true
			}
		}
		ok = up(p.A) && up(p.B)
		return ok || down(p.A) || down(p.B)
	})
	return ok
}
