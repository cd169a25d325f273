package conform

// Several goroutines on one endpoint (fi_domain(3), FI_THREAD_SAFE); meant for the race detector.

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gofabric/core"
)

func testThreads(t *testing.T, st Stack) {
	const workers, each, size = 4, 250, 64
	p := Open(t, st, WithRxSize(512), WithSplitCQ())
	p.A.Asleep, p.B.Asleep = true, true // the goroutines below read the queues
	var stop, wg sync.WaitGroup
	var sent, recvd atomic.Int64
	errs := make(chan error, 4*workers)
	end := time.Now().Add(4 * Deadline)
	fail := func(err error) {
		select {
		case errs <- err:
		default:
		}
	}
	over := func() bool { return len(errs) > 0 || time.Now().After(end) }
	for _, s := range []*Side{p.A, p.B} {
		var bufs sync.Map
		for w := range workers {
			wg.Add(2)
			go func() { // posts receives
				defer wg.Done()
				for i := range each {
					b := make([]byte, size)
					ctx := core.Context(w*each + i)
					bufs.Store(ctx, b)
					for err := error(core.ErrAgain); err != nil && !over(); {
						if err = s.Rx().Recv(b, 0, core.AddrUnspec, ctx); err != nil && !errors.Is(err, core.ErrAgain) {
							fail(err)
						}
					}
				}
			}()
			go func() { // sends
				defer wg.Done()
				for i := range each {
					b := Pattern(size, uint64(i))
					for err := error(core.ErrAgain); err != nil && !over(); {
						if err = s.EP.Send(b, 0, s.Peer, core.Context(w*each+i)); err != nil && !errors.Is(err, core.ErrAgain) {
							fail(err)
						}
						if err != nil {
							time.Sleep(20 * time.Microsecond)
						}
					}
				}
			}()
			for _, rx := range []bool{false, true} { // read completions
				stop.Add(1)
				go func() {
					defer stop.Done()
					cq, count := s.TxCQ, &sent
					if rx {
						cq, count = s.RxCQ, &recvd
					}
					var e [4]core.CQEntry
					for count.Load() < 2*workers*each && !over() {
						n, err := cq.Read(e[:])
						if errors.Is(err, core.ErrAgain) {
							time.Sleep(20 * time.Microsecond)
							continue
						}
						if err != nil {
							fail(fmt.Errorf("read: %w", err))
							return
						}
						for _, g := range e[:n] {
							if rx && g.Len != size {
								fail(fmt.Errorf("received %d bytes", g.Len))
							}
							if _, ok := bufs.Load(g.Ctx); rx && !ok {
								fail(fmt.Errorf("completion of ctx %d, which nobody posted", g.Ctx))
							}
						}
						count.Add(int64(n))
					}
				}()
			}
		}
	}
	wg.Wait()
	stop.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	if sent.Load() != 2*workers*each || recvd.Load() != 2*workers*each {
		t.Fatalf("%d sends and %d receives completed; want %d each", sent.Load(), recvd.Load(), 2*workers*each)
	}
	p.A.Asleep, p.B.Asleep = false, false
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 64, 99999)
}
