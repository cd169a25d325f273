package conform

// An application that reads its queues now and then: between "polls all the time" and "sleeps", and not slower than either.

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

// slowLarge transfers large messages both ways while the queues are read only every 2 ms. Where progress is automatic, the reads must not be what the
// transfer waits for: that takes milliseconds on loopback, and many reads' time if each read moves only what fits into a socket. Where it takes long because the
// machine is busy, or the network bad, it does so too when the queues are read all the time.
func slowLarge(t *testing.T, st Stack) {
	const pause, allowed, times = 2 * time.Millisecond, 100, 3
	p := Open(t, st, withAuto())
	rounds, _ := largeBothWays(p, pause)
	if rounds <= allowed {
		return
	}
	if _, busy := largeBothWays(p, 0); time.Duration(rounds)*pause > times*busy {
		t.Errorf("large messages each way took %d reads of the queues, 2 ms apart, and %v when read all the time; automatic progress should not wait for them", rounds, busy)
	}
}

// largeBothWays transfers them with a pause between reads of the queues, and returns how many of these there were, and how long they took.
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
		time.Sleep(pause)
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

// slowNewcomer connects to a side that has a connection already and reads its queues every 2 ms: the newcomer is served within a few reads.
func slowNewcomer(t *testing.T, st Stack) {
	if st.EPType != core.EPTypeRDM {
		return // a MSG listener hands connections to the application, and its event queue wakes it
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
				t.Fatalf("a newcomer's message does not arrive\n%s", p.Dump())
			}
			time.Sleep(pause)
			c.Pump()
			p.B.Pump()
		}
		if reads > allowed {
			t.Errorf("newcomer %d: its first message took %d reads of the queue, 2 ms apart", i, reads)
		}
		p.Want(p.B, 1)
		p.Want(c, 2)
	}
}
