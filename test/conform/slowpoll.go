package conform

// An application that reads its queues at intervals, instead of all the time or never. Transfers must not be slower
// than in either of those cases.

import (
	"testing"
	"time"

	"gofabric/core"
)

func testSlowPoll(t *testing.T, st Stack) {
	if st.Manual || st.Inserts {
		return
	}
	t.Run("large", func(t *testing.T) { slowLarge(t, st) })
	t.Run("newcomer", func(t *testing.T) { slowNewcomer(t, st) })
}

// slowLarge transfers large messages in both directions while the queues are read only every 2 ms. With automatic
// progress the transfer must not wait for the reads. It takes milliseconds on loopback, but the time of many reads if
// each read moves only what fits into a socket. If the machine is busy or the network is bad, the transfer takes long
// even when the queues are read all the time.
func slowLarge(t *testing.T, st Stack) {
	const pause, allowed, times = 2 * time.Millisecond, 100, 3
	p := Open(t, st, withAuto())
	rounds, _ := largeBothWays(p, pause)
	if rounds <= allowed {
		return
	}
	if _, busy := largeBothWays(p, 0); time.Duration(rounds)*pause > times*busy {
		t.Errorf("large messages in both directions took %d reads of the queues, 2 ms apart, and %v when read all the time; automatic progress should not wait for the reads", rounds, busy)
	}
}

// largeBothWays transfers the messages with a pause between reads of the queues. It returns the number of reads, and
// the time.
func largeBothWays(p *Pair, pause time.Duration) (rounds int, took time.Duration) {
	t, n := p.T, min(9<<20, p.Stack.maxSize())
	t.Helper()
	bufs := map[*Side][]byte{}
	for i, s := range []*Side{p.A, p.B} {
		bufs[s] = make([]byte, n)
		p.Retry("recv", func() error { return s.Rx().Recv(bufs[s], 0, core.AddrUnspec, 1) })
		src := Pattern(n, uint64(i))
		p.Retry("send", func() error { return s.EP.Send(src, 0, s.Peer, 2) })
	}
	start := time.Now()
	for done := 0; done < 4; rounds++ {
		time.Sleep(pause) // an application that reads its queues seldom is what is tested
		p.Progress()
		done = len(p.A.got) + len(p.B.got)
		if time.Since(start) > Deadline {
			t.Fatalf("transfers do not end\n%s", p.Dump())
		}
	}
	took = time.Since(start)
	for i, s := range []*Side{p.A, p.B} {
		p.Want(s, 1)
		p.Want(s, 2)
		CheckPattern(t, "message", bufs[s], n, uint64(1-i))
	}
	return rounds, took
}

// slowNewcomer connects to a side that already has a connection and reads its queues every 2 ms. The new peer is
// served within a few reads.
func slowNewcomer(t *testing.T, st Stack) {
	if st.EPType != core.EPTypeRDM {
		return // a MSG listener reports the request on an event queue, which wakes the application
	}
	const pause, allowed = 2 * time.Millisecond, 12
	p := Open(t, st, withAuto())
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
	for i := range 3 {
		c := p.add("C", withAuto())
		c.Peer = c.Insert(p.B.Addr)
		buf := make([]byte, 8)
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
		p.Retry("send", func() error { return c.EP.Send(Pattern(8, 5), 0, c.Peer, 2) })
		reads := 0
		for ; len(p.B.got) == 0; reads++ {
			if reads > 500 {
				t.Fatalf("a new peer's message does not arrive\n%s", p.Dump())
			}
			time.Sleep(pause) // as above
			c.Pump()
			p.B.Pump()
		}
		if reads > allowed {
			t.Errorf("new peer %d: its first message took %d reads of the queue, 2 ms apart", i, reads)
		}
		p.Want(p.B, 1)
		p.Want(c, 2)
	}
}
