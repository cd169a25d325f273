package endpoint_test

// This file tests the telemetry of an endpoint.

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
	"gofabric/test/wait"
)

// ObservePeers implements endpoint.Observed: the endpoint shows its one connection as often as the test says.
func (e *loopEP) ObservePeers(yield func(endpoint.PeerView) bool) {
	for i := range e.shown {
		if !yield(endpoint.PeerView{Conn: e.conn,
			Addr: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.3"), uint16(i+1)), Path: path{}}) {
			return
		}
	}
}

// ObserveCounts implements endpoint.Observed.
func (e *loopEP) ObserveCounts(c telemetry.Counts) { c["own"] += uint64(e.shown) }

// path reports bytes that are stuck in the system.
type path struct{}

func (path) ObservePath(c telemetry.Counts)        { c["rtt"] += 5 }
func (path) Stuck() (string, uint64, uint64, bool) { return "the cable is out", 3, 1, true }

// seen returns the process' telemetry of the loop provider's endpoints. On a busy machine a domain may be missing
// in the first observation.
func seen(t testing.TB) (list []telemetry.Endpoint) {
	t.Helper()
	wait.Until(t, "the domain is observed", func() bool {
		list = slices.DeleteFunc(telemetry.Collect().Endpoints,
			func(e telemetry.Endpoint) bool { return e.Provider != "loop" })
		return len(list) > 0
	})
	return list
}

func TestObserve(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	w.a.drv.shown = 2
	in := make([]byte, 64)
	must(t, w.b.Recv(in, 0, core.AddrUnspec, 1))
	must(t, w.b.Recv(in, 0, core.AddrUnspec, 2))
	must(t, w.a.Send(message, 0, 0, 1))
	must(t, w.a.TSend(message, 0, 0, 7, 1)) // unexpected

	list := seen(t)
	if len(list) != 2 {
		t.Fatalf("%d endpoints, want 2", len(list))
	}
	a, b := list[0], list[1]
	for name, c := range map[string]struct {
		at   telemetry.Counts
		want uint64
	}{
		"own":                   {a.Counters, 2},
		"operations.send":       {a.Counters, 2},
		"bytes.send":            {a.Counters, 2 * uint64(len(message))},
		"completions":           {a.Counters, 2},
		"connections.connected": {a.Counters, 2},
		"registered_regions":    {a.Counters, 0},
		"posted_receives":       {b.Counters, 1},
		"unexpected_messages":   {b.Counters, 1},
		"operations.receive":    {b.Counters, 1},
	} {
		if c.at[name] != c.want {
			t.Errorf("%s is %d, want %d in %v", name, c.at[name], c.want, c.at)
		}
	}
	if held := b.Counters["unexpected_bytes"]; held < uint64(len(message)) {
		t.Errorf("unexpected messages hold %d bytes", held)
	}
	if a.Type != core.EPTypeRDM.String() || a.Address != "" || len(a.Peers) != 2 || len(b.Peers) != 0 {
		t.Errorf("%+v, %d and %d peers", a, len(a.Peers), len(b.Peers))
	}
	for _, p := range a.Peers {
		if p.State != engine.Connected.String() || p.Counters["messages.out"] != 2 || p.Counters["rtt"] != 5 {
			t.Errorf("peer %+v", p)
		}
	}
}

// TestObserveMany: of many connections, those with the most traffic are reported one by one and the others as a
// sum.
func TestObserveMany(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	const n = 5000
	w.a.drv.shown = n
	must(t, w.a.Send(message, 0, 0, 1))
	a := seen(t)[0]
	last := a.Peers[len(a.Peers)-1]
	if len(a.Peers) >= n || last.Address != telemetry.Others {
		t.Fatalf("%d peers, the last is %+v", len(a.Peers), last)
	}
	if got, want := last.Counters["messages.out"], uint64(n-len(a.Peers)+1); got != want ||
		a.Counters["connections.connected"] != n {
		t.Errorf("%d connections, of which the others sent %d messages; want %d, %d",
			a.Counters["connections.connected"], got, n, want)
	}
}

// TestObserveStalls: completions that no call reads and bytes that are stuck in the system are stalls after a time.
func TestObserveStalls(t *testing.T) { synctest.Test(t, testObserveStalls) }

func testObserveStalls(t *testing.T) {
	t.Setenv(telemetry.EnvWatchdog, "50")
	w := newWorld(t, allCaps, 0)
	w.a.drv.shown = 1
	mine := func() (what []string) {
		for _, s := range telemetry.Collect().Stalls {
			if s.Provider == "loop" {
				what = append(what, s.What+": "+s.State)
			}
		}
		slices.Sort(what)
		return what
	}
	must(t, w.a.Send(message, 0, 0, 1))
	if got := mine(); len(got) > 0 {
		t.Errorf("at first sight: %v", got)
	}
	time.Sleep(60 * time.Millisecond)
	want := []string{"queue: 1 completions that the application has not read", "send: the cable is out"}
	if got := mine(); !slices.Equal(got, want) {
		t.Errorf("stalls are %q, want %q", got, want)
	}
	next(t, w.qa)
	if got := mine(); !slices.Equal(got, want[1:]) {
		t.Errorf("with the completion read: %q, want %q", got, want[1:])
	}
}
