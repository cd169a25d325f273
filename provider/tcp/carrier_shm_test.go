//go:build linux && !fabricbasic

package tcp

// Streams in shared memory.

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/shm"
	"gofabric/internal/trust"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// shm returns the carrier of a stream in shared memory, nil for other carriers. Locked.
func (s *tcpStream) shm() *shmCarrier {
	c, _ := s.carrier.(*shmCarrier)
	return c
}

// shared counts the streams in shared memory.
func (c *couple) shared() (n int) {
	for _, s := range c.streams() {
		s.prog.Lock()
		if s.shm() != nil {
			n++
		}
		s.prog.Unlock()
	}
	return n
}

// newShared is a couple whose streams go through shared memory.
func newShared(t *testing.T) *couple {
	t.Helper()
	return newSharedWith(t, nil)
}

func newSharedWith(t *testing.T, env map[string]string) *couple {
	t.Helper()
	vars := map[string]string{"FI_TCP_SINGLE_COPY_SIZE": "-1"}
	maps.Copy(vars, env)
	c := newCouple(t, vars)
	for range 5 {
		c.exchange(60, func(int) int { return 64 })
		if c.shared() == 2 {
			return c
		}
	}
	t.Fatal("the streams do not go through shared memory")
	return nil
}

// awake polls at end i until only passes read its stream.
func (c *couple) awake(i int) {
	c.t.Helper()
	for end, es := time.Now().Add(bound), make([]core.CQEntry, 1); ; {
		c.ep[i].q.Read(es)
		c.d[i].drv.prog.Lock()
		on := c.streams1(i).shm().polls
		c.d[i].drv.prog.Unlock()
		if on {
			return
		}
		if time.Now().After(end) {
			c.t.Fatal("polling does not make passes read the stream directly")
		}
	}
}

// noMemories checks that no shared memory is in use any more.
func (c *couple) noMemories() {
	for _, d := range c.d {
		d.drv.prog.Lock()
		if n := d.drv.bufs.mover.memories; n != 0 {
			c.t.Errorf("%d shared memories are left over", n)
		}
		d.drv.prog.Unlock()
	}
}

// TestShm checks which streams share memory, and that they release it.
func TestShm(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		full int // the end that has reached its limit of memories
		want int
	}{
		{"both", nil, -1, 2},
		{"not wanted", map[string]string{"FI_TCP_LOCAL_MEMORY": "0"}, -1, 0},
		{"too many here", nil, 0, 0},
		{"too many there", nil, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCouple(t, tc.env)
			if tc.full >= 0 {
				c.d[tc.full].drv.bufs.mover.memories += shmCarriersMax
			}
			for range 3 {
				c.exchange(60, func(i int) int { return 8 + i*i })
			}
			for i, s := range c.streams() {
				if !local(t, s) {
					t.Errorf("stream %d has not moved", i)
				}
			}
			if n := c.shared(); n != tc.want {
				t.Errorf("%d streams go through shared memory, want %d", n, tc.want)
			}
			if tc.full >= 0 {
				c.d[tc.full].drv.bufs.mover.memories -= shmCarriersMax
			}
			for i := range 2 {
				c.ep[i].closeAll(t)
			}
			c.noMemories()
			for i := range 2 {
				must(t, c.d[i].Close())
				must(t, c.f[i].Close())
			}
		})
	}
}

// sleepy waits for n completions of end i: it sleeps, polls, or makes no call at all, in turns.
func (c *couple) sleepy(i, n int, rnd *rand.Rand) error {
	es := make([]core.CQEntry, 8)
	for end := time.Now().Add(bound); n > 0; {
		var k int
		var err error
		if rnd.IntN(3) == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			k, err = c.ep[i].q.SRead(ctx, es[:min(len(es), n)])
			cancel()
		} else {
			k, err = c.ep[i].q.Read(es[:min(len(es), n)])
		}
		if err != nil && !errors.Is(err, core.ErrAgain) {
			return err
		}
		if n -= k; time.Now().After(end) {
			return errors.New("nothing comes")
		}
	}
	return nil
}

