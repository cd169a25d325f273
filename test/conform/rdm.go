package conform

// Reliable datagram endpoints (fi_endpoint(3), FI_EP_RDM): connections on demand, many peers, restarts, dead peers.

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

func testRDM(t *testing.T, st Stack) {
	if st.EPType != core.EPTypeRDM {
		return
	}
	t.Run("ondemand", func(t *testing.T) { rdmOnDemand(t, st) })
	t.Run("simultaneous", func(t *testing.T) { rdmSimultaneous(t, st) })
	t.Run("self", func(t *testing.T) { rdmSelf(t, st) })
	t.Run("sendonly", func(t *testing.T) { rdmSendOnly(t, st) })
	t.Run("directed", func(t *testing.T) { rdmDirected(t, st) })
	t.Run("restart", func(t *testing.T) { rdmRestart(t, st) })
	t.Run("killed", func(t *testing.T) { rdmKilled(t, st) })
	t.Run("dead", func(t *testing.T) { rdmDead(t, st) })
	t.Run("alltoall", func(t *testing.T) { rdmAllToAll(t, st) })
	t.Run("names", func(t *testing.T) { rdmNames(t, st) })
}

// add opens one more endpoint in its own domain, which knows and is known by nobody yet.
func (p *Pair) add(name string, opts ...Option) *Side {
	p.T.Helper()
	s := openSide(p.T, p.Stack, name, makeConfig(opts), nil)
	s.openEP(s.Info)
	s.Addr = must(p.T, "Name", s.EP.Name)
	p.extra = append(p.extra, s)
	p.T.Cleanup(func() { s.Close() })
	return s
}

// rdmOnDemand sends the first message either way, with each call.
func rdmOnDemand(t *testing.T, st Stack) {
	for i, c := range msgSends {
		p := Open(t, st)
		s, r := p.A, p.B
		if i%2 == 1 {
			s, r = r, s
		}
		exchange(p, s, r, c, msgRecvs[0], 64, uint64(i))
		exchange(p, r, s, c, msgRecvs[0], 64, uint64(i)+100)
		p.Close()
	}
}

// rdmSimultaneous has both sides send their first messages at the same moment, again and again.
func rdmSimultaneous(t *testing.T, st Stack) {
	p := Open(t, st)
	for round := range 100 {
		if round > 0 {
			for _, s := range []*Side{p.A, p.B} {
				s.ok("Remove", s.AV.Remove([]core.FIAddr{s.Peer}, 0))
				s.closeEP()
			}
			p.Forget()
			p.A.openEP(p.A.Info)
			p.B.openEP(p.B.Info)
			p.introduce()
		}
		var bufs [2][2][64]byte
		for i, s := range []*Side{p.A, p.B} {
			for k := range 2 {
				p.Retry("recv", func() error { return s.Rx().Recv(bufs[i][k][:], 0, core.AddrUnspec, core.Context(10+k)) })
			}
		}
		var wg sync.WaitGroup
		errs := make(chan error, 2)
		for i, s := range []*Side{p.A, p.B} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for k := range 2 {
					b := Pattern(64, uint64(i*2+k))
					for end := time.Now().Add(Deadline); ; {
						err := s.EP.Send(b, 0, s.Peer, core.Context(20+k))
						if err == nil {
							break
						}
						if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
							errs <- err
							return
						}
						time.Sleep(50 * time.Microsecond)
					}
				}
			}()
		}
		wg.Wait()
		select {
		case err := <-errs:
			t.Fatalf("round %d: send: %v", round, err)
		default:
		}
		for i, s := range []*Side{p.A, p.B} {
			for k := range 2 {
				p.Want(s, core.Context(10+k))
				p.Want(s, core.Context(20+k))
				CheckPattern(t, fmt.Sprint("round ", round), bufs[i][k][:], 64, uint64((1-i)*2+k))
			}
		}
	}
}

