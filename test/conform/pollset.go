package conform

// Poll sets and wait sets (fi_poll(3)).

import (
	"context"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

// pollSet checks fi_poll(3).
func pollSet(t *testing.T, st Stack) {
	p := Open(t, st)
	set, err := p.B.Domain.OpenPoll(core.PollAttr{})
	if err != nil {
		t.Fatalf("OpenPoll: %v", err)
	}
	c := must(t, "OpenCounter", func() (*core.Counter, error) { return p.B.Domain.OpenCounter(core.CntrAttr{}) })
	p.B.ok("Add of a queue", set.Add(p.B.RxCQ))
	p.B.ok("Add of a counter", set.Add(c))
	refuse(t, "Add of an endpoint", set.Add(p.B.EP), core.ErrInval)
	ready := make([]core.Object, 4)
	if n, err := set.Poll(ready); n != 0 || (err != nil && !errors.Is(err, core.ErrAgain)) {
		t.Errorf("Poll of idle objects: %d, %v", n, err)
	}
	p.B.Asleep = true
	p.Retry("recv", func() error { return p.B.Rx().Recv(make([]byte, 8), 0, core.AddrUnspec, 1) })
	p.Retry("inject", func() error { return p.A.EP.Inject(make([]byte, 8), p.A.Peer) })
	p.until("Poll reports the queue", func() bool {
		n, err := set.Poll(ready)
		return n == 1 && err == nil && ready[0] == core.Object(p.B.RxCQ)
	})
	p.B.ok("Add to the counter", c.Add(1))
	if n, err := set.Poll(ready); n != 2 || err != nil {
		t.Errorf("Poll with a completion and a moved counter: %d, %v; want 2", n, err)
	}
	p.B.Asleep = false
	p.Want(p.B, 1)
	if n, err := set.Poll(ready); n != 0 || (err != nil && !errors.Is(err, core.ErrAgain)) {
		t.Errorf("Poll after everything was read: %d, %v; want 0", n, err)
	}
	refuse(t, "Close of a poll set with two members", set.Close(), core.ErrBusy)
	p.B.ok("Del", set.Del(p.B.RxCQ))
	refuse(t, "Close of a poll set with a member", set.Close(), core.ErrBusy)
	p.B.ok("Add to the counter", c.Add(1))
	if n, err := set.Poll(ready); n != 1 || err != nil || ready[0] != core.Object(c) {
		t.Errorf("Poll after the refused closes: %d, %v; want the counter", n, err)
	}
	p.B.ok("Del", set.Del(c))
	p.B.ok("Close poll set", set.Close())
	p.B.ok("Close counter", c.Close())
	memberCloses(p.B)
}

// memberCloses closes a member of a set. The set does not keep it open, because fi_cq(3) and fi_cntr(3) do not say so.
func memberCloses(s *Side) {
	s.T.Helper()
	set := must(s.T, "OpenPoll", func() (*core.PollSet, error) { return s.Domain.OpenPoll(core.PollAttr{}) })
	c := must(s.T, "OpenCounter", func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{}) })
	cq := must(s.T, "OpenCQ", func() (*core.CompletionQueue, error) {
		return s.Domain.OpenCQ(core.CQAttr{Format: core.CQFormatContext})
	})
	s.ok("Add", set.Add(c))
	s.ok("Add", set.Add(cq))
	s.ok("Close counter", c.Close())
	refuse(s.T, "Close of a poll set with a member that is open", set.Close(), core.ErrBusy)
	s.ok("Close queue", cq.Close())
	s.ok("Close poll set", set.Close())
}

// waitSet checks fi_wait(3): a queue that was opened on a wait set wakes it.
func waitSet(t *testing.T, st Stack) {
	if st.EPType == core.EPTypeMsg && st.SharedRx {
		return // other stacks test the queues of a shared context
	}
	info := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", st.hints(core.CapMsg)) })
	f := st.open(t, info)
	w, err := f.OpenWait(core.WaitAttr{WaitObj: core.WaitFD})
	if err != nil {
		t.Fatalf("OpenWait: %v", err)
	}
	d := must(t, "OpenDomain", func() (*core.Domain, error) { return f.OpenDomain(info) })
	cq := must(t, "OpenCQ", func() (*core.CompletionQueue, error) {
		return d.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitSetObj, WaitSet: w})
	})
	c := must(t, "OpenCounter", func() (*core.Counter, error) {
		return d.OpenCounter(core.CntrAttr{WaitObj: core.WaitSetObj, WaitSet: w})
	})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	if err := w.Wait(ctx); !errors.Is(err, core.ErrTimedOut) {
		t.Errorf("Wait without an event: %v; want ErrTimedOut", err)
	}
	cancel()
	ctx, cancel = context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	res := make(chan error, 1)
	go func() { res <- w.Wait(ctx) }()
	time.Sleep(2 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	if err := c.Add(1); err != nil {
		t.Errorf("Add: %v", err)
	}
	if err := awaitAlone(t, "Wait", res); err != nil {
		t.Errorf("Wait while a counter moves: %v", err)
	}
	refuse(t, "Close of a wait set in use", w.Close(), core.ErrBusy)
	for _, o := range []core.Object{c, cq, w, d, f} {
		if err := o.Close(); err != nil {
			t.Errorf("Close of %T: %v", o, err)
		}
	}
}

// awaitAlone waits for a goroutine's result in a test without a pair.
func awaitAlone(t *testing.T, what string, c chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(Deadline):
		t.Fatalf("%s: still waiting after %v", what, Deadline)
		return nil
	}
}
