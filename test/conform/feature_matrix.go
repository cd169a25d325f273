package conform

// Progress and threading models: each combination that libfabric defines (fi_domain(3)), with as many threads as it
// allows.

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gofabric/core"
)

func testMatrix(t *testing.T, st Stack) {
	for _, data := range []core.Progress{core.ProgressManual, core.ProgressAuto} {
		for _, th := range []core.Threading{core.ThreadSafe, core.ThreadFID, core.ThreadEndpoint,
			core.ThreadCompletion, core.ThreadDomain} {
			t.Run(fmt.Sprintf("progress%d-threading%d", data, th), func(t *testing.T) {
				control := data
				if th == core.ThreadDomain && data == core.ProgressManual {
					control = core.ProgressControlUnified
				}
				matrixCell(t, st, data, control, th)
			})
		}
	}
}

// matrixCell exchanges messages, tagged ones and remote writes between two sides, each with the threads that th allows.
func matrixCell(t *testing.T, st Stack, data, control core.Progress, th core.Threading) {
	ask := WithHints(func(h *core.Info) {
		h.Domain.Threading, h.Domain.DataProgress, h.Domain.ControlProgress = th, data, control
	})
	k := makeConfig([]Option{ask})
	h := st.hints(core.CapMsg)
	k.hints(h)
	if !offers(t, st, data, control, th) {
		_, err := st.info("", h)
		refuse(t, "what is not offered", err, core.ErrNoData)
		return
	}
	p := Open(t, st, ask, WithSplitCQ(), WithRxSize(512))
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 1000, 1)
	p.A.Asleep, p.B.Asleep = true, true
	var wg sync.WaitGroup
	var busy atomic.Int32 // threads that have not finished
	fail := make(chan error, 16)
	for _, s := range []*Side{p.A, p.B} {
		d := &driver{s: s, end: time.Now().Add(2 * Deadline), busy: &busy}
		for _, steps := range d.threads(th) {
			busy.Add(1)
			wg.Go(func() { fail <- d.run(steps...) })
		}
	}
	wg.Wait()
	close(fail)
	for err := range fail {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.A.Asleep, p.B.Asleep = false, false
	exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 1000, 2)
}

// offers reports whether the stack must offer a combination. A caller may take on more duties than the stack's default
// requires, but not fewer (fi_domain(3)). No stack offers FI_THREAD_FID and FI_THREAD_ENDPOINT, which version 2.0 of
// the API retired.
func offers(t *testing.T, st Stack, data, control core.Progress, th core.Threading) bool {
	own := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", st.hints(core.CapMsg)) }).Domain
	threads := []core.Threading{core.ThreadSafe, core.ThreadCompletion, core.ThreadDomain}
	progress := []core.Progress{core.ProgressAuto, core.ProgressManual, core.ProgressControlUnified}
	return slices.Index(threads, th) >= slices.Index(threads, own.Threading) &&
		slices.Index(progress, data) >= slices.Index(progress, own.DataProgress) &&
		slices.Index(progress, control) >= slices.Index(progress, own.ControlProgress)
}

// driver posts matrixOps receives and sends on its side, and reads their completions.
type driver struct {
	s    *Side
	end  time.Time
	busy *atomic.Int32
	posted,
	sent, received int
	buf [matrixOps][8]byte
}

const matrixOps = 200

type step func() (done bool, err error)

// threads divides the work among the threads that th allows.
func (d *driver) threads(th core.Threading) [][]step {
	switch th {
	// One thread for all that share a domain. No other endpoint shares the queues.
	case core.ThreadDomain, core.ThreadCompletion:
		return [][]step{{d.post, d.readTx, d.readRx}}
	case core.ThreadEndpoint: // one for the endpoint; a queue has its own
		return [][]step{{d.post, d.readTx}, {d.readRx}}
	}
	return [][]step{{d.post}, {d.readTx}, {d.readRx}}
}

// run repeats steps until each reports that it has finished, and then until all other threads have: with
// ProgressManual the other side may still need this side's progress.
func (d *driver) run(steps ...step) error {
	ready := false
	for {
		all := true
		for _, step := range steps {
			done, err := step()
			if err != nil {
				return fmt.Errorf("%s: %w", d.s.Name, err)
			}
			all = all && done
		}
		if all && !ready {
			ready = true
			d.busy.Add(-1)
		}
		if ready && d.busy.Load() == 0 {
			return nil
		}
		if time.Now().After(d.end) {
			return fmt.Errorf("%s: posted %d, sent %d, received %d of %d within the time limit", d.s.Name,
				d.posted, d.sent, d.received, matrixOps)
		}
		time.Sleep(10 * time.Microsecond) // the other end has a goroutine of its own
	}
}

// post posts the next receive and then the next send.
func (d *driver) post() (bool, error) {
	for d.posted < 2*matrixOps {
		i := d.posted / 2
		var err error
		if d.posted%2 == 0 {
			err = d.s.Rx().Recv(d.buf[i][:], 0, core.AddrUnspec, core.OpContext(i))
		} else {
			err = d.s.EP.Send(still[:8], 0, d.s.Peer, core.OpContext(i))
		}
		if errors.Is(err, core.ErrAgain) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		d.posted++
	}
	return true, nil
}

func (d *driver) readTx() (bool, error) { return d.read(d.s.TxCQ, &d.sent) }
func (d *driver) readRx() (bool, error) { return d.read(d.s.RxCQ, &d.received) }

func (d *driver) read(cq *core.CompletionQueue, count *int) (bool, error) {
	var e [8]core.CQEntry
	for {
		n, err := cq.Read(e[:])
		if errors.Is(err, core.ErrAgain) {
			return *count == matrixOps, nil
		}
		if err != nil {
			return false, err
		}
		*count += n
	}
}
