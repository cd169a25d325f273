package conform

// Reliable datagram endpoints with several peers: directed receives, all to all.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

// rdmDirected receives from specified senders (FI_DIRECTED_RECV).
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
		recv func(b []byte, src core.FIAddr, ctx core.OpContext) error
		send func(s *Side, b []byte) error
	}
	calls := []call{{
		func(b []byte, src core.FIAddr, ctx core.OpContext) error { return p.B.Rx().Recv(b, 0, src, ctx) },
		func(s *Side, b []byte) error { return s.EP.Inject(b, s.Peer) },
	}}
	if tagged {
		calls = append(calls, call{
			func(b []byte, src core.FIAddr, ctx core.OpContext) error { return p.B.Rx().TRecv(b, 0, src, 7, 0, ctx) },
			func(s *Side, b []byte) error { return s.EP.TInject(b, s.Peer, 7) },
		})
	}
	for _, k := range calls {
		for _, late := range []bool{false, true} {
			bufs := make([][]byte, 6)
			src := []core.FIAddr{fromC, fromA, core.AddrUnspec, fromC, fromA, fromA}
			post := func(i int) {
				bufs[i] = make([]byte, 16)
				p.Retry("recv", func() error { return k.recv(bufs[i], src[i], core.OpContext(i+1)) })
			}
			if !late {
				for i := range bufs {
					post(i)
				}
			}
			// A's messages 0, 1, 2 and 3 match receives 1, 2 (any source), 4 and 5. C's match 0 and 3.
			want := []uint64{10, 0, 1, 11, 2, 3}
			for i := range uint64(4) {
				p.Retry("inject", func() error { return k.send(p.A, Pattern(16, i)) })
				if !late {
					p.Want(p.B, []core.OpContext{2, 3, 5, 6}[i])
				}
			}
			// The wildcard, posted third, takes the earliest message that is left: A's second, if A's have arrived
			// first.
			if late {
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

// rdmAllToAll opens 32 endpoints and has each send to each, including itself.
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
			p.Retry("recv", func() error { return s.EP.Recv(got[i][m*16:m*16+16], 0, core.AddrUnspec, core.OpContext(1000+m)) })
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
			p.Want(s, core.OpContext(1000+m))
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
		sides[i].CloseEP()
	}
	for i := n - 1; i >= 0; i-- {
		sides[i].Close()
	}
}
