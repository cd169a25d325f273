package conform

// Counters (fi_cntr(3)), poll sets and wait sets (fi_poll(3)).

import (
	"context"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

func testCounters(t *testing.T, st Stack) {
	t.Run("object", func(t *testing.T) { cntrObject(t, st) })
	t.Run("endpoint", func(t *testing.T) { cntrEndpoint(t, st) })
	t.Run("traffic", func(t *testing.T) { cntrTraffic(t, st) })
	t.Run("errors", func(t *testing.T) { cntrErrors(t, st) })
	t.Run("fd", func(t *testing.T) { cntrFD(t, st) })
	t.Run("pollset", func(t *testing.T) { pollSet(t, st) })
	t.Run("waitset", func(t *testing.T) { waitSet(t, st) })
}

// cntrObject checks a counter by itself: Add, Set, Wait, thresholds, time-outs.
func cntrObject(t *testing.T, st Stack) {
	p := Open(t, st)
	for _, w := range []core.WaitObj{core.WaitUnspec, core.WaitFD, core.WaitYield} {
		c := must(t, "OpenCounter", func() (*core.Counter, error) { return p.A.Domain.OpenCounter(core.CntrAttr{WaitObj: w}) })
		p.A.ok("Add", c.Add(3))
		p.A.ok("Add", c.Add(4))
		p.A.ok("AddErr", c.AddErr(2))
		if c.Value() != 7 || c.ErrValue() != 2 {
			t.Errorf("after Add(3), Add(4), AddErr(2): %d, %d", c.Value(), c.ErrValue())
		}
		p.A.ok("Set", c.Set(100))
		p.A.ok("SetErr", c.SetErr(0))
		if c.Value() != 100 || c.ErrValue() != 0 {
			t.Errorf("after Set(100), SetErr(0): %d, %d", c.Value(), c.ErrValue())
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if err := c.Wait(ctx, 100); err != nil {
			t.Errorf("Wait for a threshold that is reached: %v", err)
		}
		if err := c.Wait(ctx, 101); !errors.Is(err, core.ErrTimedOut) {
			t.Errorf("Wait until a deadline: %v; want ErrTimedOut", err)
		}
		cancel()
		ctx, cancel = context.WithTimeout(context.Background(), Deadline)
		res := make(chan error, 1)
		go func() { res <- c.Wait(ctx, 105) }()
		for range 5 {
			time.Sleep(time.Millisecond) // usually until it waits; the outcome does not depend on it
			p.A.ok("Add", c.Add(1))
		}
		if err := p.await("Wait", res); err != nil {
			t.Errorf("Wait for Add from another goroutine: %v", err)
		}
		go func() { res <- c.Wait(ctx, 1000) }()
		err := error(nil)
		for waits := true; waits; { // an error from before the wait does not wake it
			p.A.ok("AddErr", c.AddErr(1))
			select {
			case err = <-res:
				waits = false
			case <-time.After(time.Millisecond):
			}
		}
		if !errors.Is(err, core.ErrAvail) {
			t.Errorf("Wait while the error count moves: %v; want ErrAvail", err)
		}
		cancel()
		p.A.ok("Close counter", c.Close())
	}
	if c, err := p.A.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitMutexCond}); err == nil {
		t.Error("a counter with WaitMutexCond opened; native refuses it")
		c.Close()
	}
}