// rdmSelf sends to the endpoint itself: messages, tagged, remote access.
func rdmSelf(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	a := p.A
	a.Peer = a.Insert(a.Addr)
	for i, n := range []int{0, 1, 100, 65536, min(1<<20, st.maxSize())} {
		exchange(p, a, a, msgSends[i%4], msgRecvs[0], n, uint64(i))
		if caps&core.CapTagged != 0 {
			exchange(p, a, a, taggedSends[i%4], taggedRecvs[0], n, uint64(100+i))
		}
	}
	// Before the receive is posted.
	p.Retry("send", func() error { return a.EP.Send(Pattern(50, 5), 0, a.Peer, 1) })
	for range 20 {
		p.Progress()
	}
	buf := make([]byte, 50)
	p.Retry("recv", func() error { return a.Rx().Recv(buf, 0, core.AddrUnspec, 2) })
	p.Want(a, 2)
	p.Want(a, 1)
	CheckPattern(t, "unexpected from itself", buf, 50, 5)
	if caps&core.CapRMA != 0 {
		mem := make([]byte, 5000)
		mr := a.Reg(mem, allAccess)
		p.Retry("write", func() error { return a.EP.Write(Pattern(5000, 6), 0, a.Peer, mr.Base(), mr.Key(), 3) })
		p.Want(a, 3)
		back := make([]byte, 5000)
		p.Retry("read", func() error { return a.EP.Read(back, 0, a.Peer, mr.Base(), mr.Key(), 4) })
		p.Want(a, 4)
		CheckPattern(t, "write to itself", mem, 5000, 6)
		CheckPattern(t, "read from itself", back, 5000, 6)
		a.ok("Close MR", mr.Close())
	}
}

// rdmSendOnly has a peer that only sends, is in nobody's vector and goes away.
func rdmSendOnly(t *testing.T, st Stack) {
	p := Open(t, st, WithoutPeer())
	buf := make([]byte, 64)
	for i := range 20 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.Context(i)) })
		p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(64, uint64(i)), p.A.Peer) })
		p.Want(p.B, core.Context(i))
		CheckPattern(t, "message", buf, 64, uint64(i))
	}
	// The peer is inserted later, and answered over the same connection.
	p.B.Peer = p.B.Insert(p.A.Addr)
	exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 64, 1)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 64, 2)
}

// rdmDirected receives from chosen senders (FI_DIRECTED_RECV).
func rdmDirected(t *testing.T, st Stack) {
	caps := core.CapDirectedRecv
	tagged := st.Offers(t, core.CapDirectedRecv|core.CapTagged)
	if tagged {
		caps |= core.CapTagged
	} else if !st.need(t, caps) {
		return
	}
	p := Open(t, st, WithCaps(caps))
	c := p.add("C", WithCaps(caps))
	c.Peer = c.Insert(p.B.Addr)
	fromA, fromC := p.B.Peer, p.B.Insert(c.Addr)
	type call struct {
		recv func(b []byte, src core.FIAddr, ctx core.Context) error
		send func(s *Side, b []byte) error
	}
	calls := []call{{
		func(b []byte, src core.FIAddr, ctx core.Context) error { return p.B.Rx().Recv(b, 0, src, ctx) },
		func(s *Side, b []byte) error { return s.EP.Inject(b, s.Peer) },
	}}
	if tagged {
		calls = append(calls, call{
			func(b []byte, src core.FIAddr, ctx core.Context) error { return p.B.Rx().TRecv(b, 0, src, 7, 0, ctx) },
			func(s *Side, b []byte) error { return s.EP.TInject(b, s.Peer, 7) },
		})
	}
	for _, k := range calls {
		for _, late := range []bool{false, true} {
			bufs := make([][]byte, 6)
			src := []core.FIAddr{fromC, fromA, core.AddrUnspec, fromC, fromA, fromA}
			post := func(i int) {
				bufs[i] = make([]byte, 16)
				p.Retry("recv", func() error { return k.recv(bufs[i], src[i], core.Context(i+1)) })
			}
			if !late {
				for i := range bufs {
					post(i)
				}
			}
			// A's messages 0, 1, 2 then 3 go to receives 1, 2 (any), 4, 5; C's to 0 and 3.
			want := []uint64{10, 0, 1, 11, 2, 3}
			for i := range uint64(4) {
				p.Retry("inject", func() error { return k.send(p.A, Pattern(16, i)) })
				if !late {
					p.Want(p.B, []core.Context{2, 3, 5, 6}[i])
				}
			}
			if late { // the wildcard, posted third, takes the earliest that is left: A's second, if A's are there first
				post(0)
				post(1)
				p.Want(p.B, 2)
				post(2)
				p.Want(p.B, 3)
			}
			for i := range uint64(2) {
				p.Retry("inject", func() error { return k.send(c, Pattern(16, 10+i)) })
			}
			if late {
				for i := 3; i < 6; i++ {
					post(i)
				}
				p.Want(p.B, 5)
				p.Want(p.B, 6)
			}
			p.Want(p.B, 1)
			p.Want(p.B, 4)
			for i := range bufs {
				CheckPattern(t, fmt.Sprintf("late=%v: receive %d", late, i), bufs[i], 16, want[i])
			}
		}
	}
}

