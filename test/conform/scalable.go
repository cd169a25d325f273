package conform

// Scalable endpoints (fi_endpoint(3), SCALABLE ENDPOINTS): contexts with queues of their own behind one address.

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

// scalCaps are the capabilities that tests of scalable endpoints request.
const scalCaps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapNamedRxCtx

// scalBits is the number of address bits for up to 16 contexts.
const scalBits = 4

// scal is a scalable endpoint with its objects.
type scal struct {
	t            testing.TB
	info         *core.Info
	fabric       *core.Fabric
	domain       *core.Domain
	av           *core.AddressVector
	sep          *core.ScalableEndpoint
	tx, rx       []*core.Endpoint
	txCQ, rxCQ   []*core.CompletionQueue
	addr         core.Addr
	peer         core.FIAddr // address of the other one
	other        *scal
	finished     bool
	contextCount int
}

func openScal(t testing.TB, st Stack, n int, caps core.Caps) *scal {
	t.Helper()
	h := st.hints(caps)
	h.EP.TxCtxCnt, h.EP.RxCtxCnt = n, n
	s := &scal{t: t, contextCount: n}
	s.info = must(t, "GetInfo", func() (*core.Info, error) { return st.info("", h) })
	if s.info.EP.TxCtxCnt != n || s.info.EP.RxCtxCnt != n ||
		s.info.Domain.MaxEPTxCtx < n || s.info.Domain.MaxEPRxCtx < n {
		t.Fatalf("requested %d contexts, offered %d and %d, at most %d and %d", n, s.info.EP.TxCtxCnt,
			s.info.EP.RxCtxCnt, s.info.Domain.MaxEPTxCtx, s.info.Domain.MaxEPRxCtx)
	}
	s.fabric = st.open(t, s.info)
	s.domain = must(t, "OpenDomain", func() (*core.Domain, error) { return s.fabric.OpenDomain(s.info) })
	s.av = must(t, "OpenAV", func() (*core.AddressVector, error) { return s.domain.OpenAV(core.AVAttr{RxCtxBits: scalBits}) })
	s.sep = must(t, "OpenScalable", func() (*core.ScalableEndpoint, error) { return s.domain.OpenScalable(s.info) })
	s.ok("BindAV", s.sep.BindAV(s.av, 0))
	for i := range n {
		s.tx = append(s.tx, must(t, "TxContext", func() (*core.Endpoint, error) { return s.sep.TxContext(i, nil) }))
		s.rx = append(s.rx, must(t, "RxContext", func() (*core.Endpoint, error) { return s.sep.RxContext(i, nil) }))
		cq := func() *core.CompletionQueue {
			return must(t, "OpenCQ", func() (*core.CompletionQueue, error) {
				return s.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
			})
		}
		s.txCQ, s.rxCQ = append(s.txCQ, cq()), append(s.rxCQ, cq())
		s.ok("BindCQ", s.tx[i].BindCQ(s.txCQ[i], core.BindTransmit))
		s.ok("BindCQ", s.rx[i].BindCQ(s.rxCQ[i], core.BindRecv))
		s.ok("Enable", s.tx[i].Enable())
		s.ok("Enable", s.rx[i].Enable())
	}
	refuse(t, "a send before the scalable endpoint is enabled", s.tx[0].Send(still, 0, 0, 0), core.ErrOpBadState)
	s.ok("Enable", s.sep.Enable())
	s.addr = must(t, "Name", s.sep.Name)
	return s
}

func (s *scal) ok(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

// openScals opens two scalable endpoints that know each other. The test closes them at its end.
func openScals(t testing.TB, st Stack, n int, caps core.Caps) (a, b *scal) {
	t.Helper()
	a, b = openScal(t, st, n, caps), openScal(t, st, n, caps)
	for _, s := range []*scal{a, b} {
		s.other = b
		if s == b {
			s.other = a
		}
		fi := make([]core.FIAddr, 1)
		if k, err := s.av.Insert([]core.Addr{s.other.addr}, fi, 0); k != 1 || err != nil {
			t.Fatalf("Insert: %d, %v", k, err)
		}
		s.peer = fi[0]
	}
	t.Cleanup(func() { a.close(); b.close() })
	return a, b
}

func (s *scal) close() {
	if s.finished {
		return
	}
	s.finished = true
	for _, list := range [][]*core.Endpoint{s.tx, s.rx} {
		for _, e := range list {
			s.ok("Close context", e.Close())
		}
	}
	s.ok("Close scalable endpoint", s.sep.Close())
	for _, list := range [][]*core.CompletionQueue{s.txCQ, s.rxCQ} {
		for _, q := range list {
			s.ok("Close CQ", q.Close())
		}
	}
	s.ok("Close AV", s.av.Close())
	s.ok("Close domain", s.domain.Close())
	s.ok("Close fabric", s.fabric.Close())
}

// at returns the address of context i of the other one.
func (s *scal) at(i int) core.FIAddr { return core.RxAddr(s.peer, i, scalBits) }

// post repeats a post that returns ErrAgain.
func (s *scal) post(what string, f func() error) {
	s.t.Helper()
	end := time.Now().Add(Deadline)
	for n := 0; ; n++ {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
			s.t.Fatalf("%s: %v", what, err)
		}
		s.progress()
		relax(n)
	}
}

