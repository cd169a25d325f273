package session

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// TestAbsence stops both processes for longer than the peer timeout, with messages, acknowledgements and a
// handshake on their way. Everything is delivered when they continue. Datagrams that arrived meanwhile are read
// late, or were lost because the socket had no room.
func TestAbsence(t *testing.T) {
	for _, lost := range []bool{false, true} {
		eachMode(t, func(t *testing.T, n *world, a, b *node) {
			const count = 40
			for i := range count {
				b.recv(make([]byte, 40_000), uint64(i))
				a.recv(make([]byte, 40_000), uint64(i))
				s := msg(1, pattern(40_000, 1))
				s.Ack = true
				a.post(b, s)
				b.post(a, msg(1, pattern(30_000, 2)))
				n.run(int64(i)*100e3, nil)
				n.Now += a.cfg.PeerTimeout * 3 / 2
				if lost {
					n.Clear()
				}
				if i%2 == 0 { // deadlines before datagrams
					a.e.Advance(n.Now)
					b.e.Advance(n.Now)
				}
			}
			if !n.run(60*second, func() bool { return a.count(xengine.KindRecv) == count && b.count(xengine.KindRecv) == count }) {
				t.Errorf("lost %v: %d and %d of %d messages; %v %v",
					lost, a.count(xengine.KindRecv), b.count(xengine.KindRecv), count, a.failed, b.failed)
			}
		})
	}
}

// TestDeadlinesServedLate has a process that serves its deadlines far too late each time. It must still give up a
// dead peer.
func TestDeadlinesServedLate(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		b.recv(make([]byte, 10), 1)
		a.post(b, msg(1, []byte("one")))
		n.run(second, nil)
		n.Down = true
		a.post(b, msg(1, []byte("two")))
		calls := 0
		for ; len(a.failed) == 0 && calls < 200; calls++ {
			n.Now += a.cfg.PeerTimeout / 2
			a.e.Advance(n.Now)
			a.flush()
		}
		if len(a.failed) != 1 {
			t.Errorf("the dead peer is not given up after %d calls", calls)
		}
	})
}

// TestScriptStallLong has a peer that takes no data for much longer than the timeout of a silent peer. The network
// loses two of three probes.
func TestScriptStallLong(t *testing.T) {
	p := play(t)
	p.d.e.cfg.PeerTimeout = 400 * ms
	p.connectFromUs()
	p.post(msg(1, []byte("one")))
	p.want("msg 0 len 3")
	p.ack(1, 128)
	p.post(msg(2, []byte("two")))
	asked := 0
	for end := p.n.Now + 10*second; p.n.Now < end; {
		p.after(ms)
		p.poll()
		for _, s := range p.sent {
			if s == "msg 1 len 3" {
				if asked++; asked%3 == 0 {
					p.ack(1, 1)
				}
			}
		}
		p.sent = nil
	}
	if len(p.d.failed) > 0 {
		t.Fatal("a peer that answers probes is given up: ", p.d.failed)
	}
	p.ack(2, 128)
	if p.d.count(xengine.KindSend) != 2 {
		t.Error(p.d.done)
	}
}