// rdmRestart closes B and opens it again on the same port: A's old operations end, new ones reach the new B.
func rdmRestart(t *testing.T, st Stack) {
	p := Open(t, st)
	for round := range uint64(3) {
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 4*round)
		exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 100, 4*round+1)
		old := p.B.Addr
		p.B.Asleep = true
		p.B.closeEP()
		// Operations towards nobody end with an error that names the peer.
		named := false
		for i := core.Context(0); i < 5; i++ {
			err := p.TryPost(func() error {
				return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(100, 1)}, Addr: p.A.Peer, Ctx: 700 + i}, core.DeliveryComplete)
			})
			if err != nil {
				t.Fatalf("send to a peer that is gone: %v; want an error completion", err)
			}
			g := p.WantErr(p.A, 700+i)
			named = named || g.Err.Peer == old
			if g.Err.Detail == "" {
				t.Errorf("error completion without a detail: %v", g)
			}
		}
		if !named {
			t.Error("no error completion names the peer")
		}
		info := p.B.Info.Dup()
		info.SrcAddr = old
		p.B.openEP(info)
		p.B.Asleep = false
		if n := must(t, "Name", p.B.EP.Name); n != old {
			t.Fatalf("B is back as %v, not as %v", n.IP, old.IP)
		}
		p.B.got = nil
		recoverTo(p, p.A, p.B)
		p.Forget()
	}
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 500)
	exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 100, 501)
}

// recoverTo sends from s until a message reaches r, within the bound for dead peers.
func recoverTo(p *Pair, s, r *Side) {
	p.T.Helper()
	buf := make([]byte, 8)
	p.Retry("recv", func() error { return r.Rx().Recv(buf, 0, core.AddrUnspec, 0x900) })
	end := time.Now().Add(p.Stack.bounded())
	for i := core.Context(0x1000); ; i++ {
		p.Retry("send", func() error {
			return s.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, 4)}, Addr: s.Peer, Ctx: i}, core.DeliveryComplete)
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

// rdmKilled closes B while A has everything in flight: each operation ends in bounded time, and C's traffic goes on.
func rdmKilled(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	c := p.add("C", WithCaps(caps))
	c.Peer = c.Insert(p.A.Addr)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
	big := make([]byte, st.maxSize())
	var posted []core.Context
	post := func(ctx core.Context, f func() error) {
		if err := f(); err == nil {
			posted = append(posted, ctx)
		} else if !errors.Is(err, core.ErrAgain) {
			t.Errorf("post: %v", err)
		}
	}
	var mr core.MemoryRegion
	if caps&core.CapRMA != 0 {
		mr = p.B.Reg(big[:1<<20], allAccess)
	}
	for i := core.Context(100); i < 104; i++ {
		post(i, func() error { return p.A.EP.Send(big, 0, p.A.Peer, i) })
	}
	for i := core.Context(110); i < 114; i++ {
		post(i, func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{big[:8]}, Addr: p.A.Peer, Ctx: i}, core.DeliveryComplete)
		})
		if caps&core.CapTagged != 0 {
			post(i+10, func() error { return p.A.EP.TSend(big[:100000], 0, p.A.Peer, 1, i+10) })
		}
		if mr != nil {
			post(i+20, func() error { return p.A.EP.Read(make([]byte, 1<<20), 0, p.A.Peer, mr.Base(), mr.Key(), i+20) })
			post(i+30, func() error { return p.A.EP.Write(big[:1<<20], 0, p.A.Peer, mr.Base(), mr.Key(), i+30) })
		}
	}
	exchange(p, c, p.A, msgSends[0], msgRecvs[0], 1000, 3)
	p.B.Asleep = true
	p.B.closeEP()
	failed := 0
	for _, ctx := range posted {
		if g := p.WantEnd(p.A, ctx, st.bounded()); g.Err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Errorf("%d operations towards a peer that was closed all succeeded", len(posted))
	}
	exchange(p, c, p.A, msgSends[0], msgRecvs[0], 1000, 5)
	if mr != nil {
		p.B.ok("Close MR", mr.Close())
	}
	p.B.got = nil
}

