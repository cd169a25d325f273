package processes

import (
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
)

// TestFresh: a client gets current counters. The daemon does not ask a process whose last answer is current, and
// asks it once at a time. No client waits long for a process that does not answer.
func TestFresh(t *testing.T) {
	t.Parallel()
	p := New().(*part) // without its watchdog, which asks as well
	p.log = slog.New(slog.DiscardHandler)
	p.t.init()
	p.c.register(prometheus.NewRegistry(), &p.t)
	c, far := net.Pipe()
	c.SetDeadline(time.Now().Add(patience))
	p.unidentified.add(0)
	served := make(chan struct{})
	go func() {
		defer close(served)
		p.serve(t.Context(), far, daemon.Caller{})
	}()
	q := hello(t, c)
	say := func(lost uint64) {
		t.Helper()
		said := &telemetry.Process{Version: telemetry.Version, Totals: []telemetry.Total{{Provider: "tcp", Counters: telemetry.Counts{"lost": lost}}}}
		if err := report.WriteFrame(c, report.Reply{Seq: q.Seq, Process: said}, report.MaxFrame); err != nil {
			t.Error(err)
		}
	}
	hear := func() {
		t.Helper()
		if err := report.ReadFrame(c, &q, report.MaxRequest); err != nil {
			t.Error(err)
		}
	}
	lost := func() uint64 { return p.t.list(daemon.Caller{}, 0).Processes[0].Totals[0].Counters["lost"] }
	refreshed := func(n int, age time.Duration) (wait func()) {
		var all sync.WaitGroup
		for range n {
			all.Go(func() { p.t.refresh(t.Context(), age) })
		}
		return all.Wait
	}
	wait := refreshed(3, 0) // for the first question
	say(1)
	wait()
	if lost() != 1 {
		t.Errorf("%d lost after the first answer", lost())
	}
	if asked := p.t.want(time.Hour); len(asked) != 0 {
		t.Error("the daemon asks though the last answer is current")
	}
	wait = refreshed(3, 0)
	hear()
	say(2)
	wait()
	if lost() != 2 || q.Seq != 2 {
		t.Errorf("%d lost after the answer to question %d", lost(), q.Seq)
	}
	began := time.Now()
	refreshed(3, 0)() // the process does not answer
	if took := time.Since(began); took < answerTime || took > patience {
		t.Errorf("a client without an answer waited for %v", took)
	}
	hear()
	say(3)
	p.t.refresh(t.Context(), time.Hour)
	for p.t.list(daemon.Caller{}, 0).Processes[0].Totals[0].Counters["lost"] != 3 {
		if time.Since(began) > patience {
			t.Fatal("the late answer is not used")
		}
	}
	wait = refreshed(1, 0)
	hear()
	say(4)
	wait()
	if lost() != 4 || q.Seq != 4 {
		t.Errorf("%d lost after the answer to question %d", lost(), q.Seq)
	}
	wait = refreshed(1, 0)
	hear()
	c.Close() // the process closes instead of an answer
	wait()
	<-served
	if n, _ := p.t.len(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// patience is the longest time that a test waits.
const patience = 60 * time.Second