// cntrEndpoint binds counters for all local directions and checks their values.
func cntrEndpoint(t *testing.T, st Stack) {
	caps := core.CapMsg
	if st.Offers(t, core.CapRMA) {
		caps |= core.CapRMA
	}
	cn := map[*Side]map[core.BindFlags]*core.Counter{}
	dirs := []core.BindFlags{core.BindSend, core.BindRecv, core.BindRead, core.BindWrite}
	p := Open(t, st, WithCaps(caps), WithBefore(func(s *Side) {
		cn[s] = map[core.BindFlags]*core.Counter{}
		for _, d := range dirs {
			c := must(t, "OpenCounter",
				func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
			s.ok("BindCounter", s.EP.BindCounter(c, d))
			if err := s.EP.BindCounter(c, d); !errors.Is(err, core.ErrInval) {
				t.Errorf("second counter for the same direction: %v; want ErrInval", err)
			}
			cn[s][d] = c
		}
		refuse(t, "BindCounter with a flag that is no direction",
			s.EP.BindCounter(cn[s][core.BindSend], 1<<16), core.ErrBadFlags, core.ErrInval)
	}))
	a, b := cn[p.A], cn[p.B]
	buf := make([]byte, 10000)
	const n = 30
	for i := range n {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf[:8], 0, core.AddrUnspec, core.OpContext(i)) })
		if i%2 == 0 { // injects are counted, too
			p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		} else {
			p.Retry("send", func() error { return p.A.EP.Send(still[:8], 0, p.A.Peer, core.OpContext(i)) })
			p.Want(p.A, core.OpContext(i))
		}
		p.Want(p.B, core.OpContext(i))
	}
	want := map[core.BindFlags]uint64{core.BindSend: n}
	if caps&core.CapRMA != 0 {
		mr := p.B.Reg(make([]byte, 10000), allAccess)
		for i := range n {
			p.Retry("write", func() error { return p.A.EP.Write(buf[:i*300], 0, p.A.Peer, mr.Base(), mr.Key(), 1) })
			p.Retry("read", func() error { return p.A.EP.Read(buf[:i*300], 0, p.A.Peer, mr.Base(), mr.Key(), 2) })
			p.Want(p.A, 1)
			p.Want(p.A, 2)
		}
		p.Retry("inject_write", func() error { return p.A.EP.InjectWrite(buf[:8], p.A.Peer, mr.Base(), mr.Key()) })
		settle(p, mr)
		want[core.BindWrite], want[core.BindRead] = n+1, n+1
		p.B.ok("Close MR", mr.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	for _, d := range dirs {
		if err := a[d].Wait(ctx, want[d]); err != nil || a[d].Value() != want[d] {
			t.Errorf("initiator's counter %#x: %d, %v; want %d", uint64(d), a[d].Value(), err, want[d])
		}
	}
	if err := b[core.BindRecv].Wait(ctx, n); err != nil ||
		b[core.BindRecv].Value() != n || b[core.BindSend].Value() != 0 {
		t.Errorf("target's counters: recv %d, send %d, %v; want %d, 0", b[core.BindRecv].Value(),
			b[core.BindSend].Value(), err, n)
	}
	for s, m := range cn {
		refuse(t, "Close of a bound counter", m[core.BindSend].Close(), core.ErrBusy)
		s.CloseEP()
		for _, c := range m {
			s.ok("Close counter", c.Close())
		}
	}
}

// cntrErrors checks that failed operations move the error count and wake waiters with ErrAvail.
func cntrErrors(t *testing.T, st Stack) {
	var c *core.Counter
	p := Open(t, st, WithBefore(func(s *Side) {
		if s.Name == "B" {
			c = must(t, "OpenCounter",
				func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
			s.ok("BindCounter", s.EP.BindCounter(c, core.BindRecv))
		}
	}))
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	p.Retry("recv", func() error { return p.B.Rx().Recv(make([]byte, 4), 0, core.AddrUnspec, 1) })
	res := make(chan error, 1)
	go func() {
		for c.ErrValue() == 0 { // an error before the wait of this goroutine does not wake it
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			err := c.Wait(short, 1)
			cancel()
			if !errors.Is(err, core.ErrTimedOut) || ctx.Err() != nil {
				res <- err
				return
			}
		}
		res <- core.ErrAvail
	}()
	time.Sleep(2 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	p.Retry("inject", func() error { return p.A.EP.Inject(make([]byte, 8), p.A.Peer) })
	if err := p.await("Wait", res); !errors.Is(err, core.ErrAvail) {
		t.Errorf("Wait while a receive is truncated: %v; want ErrAvail", err)
	}
	p.WantErr(p.B, 1, core.ErrTrunc)
	if c.Value() != 0 || c.ErrValue() != 1 {
		t.Errorf("after a truncated receive: %d, errors %d; want 0, 1", c.Value(), c.ErrValue())
	}
	p.B.CloseEP()
	p.B.ok("Close counter", c.Close())
}

// cntrFD waits for a counter with poll(2).
func cntrFD(t *testing.T, st Stack) {
	var c *core.Counter
	p := Open(t, st, WithBefore(func(s *Side) {
		if s.Name == "B" {
			c = must(t, "OpenCounter",
				func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitFD}) })
			s.ok("BindCounter", s.EP.BindCounter(c, core.BindRecv))
		}
	}))
	fd, err := c.WaitFD()
	if err != nil {
		t.Fatalf("WaitFD: %v", err)
	}
	buf := make([]byte, 8)
	for i := range uint64(20) {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
		res := make(chan error, 1)
		go func() {
			for c.Value() < i+1 {
				if err := p.B.Fabric.TryWait(c); errors.Is(err, core.ErrAgain) {
					continue
				}
				if ok, err := pollFD(fd, Deadline); !ok {
					res <- errors.Join(errors.New("the descriptor did not become readable"), err)
					return
				}
			}
			res <- nil
		}()
		p.B.Asleep = true
		p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		if err := p.await("poll and read the counter", res); err != nil {
			t.Fatal(err)
		}
		p.B.Asleep = false
		p.Want(p.B, 1)
	}
	p.B.CloseEP()
	p.B.ok("Close counter", c.Close())
}