// rdmDead sends to an address where nobody is: an error completion in bounded time, not silence, and others are served meanwhile.
func rdmDead(t *testing.T, st Stack) {
	p := Open(t, st)
	l, err := net.ListenPacket("udp", net.JoinHostPort(st.node(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	ap := l.LocalAddr().(*net.UDPAddr).AddrPort()
	l.Close()
	addr := core.IPAddr(ap)
	dead := p.A.Insert(addr)
	for i := core.Context(1); i <= 3; i++ {
		if err := p.TryPost(func() error { return p.A.EP.Send(Pattern(8, 1), 0, dead, i) }); err != nil {
			t.Fatalf("send to a dead address: %v; want an error completion", err)
		}
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, uint64(10*i))
		g := p.WantErr(p.A, i)
		if g.Err.Peer != addr {
			t.Errorf("error completion names %v, want %v", g.Err.Peer.IP, addr.IP)
		}
		if g.Err.Detail == "" || g.Flags&core.Send == 0 {
			t.Errorf("error completion lacks a detail or the Send flag: %v", g)
		}
	}
	// An inject to a dead address has no completion to fail, but must not stop anything.
	if err := p.TryPost(func() error { return p.A.EP.Inject(Pattern(8, 1), dead) }); err != nil {
		t.Errorf("inject to a dead address: %v", err)
	}
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 100)
	time.Sleep(Quiet)
	p.Forget()
}

// rdmAllToAll opens 32 endpoints and has each send to each, itself included.
func rdmAllToAll(t *testing.T, st Stack) {
	const n, each = 32, 3
	k := makeConfig([]Option{WithRxSize(256)})
	sides := make([]*Side, n)
	var first *Side
	for i := range sides {
		s := openSide(t, st, fmt.Sprint("ep", i), k, first)
		if first == nil {
			first = s
		}
		s.openEP(s.Info)
		s.Addr = must(t, "Name", s.EP.Name)
		sides[i] = s
	}
	p := &Pair{T: t, Stack: st, A: sides[0], B: sides[1], extra: sides[2:]}
	fi := make([][]core.FIAddr, n)
	for i, s := range sides {
		for _, o := range sides {
			fi[i] = append(fi[i], s.Insert(o.Addr))
		}
	}
	got := make([][]byte, n)
	for i, s := range sides {
		got[i] = make([]byte, n*each*16)
		for m := range n * each {
			p.Retry("recv", func() error { return s.EP.Recv(got[i][m*16:m*16+16], 0, core.AddrUnspec, core.Context(1000+m)) })
		}
	}
	msg := func(from, to, seq int) string { return fmt.Sprintf("%02d>%02d#%02d       ", from, to, seq) }
	for seq := range each {
		for i, s := range sides {
			for j := range sides {
				p.Retry("inject", func() error { return s.EP.Inject([]byte(msg(i, j, seq)), fi[i][j]) })
			}
		}
	}
	for j, s := range sides {
		next := make([]int, n)
		for m := range n * each {
			p.Want(s, core.Context(1000+m))
			var from, to, seq int
			if _, err := fmt.Sscanf(string(got[j][m*16:m*16+9]), "%d>%d#%d", &from, &to, &seq); err != nil || to != j {
				t.Fatalf("endpoint %d received %q", j, got[j][m*16:m*16+16])
			}
			if seq != next[from] {
				t.Fatalf("endpoint %d received message %d of %d, want %d", j, seq, from, next[from])
			}
			next[from]++
		}
	}
	for i := n - 1; i >= 0; i-- {
		sides[i].closeEP()
	}
	for i := n - 1; i >= 0; i-- {
		sides[i].Close()
	}
}

func rdmNames(t *testing.T, st Stack) {
	p := Open(t, st)
	if p.A.Addr == p.B.Addr || p.A.Addr.IP.Port() == 0 {
		t.Errorf("names %v and %v", p.A.Addr.IP, p.B.Addr.IP)
	}
	// Two endpoints cannot have the same name.
	info := p.A.Info.Dup()
	info.SrcAddr = p.B.Addr
	ep, err := p.A.Domain.OpenEndpoint(info)
	if err == nil {
		p.A.BindAll(ep)
		err = ep.Enable()
		p.A.ok("Close", ep.Close())
	}
	refuse(t, "an endpoint on a port in use", err, core.ErrAddrInUse)
}
