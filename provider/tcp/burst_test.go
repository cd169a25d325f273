package tcp

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/batch/batchtest"
	"gofabric/internal/progress"
	"gofabric/test/wait"
)

// TestBurstTakesTime: a stream reports to the scheduler what it has transmitted within a burst. Otherwise the time
// of the system call would count as the application's absence (rule 7 of package batch).
func TestBurstTakesTime(t *testing.T) {
	var ends [2]*rdm
	for i := range ends {
		// Only the test makes passes.
		f, d, info := fixture(t, core.EPTypeRDM, map[string]string{"FI_TCP_LOCAL_SOCKETS": "0", "FI_TCP_DISABLE_AUTO_PROGRESS": "1"})
		info.Tx.OpFlags = 0
		ends[i] = openEndpoint(t, d, info)
		t.Cleanup(func() {
			ends[i].closeAll(t)
			must(t, d.Close())
			must(t, f.Close())
		})
	}
	a, b := ends[0], ends[1]
	to, err := b.Name()
	must(t, err)
	_, err = a.v.Insert([]core.Addr{to}, nil, 0)
	must(t, err)

	const size, count = 3000, 10 // the ninth message exceeds batchLimits, and the tenth is left
	buf, in := make([]byte, size), make([]byte, size)
	var es [count]core.CQEntry
	received := func(n int) {
		t.Helper()
		wait.Until(t, "the messages arrive", func() bool {
			a.q.Read(es[:])
			k, err := b.q.Read(es[:])
			if err != nil && err != core.ErrAgain {
				t.Fatal(err)
			}
			n -= k
			return n == 0
		})
	}
	must(t, b.Recv(in, 0, core.AddrUnspec, 0))
	wait.Until(t, "the first message is posted", func() bool { // it connects
		err := a.Send(buf, 0, 0, 0)
		if err == core.ErrAgain {
			a.q.Read(es[:])
			b.q.Read(es[:])
			return false
		}
		must(t, err)
		return true
	})
	received(1)

	prog := a.drv.d.prog
	var s *tcpStream
	sends := 0
	prog.Lock()
	clock := batchtest.Take(prog.Batch())
	prog.Each(func(src progress.Source) {
		if x, ok := src.(*tcpStream); ok {
			s = x
		}
	})
	s.onMoved = func() {
		sends++
		clock.Advance(4 * batch.Delay)
	}
	prog.Unlock()
	for round := range 5 {
		for range count {
			must(t, b.Recv(in, 0, core.AddrUnspec, 0))
		}
		prog.Lock()
		sends = 0
		prog.Unlock()
		for range count {
			must(t, a.Send(buf, 0, 0, 0))
		}
		prog.Lock()
		within, waits := sends, s.batch.Waiting()
		prog.Unlock()
		a.q.Read(nil) // a pass
		prog.Lock()
		away := prog.Batch().Away()
		prog.Unlock()
		if round > 0 && (within == 0 || !waits) || away { // the first message of the first burst leaves alone
			t.Fatalf("burst %d: %d sends before a pass, the last message waits: %v, batch takes the application for away: %v; want some, true, false", round, within, waits, away)
		}
		received(count)
	}
}
