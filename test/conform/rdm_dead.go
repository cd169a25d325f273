package conform

// Reliable datagram endpoints whose peers go away: restarts, peers killed, dead addresses.

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/tcpport"
)

// rdmRestart closes B and opens it again on the same port. A's old operations end, and new ones reach the new B.
func rdmRestart(t *testing.T, st Stack) {
	p := Open(t, st)
	for round := range uint64(3) {
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 4*round)
		exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 100, 4*round+1)
		old := p.B.Addr
		p.B.Asleep = true
		p.B.CloseEP()
		// Operations to a closed peer end with an error that names the peer.
		named := false
		send := func(ctx core.OpContext) {
			err := p.TryPost(func() error {
				return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(100, 1)}, Addr: p.A.Peer, Ctx: ctx},
					core.OpDeliveryComplete)
			})
			if err != nil {
				t.Fatalf("send to a peer that is gone: %v; want an error completion", err)
			}
		}
		ends := func(ctx core.OpContext) {
			g := p.WantErr(p.A, ctx)
			named = named || g.Err.Peer == old
			if g.Err.Detail == "" {
				t.Errorf("error completion without a detail: %v", g)
			}
		}
		send(700) // this send finds out that the peer is gone
		ends(700)
		for ctx := core.OpContext(701); ctx < 705; ctx++ {
			send(ctx)
		}
		for ctx := core.OpContext(701); ctx < 705; ctx++ {
			ends(ctx)
		}
		if !named {
			t.Error("no error completion names the peer")
		}
		info := p.B.Info.Dup()
		info.SrcAddr = old
		p.B.openEP(info)
		p.B.Asleep = false
		if n := must(t, "Name", p.B.EP.Name); n != old {
			t.Fatalf("B is back at %v, not at %v", n.IP, old.IP)
		}
		p.B.got = nil
		recoverTo(p, p.A, p.B)
		p.Forget()
	}
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 500)
	exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 100, 501)
}

// recoverTo sends from s until a message reaches r, within the time limit for dead peers.
func recoverTo(p *Pair, s, r *Side) {
	p.T.Helper()
	buf := make([]byte, 8)
	p.Retry("recv", func() error { return r.Rx().Recv(buf, 0, core.AddrUnspec, 0x900) })
	end := time.Now().Add(p.Stack.bounded())
	for i := core.OpContext(0x1000); ; i++ {
		p.Retry("send", func() error {
			return s.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, 4)}, Addr: s.Peer, Ctx: i},
				core.OpDeliveryComplete)
		})
		if g := p.WantEnd(s, i, p.Stack.bounded()); g.Err == nil {
			break
		} else if time.Now().After(end) {
			p.T.Fatalf("%s does not reach %s again: %v", s.Name, r.Name, g)
		}
	}
	p.Want(r, 0x900)
	CheckPattern(p.T, "message after the restart", buf, 8, 4)
}

// rdmKilled closes B while A has operations of all kinds pending. Each operation ends in bounded time, and C's traffic
// continues.
func rdmKilled(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	c := p.add("C", WithCaps(caps))
	c.Peer = c.Insert(p.A.Addr)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
	big := make([]byte, st.maxSize())
	var posted []core.OpContext
	post := func(ctx core.OpContext, f func() error) {
		if err := f(); err == nil {
			posted = append(posted, ctx)
		} else if !errors.Is(err, core.ErrAgain) {
			t.Errorf("post: %v", err)
		}
	}
	var mr *core.MemoryRegion
	if caps&core.CapRMA != 0 {
		mr = p.B.Reg(make([]byte, len(big)), allAccess)
	}
	p.B.Asleep = st.Manual // it must not receive all of it before it closes
	for i := core.OpContext(100); i < 104; i++ {
		post(i, func() error { return p.A.EP.Send(big, 0, p.A.Peer, i) })
	}
	for i := core.OpContext(110); i < 114; i++ {
		post(i, func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{big[:8]}, Addr: p.A.Peer, Ctx: i},
				core.OpDeliveryComplete)
		})
		if caps&core.CapTagged != 0 {
			post(i+10, func() error { return p.A.EP.TSend(big[:min(len(big), 100000)], 0, p.A.Peer, 1, i+10) })
		}
		if mr != nil {
			post(i+20, func() error { return p.A.EP.Read(make([]byte, len(big)/8), 0, p.A.Peer, mr.Base(), mr.Key(), i+20) })
			post(i+30, func() error { return p.A.EP.Write(big[:len(big)/8], 0, p.A.Peer, mr.Base(), mr.Key(), i+30) })
		}
	}
	exchange(p, c, p.A, msgSends[0], msgRecvs[0], 1000, 3)
	p.B.Asleep = true
	p.B.CloseEP()
	failed := 0
	for _, ctx := range posted {
		if g := p.WantEnd(p.A, ctx, st.bounded()); g.Err != nil {
			failed++
		}
	}
	t.Logf("%d of %d operations failed: an endpoint that closes may still receive while it waits until its own messages have arrived", failed, len(posted))
	exchange(p, c, p.A, msgSends[0], msgRecvs[0], 1000, 5)
	if mr != nil {
		p.B.ok("Close MR", mr.Close())
	}
	p.B.got = nil
}

// rdmDead sends to an address without an endpoint. The send fails in bounded time, and other peers are served
// meanwhile.
func rdmDead(t *testing.T, st Stack) {
	p := Open(t, st)
	ports, err := tcpport.Free(st.node(), 1) // the system gives it to no other test
	if err != nil {
		t.Fatal(err)
	}
	addr := core.IPAddr(netip.AddrPortFrom(netip.MustParseAddr(st.node()), uint16(ports[0])))
	dead := p.A.Insert(addr)
	for i := core.OpContext(1); i <= 3; i++ {
		if err := p.TryPost(func() error { return p.A.EP.Send(Pattern(8, 1), 0, dead, i) }); err != nil {
			t.Fatalf("send to a dead address: %v; want an error completion", err)
		}
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, uint64(10*i))
		g := p.WantErr(p.A, i)
		if g.Err.Peer != addr {
			t.Errorf("error completion names %v, want %v", g.Err.Peer.IP, addr.IP)
		}
		if g.Err.Detail == "" || g.Flags&core.CompSend == 0 {
			t.Errorf("error completion lacks a detail or the Send flag: %v", g)
		}
	}
	// An inject to a dead address has no completion that could fail, but must not disturb other operations.
	if err := p.TryPost(func() error { return p.A.EP.Inject(Pattern(8, 1), dead) }); err != nil {
		t.Errorf("inject to a dead address: %v", err)
	}
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 100)
	if err := p.TryPost(func() error { return p.A.EP.Send(Pattern(8, 1), 0, dead, 4) }); err != nil {
		t.Fatalf("send to a dead address: %v; want an error completion", err)
	}
	p.WantErr(p.A, 4) // it may come behind an error entry for the inject
	p.Forget()
}
