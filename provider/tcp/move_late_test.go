//go:build linux && !fabricbasic

package tcp

// Streams that move while one end does not receive, or closes.

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
)

// late prepares two endpoints. The second has sent "moved" over TCP. The first, which opened the connection, does
// not receive it, because messages without room stand before it. late returns the number of those messages.
func late(t *testing.T) (c *couple, n int) {
	c = newCouple(t, map[string]string{"FI_TCP_UNEXP_BYTES": "4096"})
	in := make([]byte, 8)
	// One way, so that only the first side connects; the next message makes enough for an offer.
	for range moveAfter - 1 {
		must(t, c.ep[1].Recv(in, 0, core.AddrUnspec, 1))
		must(t, c.ep[0].Inject(make([]byte, 8), c.to[0]))
		c.wait("a message arrives", func() bool { return c.read(1) == 1 })
	}
	if c.state(0) != moveMay {
		t.Fatal("the side that opened the connection may not make an offer")
	}
	c.d[0].drv.prog.Lock() // all of them stand before the answer to the offer: none is read before "moved" has left
	for n = 0; n < 60; n++ {
		must(t, c.ep[1].Inject([]byte{byte(n), 1, 2, 3, 4, 5, 6, 7}, c.to[1]))
	}
	for end := time.Now().Add(bound); c.queued(1) > 0; c.ep[1].q.Read(nil) {
		if time.Now().After(end) {
			t.Fatal("never: the queue of messages becomes empty")
		}
	}
	c.d[0].drv.prog.Unlock()
	c.wait("the second side sends its last message over TCP", func() bool { return c.state(1) == moveHeld })
	return c, n
}

// read reads the completions of one side and returns their number.
func (c *couple) read(side int) int {
	c.t.Helper()
	es := make([]core.CQEntry, 64)
	n, err := c.ep[side].q.Read(es)
	if err != nil && !errors.Is(err, core.ErrAgain) {
		c.t.Fatal(err)
	}
	return n
}

// wait makes progress on both sides until ok. It ignores received messages.
func (c *couple) wait(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(bound); !ok(); {
		for s := range 2 {
			if c.ep[s] != nil {
				c.ep[s].q.Read(nil)
			}
		}
		if time.Now().After(end) {
			c.t.Fatalf("never: %s", what)
		}
	}
}

// state returns the move state of a side's only stream.
func (c *couple) state(side int) (m moveState) {
	c.d[side].drv.prog.Lock()
	defer c.d[side].drv.prog.Unlock()
	for p := range c.ep[side].drv.Each {
		m = p.Stream.(*tcpStream).move
	}
	return m
}

// take receives n messages at the first side and checks them.
func (c *couple) take(from, n int) {
	c.t.Helper()
	for i := from; i < from+n; i++ {
		buf := make([]byte, 8)
		must(c.t, c.ep[0].Recv(buf, 0, core.AddrUnspec, 3))
		c.wait(fmt.Sprintf("message %d of those that waited", i), func() bool { return c.read(0) == 1 })
		if want := []byte{byte(i), 1, 2, 3, 4, 5, 6, 7}; !bytes.Equal(buf, want) {
			c.t.Fatalf("message %d: %v", i, buf)
		}
	}
}

// TestMoveStalled: "moved" behind messages without room is processed when those have found room, even if nothing
// follows it.
func TestMoveStalled(t *testing.T) {
	c, n := late(t)
	defer c.close()
	c.take(0, n)
	c.wait("both have moved", func() bool {
		for _, s := range c.streams() {
			if !local(t, s) {
				return false
			}
		}
		return true
	})
	c.exchange(10, func(int) int { return 64 })
}

// TestMoveClosed: messages posted between the two "moved" arrive, although the endpoint closes at once.
func TestMoveClosed(t *testing.T) {
	c, n := late(t)
	must(t, c.ep[1].Inject([]byte{byte(n), 1, 2, 3, 4, 5, 6, 7}, c.to[1]))
	if c.state(1) != moveHeld {
		t.Fatal("the stream has moved")
	}
	c.ep[1].closeAll(t)
	c.ep[1] = nil
	must(t, c.d[1].Close())
	must(t, c.f[1].Close())
	c.take(0, n+1)
	c.ep[0].closeAll(t)
	c.d[0].drv.prog.Lock()
	if m := c.d[0].drv.bufs.mover; len(m.offers) != 0 || m.listener.Pending() != 0 || len(m.streams) != 0 {
		t.Errorf("%d offers, %d connections, %d streams are left over",
			len(m.offers), m.listener.Pending(), len(m.streams))
	}
	c.d[0].drv.prog.Unlock()
	must(t, c.d[0].Close())
	must(t, c.f[0].Close())
}

// TestMoveStarved: a process without free descriptors accepts the local connection with a spare one. If the spare
// one is taken, it tries again.
func TestMoveStarved(t *testing.T) {
	for _, stolen := range []bool{false, true} {
		c, n := late(t)
		if n := c.spares(); n != 2 { // for the socket and the memory
			t.Fatalf("%d descriptors are kept for the peer that was asked to move", n)
		}
		restore := exhaust(t)
		if stolen {
			c.d[0].drv.prog.Lock()
			for range 2 {
				c.d[0].drv.bufs.mover.listener.Release()
				fd, err := unix.Dup(0)
				must(t, err)
				defer unix.Close(fd)
			}
			c.d[0].drv.prog.Unlock()
		}
		c.take(0, n)
		if stolen {
			c.wait("the first side fails twice to accept its peer", func() bool { return c.missed() > 1 })
			restore()
		}
		c.wait("both have moved", func() bool {
			for _, s := range c.streams() {
				if !local(t, s) {
					return false
				}
			}
			return true
		})
		if !stolen {
			restore()
		}
		c.exchange(10, func(int) int { return 64 })
		if n := c.spares(); n != 0 {
			t.Errorf("%d descriptors are kept though no peer is expected", n)
		}
		c.close()
	}
}

// queued returns the bytes that wait for transmission on a side's only stream.
func (c *couple) queued(side int) (n int) {
	c.d[side].drv.prog.Lock()
	defer c.d[side].drv.prog.Unlock()
	for p := range c.ep[side].drv.Each {
		n = p.Stream.(*tcpStream).conn.Queued()
	}
	return n
}

// spares returns the number of descriptors that the first side keeps for expected peers.
func (c *couple) spares() int {
	c.d[0].drv.prog.Lock()
	defer c.d[0].drv.prog.Unlock()
	return c.d[0].drv.bufs.mover.listener.Reserved()
}

// missed returns how often the first side could not accept its peer.
func (c *couple) missed() (n int) {
	c.d[0].drv.prog.Lock()
	defer c.d[0].drv.prog.Unlock()
	for p := range c.ep[0].drv.Each {
		if m := p.Stream.(*tcpStream).moving; m != nil {
			n = m.retries
		}
	}
	return n
}

// TestNoOffer: an end that has no spare descriptor for its peer makes no offer.
func TestNoOffer(t *testing.T) {
	c := newCouple(t, nil)
	defer c.close()
	c.exchange(1, func(int) int { return 8 })
	for _, d := range c.d {
		d.drv.prog.Lock()
		if !d.drv.bufs.mover.listen() {
			t.Fatal("the endpoint does not listen on a local socket")
		}
		d.drv.prog.Unlock()
	}
	restore := exhaust(t)
	c.exchange(2*moveAfter, func(int) int { return 64 })
	restore()
	c.exchange(2*moveAfter, func(int) int { return 64 })
	for _, s := range c.streams() {
		if local(t, s) {
			t.Error("a stream has moved though it must not")
		}
	}
}