// TestShmSleeps exchanges messages between ends that sleep and poll in turns. Some messages find room, others do
// not. A sleeping end is always woken.
func TestShmSleeps(t *testing.T) {
	for _, size := range []int{8, 3000, 100_000, 1_000_000} {
		c := newShared(t)
		rounds := min(3000, 20_000_000/size)
		failed := make(chan error, 2)
		for i := range 2 {
			go func() {
				rnd := rand.New(rand.NewPCG(uint64(size), uint64(i)))
				failed <- func() error {
					in, out := make([]byte, size), make([]byte, size)
					for range rounds {
						if err := c.ep[i].Recv(in, 0, core.AddrUnspec, 1); err != nil {
							return err
						}
						if i == 0 {
							if err := c.ep[i].Send(out, 0, c.to[i], 2); err != nil {
								return err
							}
							if err := c.sleepy(i, 2, rnd); err != nil {
								return err
							}
							continue
						}
						if err := c.sleepy(i, 1, rnd); err != nil {
							return err
						}
						if err := c.ep[i].Send(out, 0, c.to[i], 2); err != nil {
							return err
						}
						if err := c.sleepy(i, 1, rnd); err != nil {
							return err
						}
					}
					return nil
				}()
			}()
		}
		for range 2 {
			if err := <-failed; err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		c.close()
	}
}

// TestShmAway sends to an end that makes no call after its posts. Its domain's goroutine receives all messages,
// also those that exceed the room in the memory.
func TestShmAway(t *testing.T) {
	const size, n = 200_000, 20
	c := newShared(t)
	defer c.close()
	c.d[1].drv.prog.Lock()
	base := c.streams1(1).conn.MsgsIn
	c.d[1].drv.prog.Unlock()
	for range n {
		must(t, c.ep[1].Recv(make([]byte, size), 0, core.AddrUnspec, 1))
	}
	for range n {
		must(t, c.ep[0].Send(make([]byte, size), 0, c.to[0], 2))
	}
	must(t, c.sleepy(0, n, rand.New(rand.NewPCG(1, 1))))
	es := make([]core.CQEntry, n)
	got := 0
	eventually(t, c.d[1].drv.prog, "the goroutine receives all messages", func() bool {
		return c.streams1(1).conn.MsgsIn >= base+n
	})
	for got < n {
		k, err := c.ep[1].q.Read(es)
		must(t, err)
		got += k
	}
}

// manual makes a domain progress only in the application's calls. No timer then hides a missing notification.
var manual = map[string]string{"FI_TCP_DISABLE_AUTO_PROGRESS": "1"}

// TestShmFallsAsleep sends to an end between its last poll and its sleep. No doorbell is rung, so it must check the
// memory once more before it sleeps.
func TestShmFallsAsleep(t *testing.T) {
	for _, env := range []map[string]string{nil, manual} {
		c := newSharedWith(t, env)
		buf := make([]byte, 8)
		for range 20 {
			must(t, c.ep[1].Recv(buf, 0, core.AddrUnspec, 1))
			c.awake(1)
			e := c.d[1].drv.prog
			e.Lock()
			s := c.streams1(1)
			if !s.shm().polls { // the domain's goroutine was faster
				e.Unlock()
				must(t, c.ep[0].Inject(buf, c.to[0]))
				must(t, c.sleepy(1, 1, rand.New(rand.NewPCG(1, 2))))
				continue
			}
			before := s.conn.MsgsIn
			must(t, c.ep[0].Inject(buf, c.to[0]))
			for range 3 {
				c.ep[0].q.Read(nil) // transmits the message
			}
			if n, err := s.shm().Unread(); n == 0 || err != nil {
				t.Fatal("nothing was written: ", err)
			}
			e.EnterWait()
			e.Unlock()
			eventually(t, e, "the message is taken", func() bool { return s.conn.MsgsIn > before })
			e.Lock()
			e.LeaveWait()
			e.Unlock()
			must(t, c.sleepy(1, 1, rand.New(rand.NewPCG(1, 3))))
		}
		c.close()
	}
}

// TestShmFallsAsleepFull is the same for an end that had no room for a whole message at its last poll, and has room
// now.
func TestShmFallsAsleepFull(t *testing.T) {
	c := newSharedWith(t, manual)
	defer c.close()
	const size = 3 * shm.RingSize / 2
	e := c.d[0].drv.prog
	es := make([]core.CQEntry, 1)
	for range 20 {
		must(t, c.ep[1].Recv(make([]byte, size), 0, core.AddrUnspec, 1))
		c.awake(0)
		must(t, c.ep[0].Send(make([]byte, size), 0, c.to[0], 2))
		c.ep[0].q.Read(nil)
		e.Lock()
		if s := c.streams1(0); !s.blocked || !s.shm().polls {
			t.Fatal("blocked: ", s.blocked, ", awake: ", s.shm().polls)
		}
		e.Unlock()
		for end, idle := time.Now().Add(bound), false; !idle; {
			c.ep[1].q.Read(es)
			c.d[1].drv.prog.Lock()
			idle = c.streams1(1).shm().Empty()
			c.d[1].drv.prog.Unlock()
			if time.Now().After(end) {
				t.Fatal("the end does not receive the data that it had room for")
			}
		}
		e.Lock()
		e.EnterWait()
		e.Unlock()
		must(t, c.polled(1))
		e.Lock()
		e.LeaveWait()
		e.Unlock()
		must(t, c.polled(0))
	}
}

// polled waits for a completion of end i by polling.
func (c *couple) polled(i int) error {
	es := make([]core.CQEntry, 1)
	for end := time.Now().Add(bound); ; {
		if n, err := c.ep[i].q.Read(es); n > 0 || !errors.Is(err, core.ErrAgain) {
			return err
		}
		if time.Now().After(end) {
			return errors.New("nothing comes")
		}
	}
}

// streams1 returns the only connection of an end. Locked.
func (c *couple) streams1(i int) (s *tcpStream) {
	for p := range c.ep[i].drv.Each {
		s = p.Stream.(*tcpStream)
	}
	return s
}

// TestShmPeerGone ends one end while the other polls, sleeps, or waits for room.
func TestShmPeerGone(t *testing.T) {
	for _, how := range []string{"polls", "sleeps", "blocked"} {
		t.Run(how, func(t *testing.T) {
			env := manual
			if how != "polls" {
				env = nil
			}
			c := newSharedWith(t, env)
			if how == "blocked" {
				for range 20 {
					must(t, c.ep[0].Send(make([]byte, 1<<20), 0, c.to[0], 2))
				}
			}
			s := c.streams()[0]
			if how == "polls" {
				c.awake(0)
			}
			// The same as in a killed process: its descriptors are closed without a message.
			c.d[1].drv.prog.Lock()
			other := c.streams1(1)
			netx.Shutdown(other.carrier.socket(), syscall.SHUT_RDWR)
			if how != "polls" {
				eventually(t, s.prog, "the stream notices that its peer has closed", func() bool {
					return s.conn.State() == engine.Closed
				})
			}
			for end, gone := time.Now().Add(bound), false; !gone; {
				c.ep[0].q.Read(make([]core.CQEntry, 1))
				s.prog.Lock()
				gone = s.conn.State() == engine.Closed
				s.prog.Unlock()
				if time.Now().After(end) {
					c.d[1].drv.prog.Unlock()
					t.Fatal("the polling end does not notice that its peer has closed")
				}
			}
			c.d[1].drv.prog.Unlock()
			for i := range 2 {
				c.ep[i].closeAll(t)
			}
			c.noMemories()
			for i := range 2 {
				must(t, c.d[i].Close())
				must(t, c.f[i].Close())
			}
		})
	}
}

// TestShmBroken: a peer writes invalid data into the memory. The connection ends at an end that polls and at one
// that sleeps, and nothing is left.
func TestShmBroken(t *testing.T) {
	for _, how := range []string{"polls", "sleeps"} {
		t.Run(how, func(t *testing.T) {
			env := manual
			if how != "polls" {
				env = nil
			}
			c := newSharedWith(t, env)
			defer c.noMemories()
			defer c.close()
			if how == "polls" {
				c.awake(0)
			}
			s := c.streams()[0]
			c.d[1].drv.prog.Lock()
			other := c.streams1(1)
			other.shm().Corrupt()
			if how != "polls" {
				other.shm().Ring()
				eventually(t, s.prog, "the connection ends", func() bool { return s.conn.State() == engine.Closed })
			}
			for end, gone := time.Now().Add(bound), false; !gone && !t.Failed(); {
				c.ep[0].q.Read(make([]core.CQEntry, 1))
				s.prog.Lock()
				gone = s.conn.State() == engine.Closed
				s.prog.Unlock()
				if time.Now().After(end) {
					t.Error("the polling end does not notice the invalid data")
				}
			}
			c.d[1].drv.prog.Unlock()
		})
	}
}

// TestShmMissing: a peer announces memory with its token, but passes none. This connection ends, and no other.
func TestShmMissing(t *testing.T) {
	c := newCouple(t, nil)
	defer c.close()
	c.exchange(1, func(int) int { return 8 })
	var offers, takes *tcpStream
	for _, s := range c.streams() {
		s.prog.Lock()
		if s.move == moveMay {
			offers = s
		} else {
			takes = s
		}
		s.prog.Unlock()
	}
	offers.prog.Lock()
	offers.makeOffer()
	name, token := offers.moving.offer.Name, offers.moving.offer.Token
	local, err := samehost.Dial(trust.Stream, socketName(name))
	must(t, err)
	defer local.Close()
	must(t, local.Greet(token[:], false))
	offers.prog.Unlock()
	takes.prog.Lock()
	takes.offered, takes.move = true, moveNever // so that it does not take the offer itself
	takes.conn.Say(wire.AppendMoved(nil, true))
	takes.flush()
	takes.prog.Unlock()
	eventually(t, offers.prog, "the connection ends", func() bool { return offers.conn.State() == engine.Closed })
	c.ep[0].q.Read(nil)
}