// progress makes progress at both ends without taking completions.
func (s *scal) progress() {
	s.txCQ[0].Read(nil)
	s.other.txCQ[0].Read(nil)
}

// next waits for a queue's next completion.
func (s *scal) next(q *core.CompletionQueue, what string) Got {
	s.t.Helper()
	g, err := s.await(q, what)
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func (s *scal) await(q *core.CompletionQueue, what string) (Got, error) {
	end := time.Now().Add(Deadline)
	var e [1]core.CQEntry
	var src [1]core.FIAddr
	for n := 0; ; n++ {
		k, err := q.ReadFrom(e[:], src[:])
		if k == 1 {
			return Got{CQEntry: e[0], Src: src[0]}, nil
		}
		if errors.Is(err, core.ErrAvail) {
			ee := new(core.CQErrEntry)
			err = q.ReadErr(ee)
			return Got{CQEntry: ee.CQEntry, Err: ee}, err
		}
		if time.Now().After(end) {
			return Got{}, fmt.Errorf("%s: no completion within %v: %v", what, Deadline, err)
		}
		s.progress()
		relax(n)
	}
}

// want waits for the success of the operation with ctx, which must be the queue's next completion.
func (s *scal) want(q *core.CompletionQueue, ctx core.OpContext, what string) Got {
	s.t.Helper()
	g := s.next(q, what)
	if g.Err != nil || g.Ctx != ctx {
		s.t.Fatalf("%s: %v; want the success of %d", what, g, ctx)
	}
	return g
}

// none fails if any queue has a completion.
func (s *scal) none() {
	s.t.Helper()
	for _, list := range [][]*core.CompletionQueue{s.txCQ, s.rxCQ} {
		for i, q := range list {
			var e [1]core.CQEntry
			if k, err := q.Read(e[:]); k != 0 || !errors.Is(err, core.ErrAgain) {
				s.t.Fatalf("queue of context %d: %d, %v, %+v", i, k, err, e[0])
			}
		}
	}
}

func testScalable(t *testing.T, st Stack) {
	if st.EPType == core.EPTypeMsg || !st.need(t, scalCaps) {
		return
	}
	if st.Foreign {
		t.Run("unnamed", func(t *testing.T) { scalUnnamed(t, st) })
		return
	}
	t.Run("each", func(t *testing.T) { scalEach(t, st) })
	t.Run("unexpected", func(t *testing.T) { scalUnexpected(t, st) })
	t.Run("order", func(t *testing.T) { scalOrder(t, st) })
	t.Run("rma", func(t *testing.T) { scalRMA(t, st) })
	t.Run("control", func(t *testing.T) { scalControl(t, st) })
	t.Run("reopen", func(t *testing.T) { scalReopen(t, st) })
	t.Run("nowhere", func(t *testing.T) { scalNowhere(t, st) })
	t.Run("threads", func(t *testing.T) { scalThreads(t, st) })
}

// scalEach sends from each of 16 contexts to another one, messages of several sizes with and without tags.
func scalEach(t *testing.T, st Stack) {
	const n = 16
	a, b := openScals(t, st, n, scalCaps)
	for _, size := range []int{0, 8, 4000, 100_000, min(1<<20, st.maxSize())} {
		for i := range n {
			to := (i*5 + 3) % n
			buf, seed := make([]byte, size), uint64(size+i)
			out := Pattern(size, seed)
			if i%2 == 0 {
				a.post("recv", func() error { return b.rx[to].Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
				a.post("send", func() error { return a.tx[i].Send(out, 0, a.at(to), core.OpContext(100+i)) })
			} else {
				a.post("trecv", func() error { return b.rx[to].TRecv(buf, 0, core.AddrUnspec, 7, 0, core.OpContext(i)) })
				a.post("tsend", func() error { return a.tx[i].TSend(out, 0, a.at(to), 7, core.OpContext(100+i)) })
			}
			g := a.want(b.rxCQ[to], core.OpContext(i), "receive")
			if g.Len != size {
				t.Fatalf("%d bytes; want %d", g.Len, size)
			}
			CheckPattern(t, "message", buf, size, seed)
			a.want(a.txCQ[i], core.OpContext(100+i), "send")
		}
	}
	a.none()
	b.none()
}

// scalUnexpected has all messages arrive before their receives, which match any tag. Each context gets only its own.
func scalUnexpected(t *testing.T, st Stack) {
	const n = 4
	a, b := openScals(t, st, n, scalCaps)
	sizes := []int{16, 5000, 70_000}
	for k, size := range sizes {
		for i := range n {
			a.post("tsend", func() error {
				return a.tx[0].TSend(Pattern(size, uint64(10*k+i)), 0, a.at(i), uint64(10*k+i), core.OpContext(10*k+i))
			})
		}
	}
	for i := n - 1; i >= 0; i-- {
		for k, size := range sizes {
			buf := make([]byte, size)
			a.post("trecv", func() error { return b.rx[i].TRecv(buf, 0, core.AddrUnspec, 0, ^uint64(0), 1) })
			if g := a.want(b.rxCQ[i], 1, "receive"); g.Tag != uint64(10*k+i) || g.Len != size {
				t.Fatalf("context %d: tag %d, %d bytes; want %d, %d", i, g.Tag, g.Len, 10*k+i, size)
			}
			CheckPattern(t, "message", buf, size, uint64(10*k+i))
		}
	}
	for range n * len(sizes) {
		if g := a.next(a.txCQ[0], "send"); g.Err != nil {
			t.Fatalf("send: %v", g)
		}
	}
	a.none()
	b.none()
}

// scalOrder sends to two contexts alternately, and in bursts. Messages from one context to another stay in order.
func scalOrder(t *testing.T, st Stack) {
	a, b := openScals(t, st, 2, scalCaps)
	const each, size = 100, 64
	var bufs [2][each][size]byte
	for i := range 2 {
		for k := range each {
			a.post("recv", func() error { return b.rx[i].Recv(bufs[i][k][:], 0, core.AddrUnspec, core.OpContext(k)) })
		}
	}
	for k := range each {
		for i := range 2 {
			to := (i + k/10) % 2 // bursts from alternating transmit contexts to the same receive context
			a.post("send", func() error { return a.tx[i].Inject(Pattern(size, uint64(2*k+i)), a.at(to)) })
		}
	}
	for to := range 2 {
		for k := range each {
			a.want(b.rxCQ[to], core.OpContext(k), "receive")
			i := (to + k/10) % 2
			CheckPattern(t, "message", bufs[to][k][:], size, uint64(2*k+i))
		}
	}
	a.none()
	b.none()
}

// scalRMA writes and reads through every transmit context. The data of a write go to the queue of the context in the
// address.
func scalRMA(t *testing.T, st Stack) {
	const n, size = 3, 4096
	a, b := openScals(t, st, n, scalCaps)
	mem := make([]byte, n*size)
	mr := must(t, "RegMR", func() (*core.MemoryRegion, error) {
		return b.domain.RegMR(&core.MRAttr{IOV: [][]byte{mem},
			Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 5})
	})
	defer func() { b.ok("Close MR", mr.Close()) }()
	for i := range n {
		to, at := (i+1)%n, mr.Base()+uint64(i*size)
		a.post("write", func() error {
			return a.tx[i].WriteData(Pattern(size, uint64(i)), 0, 0xd0+uint64(i), a.at(to), at, mr.Key(), 1)
		})
		if g := a.next(b.rxCQ[to], "data of the write"); g.Err != nil || g.Data != 0xd0+uint64(i) ||
			g.Flags&core.CompRemoteCQData == 0 {
			t.Fatalf("data of write %d: %v", i, g)
		}
		a.want(a.txCQ[i], 1, "write")
		back := make([]byte, size)
		a.post("read", func() error { return a.tx[i].Read(back, 0, a.at(to), at, mr.Key(), 2) })
		a.want(a.txCQ[i], 2, "read")
		CheckPattern(t, "what was read", back, size, uint64(i))
	}
	a.none()
	b.none()
}

// scalControl makes calls that must be refused.
func scalControl(t *testing.T, st Stack) {
	a, b := openScals(t, st, 2, scalCaps)
	buf := make([]byte, 8)
	refuse(t, "Send on the scalable endpoint", a.sep.Send(buf, 0, a.peer, 0), core.ErrNoSys)
	refuse(t, "Recv on the scalable endpoint", a.sep.Recv(buf, 0, a.peer, 0), core.ErrNoSys)
	refuse(t, "Recv on a transmit context", a.tx[0].Recv(buf, 0, a.peer, 0), core.ErrNoSys)
	refuse(t, "TRecv on a transmit context", a.tx[0].TRecv(buf, 0, a.peer, 0, 0, 0), core.ErrNoSys)
	refuse(t, "Send on a receive context", a.rx[0].Send(buf, 0, a.peer, 0), core.ErrNoSys)
	refuse(t, "Read on a receive context", a.rx[0].Read(buf, 0, a.peer, 0, 0, 0), core.ErrNoSys)
	refuse(t, "BindCQ of the scalable endpoint", a.sep.BindCQ(a.txCQ[0], core.BindTransmit), core.ErrInval)
	refuse(t, "BindAV of a context", a.tx[0].BindAV(a.av, 0), core.ErrInval)
	_, err := a.sep.TxContext(2, nil)
	refuse(t, "TxContext beyond the count", err, core.ErrInval)
	_, err = a.sep.RxContext(0, nil)
	refuse(t, "RxContext that is open", err, core.ErrBusy)
	refuse(t, "Close with contexts", a.sep.Close(), core.ErrBusy)
	refuse(t, "Close CQ of a context", a.rxCQ[1].Close(), core.ErrBusy)
	refuse(t, "Close AV", a.av.Close(), core.ErrBusy)
	refuse(t, "Cancel of an unknown context", a.tx[0].Cancel(99), core.ErrNoEnt)
	a.ok("Recv", a.rx[1].Recv(buf, 0, core.AddrUnspec, 9))
	refuse(t, "Cancel in another context", a.rx[0].Cancel(9), core.ErrNoEnt)
	a.ok("Cancel", a.rx[1].Cancel(9))
	if g := a.next(a.rxCQ[1], "canceled receive"); g.Err == nil || g.Err.Err != core.ErrCanceled {
		t.Fatalf("canceled receive: %v", g)
	}
	if n, err := a.tx[0].Name(); err != nil || n != a.addr {
		t.Errorf("a context's name is %v (%v); want %v", n, err, a.addr)
	}
	h := st.hints(scalCaps)
	h.EP.TxCtxCnt = a.info.Domain.MaxEPTxCtx + 1
	_, err = st.info("", h)
	refuse(t, "GetInfo for too many contexts", err, core.ErrNoData)
	b.none()
}

// scalReopen closes contexts while messages arrive for them. Other contexts continue, and a context that is opened
// again gets the messages from then on.
func scalReopen(t *testing.T, st Stack) {
	a, b := openScals(t, st, 2, scalCaps)
	buf := make([]byte, 100_000)
	a.ok("Recv", b.rx[1].Recv(buf, 0, core.AddrUnspec, 1))
	b.ok("Close context", b.rx[1].Close())
	a.post("send", func() error { return a.tx[0].Send(Pattern(len(buf), 1), 0, a.at(1), 2) })
	a.want(a.txCQ[0], 2, "send to a closed context")
	a.post("recv", func() error { return b.rx[0].Recv(buf, 0, core.AddrUnspec, 3) })
	a.post("send", func() error { return a.tx[1].Send(Pattern(8, 3), 0, a.at(0), 4) })
	a.want(b.rxCQ[0], 3, "receive in the other context")
	CheckPattern(t, "message", buf, 8, 3)
	a.want(a.txCQ[1], 4, "send")
	a.ok("Close context", a.tx[1].Close())
	var err error
	if b.rx[1], err = b.sep.RxContext(1, &core.RxAttr{Size: 16}); err != nil {
		t.Fatalf("RxContext again: %v", err)
	}
	a.ok("BindCQ", b.rx[1].BindCQ(b.rxCQ[1], core.BindRecv))
	a.ok("Enable", b.rx[1].Enable())
	if a.tx[1], err = a.sep.TxContext(1, nil); err != nil {
		t.Fatalf("TxContext again: %v", err)
	}
	a.ok("BindCQ", a.tx[1].BindCQ(a.txCQ[1], core.BindTransmit))
	a.ok("Enable", a.tx[1].Enable())
	a.post("recv", func() error { return b.rx[1].Recv(buf, 0, core.AddrUnspec, 5) })
	a.post("send", func() error { return a.tx[1].Send(Pattern(8, 6), 0, a.at(1), 6) })
	a.want(b.rxCQ[1], 5, "receive in the context that was opened again")
	CheckPattern(t, "message", buf, 8, 6)
	a.want(a.txCQ[1], 6, "send")
	a.none()
	b.none()
}

// scalNowhere sends to a context that the peer does not have. The connection ends, and the next one works.
func scalNowhere(t *testing.T, st Stack) {
	a, b := openScals(t, st, 2, scalCaps)
	a.post("send", func() error {
		return a.tx[0].SendMsg(&core.MsgArgs{IOV: [][]byte{still}, Addr: a.at(3), Ctx: 1},
			core.OpDeliveryComplete|core.OpCompletion)
	})
	if g := a.next(a.txCQ[0], "send to a missing context"); g.Err == nil {
		t.Fatalf("a message to a context that does not exist was delivered: %v", g)
	}
	buf := make([]byte, 64)
	a.post("recv", func() error { return b.rx[1].Recv(buf, 0, core.AddrUnspec, 2) })
	end := time.Now().Add(2 * Deadline)
	for try := core.OpContext(10); ; try++ { // operations that are pending when the old connection ends fail, too
		a.post("send", func() error {
			return a.tx[0].SendMsg(&core.MsgArgs{IOV: [][]byte{still}, Addr: a.at(1), Ctx: try},
				core.OpDeliveryComplete|core.OpCompletion)
		})
		if g := a.next(a.txCQ[0], "send"); g.Err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no message arrives any more")
		}
	}
	a.want(b.rxCQ[1], 2, "receive")
}

// scalUnnamed is for wire formats that cannot name a context. Context 0 works. Sends to others are refused with a
// clear error.
func scalUnnamed(t *testing.T, st Stack) {
	a, b := openScals(t, st, 2, scalCaps)
	buf := make([]byte, 64)
	a.post("recv", func() error { return b.rx[0].Recv(buf, 0, core.AddrUnspec, 1) })
	a.post("send", func() error { return a.tx[1].Send(Pattern(64, 1), 0, a.at(0), 2) })
	a.want(b.rxCQ[0], 1, "receive")
	CheckPattern(t, "message", buf, 64, 1)
	a.want(a.txCQ[1], 2, "send")
	a.post("send", func() error { return a.tx[1].Send(still, 0, a.at(1), 3) })
	if g := a.next(a.txCQ[1], "send to a context other than 0"); g.Err == nil || g.Err.Err != core.ErrOpNotSupp {
		t.Fatalf("send to a context other than 0: %v; want %v", g, core.ErrOpNotSupp)
	}
	a.none()
	b.none()
}

// scalThreads has a goroutine for each context, which uses only the context and its queue (fi_domain(3),
// FI_THREAD_COMPLETION).
func scalThreads(t *testing.T, st Stack) {
	const n, each, size = 4, 200, 48
	a, b := openScals(t, st, n, scalCaps)
	var wg sync.WaitGroup
	errs := make(chan error, 2*n)
	try := func(f func() error) error {
		end := time.Now().Add(2 * Deadline)
		for {
			err := f()
			if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
				return err
			}
			time.Sleep(20 * time.Microsecond) // the other threads make progress
		}
	}
	for i := range n {
		wg.Go(func() {
			for k := range each {
				if err := try(func() error { return a.tx[i].Send(still[:size], 0, a.at(i), core.OpContext(k)) }); err != nil {
					errs <- err
					return
				}
				if g, err := a.await(a.txCQ[i], "send"); err != nil || g.Ctx != core.OpContext(k) || g.Err != nil {
					errs <- fmt.Errorf("send %d of context %d: %v, %w", k, i, g, err)
					return
				}
			}
		})
		wg.Go(func() {
			buf := make([]byte, size)
			for k := range each {
				if err := try(func() error { return b.rx[i].Recv(buf, 0, core.AddrUnspec, core.OpContext(k)) }); err != nil {
					errs <- err
					return
				}
				if g, err := b.await(b.rxCQ[i], "receive"); err != nil ||
					g.Ctx != core.OpContext(k) || g.Err != nil || g.Len != size {
					errs <- fmt.Errorf("receive %d of context %d: %v, %w", k, i, g, err)
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	a.none()
	b.none()
}
