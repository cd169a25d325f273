package conform

// Messages (fi_msg(3)): unexpected ones, truncation, buffer reuse, inject.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

// msgUnexpected sends thousands of messages before the first receive is posted, then some large ones.
func msgUnexpected(t *testing.T, st Stack) {
	for _, k := range []struct{ count, size int }{{3000, 100}, {300, 5000}, {8, 1 << 20}, {5, 0}} {
		t.Run(fmt.Sprintf("%dx%d", k.count, k.size), func(t *testing.T) {
			p := Open(t, st)
			size := min(k.size, st.maxSize())
			sent, done := 0, 0
			src := make([][]byte, k.count)
			send := func() {
				for sent < k.count {
					if src[sent] == nil {
						src[sent] = Pattern(size, uint64(sent))
					}
					if p.A.EP.Send(src[sent], 0, p.A.Peer, core.OpContext(sent)) != nil {
						break
					}
					sent++
				}
				p.A.Pump()
				for _, g := range p.A.got {
					if g.Err != nil {
						t.Fatalf("send: %v", g)
					}
					done++
				}
				p.A.got = p.A.got[:0]
			}
			for n := range 300 { // as much as can be sent without receives
				send()
				p.B.Pump()
				if sent == k.count && done == sent {
					break
				}
				relax(n)
			}
			if len(p.B.got) > 0 {
				t.Fatalf("completion without a receive: %v", p.B.got[0])
			}
			buf := make([]byte, size)
			for i := range k.count {
				send()
				p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
				p.until("unexpected message", func() bool { send(); return len(p.B.got) > 0 })
				g := p.B.got[0]
				p.B.got = p.B.got[:0]
				if g.Err != nil || g.Ctx != core.OpContext(i) || g.Len != size {
					t.Fatalf("message %d: %v", i, g)
				}
				CheckPattern(t, fmt.Sprint("message ", i), buf, size, uint64(i))
			}
			p.until("all sends complete", func() bool { send(); return done == k.count })
		})
	}
}

// testTruncation checks ErrTrunc with OLen, untouched memory behind the buffer, and that later messages arrive.
func testTruncation(t *testing.T, st Stack) {
	type tcase struct{ size, room int }
	cases := []tcase{{150, 100}, {5, 0}, {1, 0}, {70000, 1000}, {1 << 20, 65536}}
	for _, tagged := range []bool{false, true} {
		caps, sends, recvs, name := core.CapMsg, msgSends, msgRecvs, "msg"
		if tagged {
			caps, sends, recvs, name = core.CapTagged, taggedSends, taggedRecvs, "tagged"
		}
		if !st.need(t, caps) {
			continue
		}
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/late=%v", name, late), func(t *testing.T) {
				p := Open(t, st, WithCaps(caps))
				for i, k := range cases {
					seed := uint64(10 * i)
					mem := make([]byte, k.room+64)
					post := func() {
						p.Retry("recv",
							func() error { return recvs[0].do(p.B, mem[:k.room], seed, core.OpContext(1+seed)) })
					}
					if !late {
						post()
					}
					src := Pattern(k.size, seed)
					p.Retry("send", func() error { return sends[0].do(p.A, src, seed, core.OpContext(2+seed)) })
					if late {
						for range 50 {
							p.Progress()
						}
						post()
					}
					g := p.WantErr(p.B, core.OpContext(1+seed), core.ErrTrunc)
					if g.Err.OLen != k.size-k.room {
						t.Errorf("%d bytes into %d: OLen %d, want %d", k.size, k.room, g.Err.OLen, k.size-k.room)
					}
					if g.Flags&core.CompRecv == 0 {
						t.Errorf("error entry's flags %#x lack Recv", uint64(g.Flags))
					}
					CheckZero(t, "behind the receive buffer", mem[k.room:])
					p.Want(p.A, core.OpContext(2+seed))
					exchange(p, p.A, p.B, sends[0], recvs[0], 33, 500+seed)
				}
			})
		}
	}
}

// msgReuse overwrites buffers as soon as the rules allow it.
func msgReuse(t *testing.T, st Stack) {
	const rounds = 300
	p := Open(t, st, WithRxSize(512))
	inj := p.A.Info.Tx.InjectSize
	bufs := make([][]byte, rounds)
	post := func(i, n int) {
		bufs[i] = make([]byte, n)
		p.Retry("recv", func() error { return p.B.Rx().Recv(bufs[i], 0, core.AddrUnspec, core.OpContext(i)) })
	}
	one := make([]byte, 20000)
	for i := range rounds {
		n := inj
		if i%3 == 2 {
			n = 20000
		}
		post(i, n)
		b := one[:n]
		Fill(b, uint64(i))
		switch i % 3 {
		case 0:
			p.Retry("inject", func() error { return p.A.EP.Inject(b, p.A.Peer) })
		case 1: // FI_INJECT on sendmsg: the buffer is free at once, and there is a completion later
			p.Retry("sendmsg+inject", func() error {
				return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: p.A.Peer, Ctx: core.OpContext(5000 + i)},
					core.OpInject)
			})
		case 2:
			p.Retry("send", func() error { return p.A.EP.Send(b, 0, p.A.Peer, core.OpContext(5000+i)) })
			p.Want(p.A, core.OpContext(5000+i))
		}
		Fill(b, 0xdead)
	}
	for i := range rounds {
		g := p.Want(p.B, core.OpContext(i))
		CheckPattern(t, fmt.Sprint("message ", i), bufs[i], g.Len, uint64(i))
		if i%3 == 1 {
			p.Want(p.A, core.OpContext(5000+i))
		}
	}
	// When the call returns, the iov itself may be reused, but not its buffers.
	buf := make([]byte, 5000)
	rx := p.B.rx(buf, 3)
	p.Retry("recvv", func() error { return p.B.Rx().RecvV(rx, nil, core.AddrUnspec, 1) })
	clear(rx)
	src := Pattern(5000, 7)
	tx := p.A.tx(src, 3)
	p.Retry("sendv", func() error { return p.A.EP.SendV(tx, nil, p.A.Peer, 2) })
	clear(tx)
	p.Want(p.B, 1)
	p.Want(p.A, 2)
	CheckPattern(t, "sendv", buf, 5000, 7)
}

// injectSilent checks that inject calls never complete at the sender.
func injectSilent(t *testing.T, st Stack) {
	p := Open(t, st)
	buf := make([]byte, 16)
	for i := range 50 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
		p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		p.Want(p.B, core.OpContext(i))
	}
	p.WantNone(p.A)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 100)
}

// msgBoth has both sides send large messages at the same time. Neither may wait for the other.
func msgBoth(t *testing.T, st Stack) {
	p := Open(t, st)
	n := min(2<<20, st.maxSize())
	var bufs [2][4][]byte
	for round := range 2 {
		for i := range 4 {
			for k, s := range []*Side{p.A, p.B} {
				bufs[k][i] = make([]byte, n)
				p.Retry("recv", func() error { return s.Rx().Recv(bufs[k][i], 0, core.AddrUnspec, core.OpContext(100+i)) })
				src := Pattern(n, uint64(round*10+k*4+i))
				p.Retry("send", func() error { return s.EP.Send(src, 0, s.Peer, core.OpContext(200+i)) })
			}
		}
		for i := range 4 {
			for k, s := range []*Side{p.A, p.B} {
				p.Want(s, core.OpContext(100+i))
				p.Want(s, core.OpContext(200+i))
				CheckPattern(t, "message", bufs[k][i], n, uint64(round*10+(1-k)*4+i))
			}
		}
	}
}
