package processes

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/export"
	"gofabric/internal/telemetry/report"
	"gofabric/test/wait"
)

func newCollector(p *telemetry.Process) prometheus.Collector {
	return export.New(func() []*telemetry.Process { return []*telemetry.Process{p} })
}

// inProcess runs the part without a daemon around it.
func inProcess(t *testing.T) (*part, string) {
	dir := t.TempDir()
	p := New().(*part)
	s := &daemon.Site{Log: slog.New(slog.DiscardHandler), Dir: dir, Mux: daemon.NewMux(), Metrics: prometheus.NewRegistry()}
	if err := p.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, filepath.Join(dir, fabricd.Stats)
}

func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(90 * time.Second))
	return c
}

// hello registers.
func hello(t *testing.T, c net.Conn) report.Request {
	t.Helper()
	if err := report.WriteFrame(c, report.Reply{Process: &telemetry.Process{Version: telemetry.Version, Name: "x"}}, report.MaxRequest); err != nil {
		t.Fatal(err)
	}
	var q report.Request
	if err := report.ReadFrame(c, &q, report.MaxRequest); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestCutOff: a connection with a malformed message is closed at once.
func TestCutOff(t *testing.T) {
	t.Parallel()
	p, path := inProcess(t)
	frame := func(n uint32, body string) string { return string(binary.BigEndian.AppendUint32(nil, n)) + body }
	for name, say := range map[string]string{
		"a hello of 2 GiB": frame(1<<31, "{"),
		"no JSON":          frame(4, "abcd"),
		"another version":  frame(29, `{"process":{"version":999999}}`),
		"no process":       frame(2, "{}"),
	} {
		c := dial(t, path)
		io.WriteString(c, say)
		if _, err := c.Read(make([]byte, 1)); err != io.EOF && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, say := range map[string]string{
		"an answer too long":            frame(report.MaxFrame+1, "{"),
		"an answer to a later question": frame(36, `{"seq":99999,"process":{"version":1}}`)[:40],
		"an answer without a process":   frame(9, `{"seq":1}`),
	} {
		c := dial(t, path)
		hello(t, c)
		io.WriteString(c, say)
		if _, err := c.Read(make([]byte, 1)); err != io.EOF && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
	wait.Until(t, "all processes are gone", func() bool { n, _ := p.t.len(); return n == 0 })
}

// TestSilent: a process that does not answer is shown as silent until it answers again. A second registration of a
// process replaces the first.
func TestSilent(t *testing.T) {
	t.Parallel()
	p, path := inProcess(t)
	first := dial(t, path)
	hello(t, first)
	c := dial(t, path)
	q := hello(t, c)
	if _, err := first.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the first registration: %v", err)
	}
	isSilent := func() bool {
		list := p.t.stuck(daemon.Caller{}, 0).Stuck
		return len(list) == 1 && list[0].What == "process" && list[0].PID == os.Getpid()
	}
	wait.Until(t, "the process is shown as silent", isSilent)
	if err := report.WriteFrame(c, report.Reply{Seq: q.Seq, Process: &telemetry.Process{Version: telemetry.Version}}, report.MaxFrame); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process is not shown any more", func() bool { return !isSilent() })
}

// TestWhoSees: other users see totals only.
func TestWhoSees(t *testing.T) {
	t.Parallel()
	p, path := inProcess(t)
	c := dial(t, path)
	q := hello(t, c)
	said := &telemetry.Process{Version: telemetry.Version, Totals: []telemetry.Total{{Provider: "tcp", Counters: telemetry.Counts{"lost": 3}}},
		Endpoints: []telemetry.Endpoint{{ID: "1"}}, Stalls: []telemetry.Stall{{What: "send", Since: time.Now()}}, UID: 77, PID: 1, Name: "forged", Command: "forged"}
	report.WriteFrame(c, report.Reply{Seq: q.Seq, Process: said}, report.MaxFrame)
	wait.Until(t, "the daemon uses the answer", func() bool { return len(p.t.stuck(daemon.Caller{}, 0).Stuck) > 0 })
	me := os.Getuid()
	for _, see := range []struct {
		c   daemon.Caller
		all bool
	}{{daemon.Caller{UID: 0}, true}, {daemon.Caller{UID: me}, true}, {daemon.Caller{UID: me + 1}, false}, {daemon.Caller{UID: -1, Remote: true}, false}} {
		l := p.t.list(see.c, me).Processes
		if len(l) != 1 || l[0].UID != me || l[0].PID != os.Getpid() || l[0].Name != "x" ||
			l[0].Totals[0].Counters["lost"] != 3 || (len(l[0].Endpoints) == 1) != see.all {
			t.Errorf("%+v sees %+v", see.c, l[0])
		}
		if n := len(p.t.stuck(see.c, me).Stuck); (n == 1) != see.all {
			t.Errorf("%+v sees %d stalls", see.c, n)
		}
	}
}

// TestUnidentified: the number of connections without a registration is limited for each user, so one user's do not
// keep out other users.
func TestUnidentified(t *testing.T) {
	var s unidentified
	for i := range maxUnidentified {
		if !s.add(1) {
			t.Fatalf("the %dth unidentified connection is refused", i)
		}
	}
	if s.add(1) || !s.add(2) {
		t.Error("a connection too many is accepted, or one of another user is refused")
	}
	s.remove(1)
	if !s.add(1) || s.add(1) {
		t.Error("a freed place is not used once")
	}
}
