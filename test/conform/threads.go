package conform

// Several goroutines use one endpoint (fi_domain(3), FI_THREAD_SAFE), for the race detector.

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gofabric/core"
)

const (
	threadWorkers = 4   // goroutines of each kind and side
	threadEach    = 250 // operations of each goroutine
	threadSize    = 64
)

// threads is one side of the test: goroutines that post receives, send, and read both queues.
type threads struct {
	s           *Side
	end         time.Time
	sent, recvd atomic.Int64
	bufs        sync.Map // receive buffers by context
	failed      atomic.Pointer[error]
}

func (h *threads) fail(err error) { h.failed.CompareAndSwap(nil, &err) }

func (h *threads) over() bool { return h.failed.Load() != nil || time.Now().After(h.end) }

// post repeats f as long as it returns ErrAgain.
func (h *threads) post(f func() error) {
	for !h.over() {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, core.ErrAgain) {
			h.fail(err)
			return
		}
		time.Sleep(20 * time.Microsecond) // the other threads make progress
	}
}

func (h *threads) receiver(w int) {
	for i := range threadEach {
		b, ctx := make([]byte, threadSize), core.OpContext(w*threadEach+i)
		h.bufs.Store(ctx, b)
		h.post(func() error { return h.s.Rx().Recv(b, 0, core.AddrUnspec, ctx) })
	}
}

func (h *threads) sender(w int) {
	for i := range threadEach {
		b := Pattern(threadSize, uint64(i))
		h.post(func() error { return h.s.EP.Send(b, 0, h.s.Peer, core.OpContext(w*threadEach+i)) })
	}
}

// reader reads one of the queues until all operations of the side have completed.
func (h *threads) reader(cq *core.CompletionQueue, count *atomic.Int64, rx bool) {
	var e [4]core.CQEntry
	for count.Load() < threadWorkers*threadEach && !h.over() {
		n, err := cq.Read(e[:])
		if errors.Is(err, core.ErrAgain) {
			time.Sleep(20 * time.Microsecond) // the other threads make progress
			continue
		}
		if err != nil {
			h.fail(fmt.Errorf("read: %w", err))
			return
		}
		for _, g := range e[:n] {
			if !rx {
				break
			}
			if _, ok := h.bufs.LoadAndDelete(g.Ctx); !ok || g.Len != threadSize {
				h.fail(fmt.Errorf("receive of ctx %d: %d bytes, posted and not completed before: %v", g.Ctx, g.Len, ok))
			}
		}
		count.Add(int64(n))
	}
}

func testThreads(t *testing.T, st Stack) {
	p := Open(t, st, WithRxSize(512), WithSplitCQ(),
		WithHints(func(h *core.Info) { h.Domain.Threading = core.ThreadSafe }))
	p.A.Asleep, p.B.Asleep = true, true // the goroutines below read the queues
	var wg sync.WaitGroup
	var all []*threads
	for _, s := range []*Side{p.A, p.B} {
		h := &threads{s: s, end: time.Now().Add(4 * Deadline)}
		all = append(all, h)
		for w := range threadWorkers {
			wg.Go(func() { h.receiver(w) })
			wg.Go(func() { h.sender(w) })
			wg.Go(func() { h.reader(s.TxCQ, &h.sent, false) })
			wg.Go(func() { h.reader(s.RxCQ, &h.recvd, true) })
		}
	}
	wg.Wait()
	for _, h := range all {
		if err := h.failed.Load(); err != nil {
			t.Fatalf("%s: %v", h.s.Name, *err)
		}
		if n := int64(threadWorkers * threadEach); h.sent.Load() != n || h.recvd.Load() != n {
			t.Fatalf("%s: %d sends and %d receives completed; want %d each", h.s.Name, h.sent.Load(), h.recvd.Load(), n)
		}
	}
	p.A.Asleep, p.B.Asleep = false, false
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 64, 99999)
}
