package top

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
)

// looks returns two samples of a process, taken two seconds apart. The process has two endpoints. The second is the
// busier one, and has a peer that it waits for.
func looks() (before, now *Look) {
	at := time.Unix(1000, 0)
	look := func(at time.Time, sent, peer uint64, stalls ...telemetry.Stall) *Look {
		return &Look{at, api.Processes{Processes: []*telemetry.Process{{PID: 7, Name: "job", Since: time.Unix(1, 0), Stalls: stalls, Endpoints: []telemetry.Endpoint{
			{ID: "1", Provider: "tcp", Address: "10.0.0.1:1", Counters: telemetry.Counts{"operations.send": 5}},
			{ID: "2", Provider: "udp;ofi_rxd", Address: "10.0.0.1:2", Counters: telemetry.Counts{"operations.send": sent, "bytes.send": sent * 1000, "retransmitted": sent / 10, "rtt": 1500},
				Peers: []telemetry.Peer{{Address: "10.0.0.9:9", State: "connected", Counters: telemetry.Counts{"messages.out": peer, "stream_bytes.out": peer * 10}}}},
		}}}}}
	}
	return look(at, 100, 50), look(at.Add(2*time.Second), 20100, 10050, telemetry.Stall{What: "send", Local: "10.0.0.1:2", Peer: "10.0.0.9:9"})
}

func TestRows(t *testing.T) {
	before, now := looks()
	r := Rows(before, now, true)
	if len(r) != 3 || r[0].Address != "10.0.0.1:2" || r[1].Peer != "10.0.0.9:9" || r[2].Address != "10.0.0.1:1" {
		t.Fatalf("%+v", r)
	}
	if e := r[0]; e.Out != 10000 || e.BytesOut != 10e6 || e.Resent != 1000 || e.RTT != 1500e-9 || e.Stalls != 1 ||
		e.In != 0 {
		t.Errorf("the endpoint: %+v", e)
	}
	if p := r[1]; p.Out != 5000 || p.BytesOut != 50000 || p.Stalls != 1 {
		t.Errorf("the peer: %+v", p)
	}
	if r := Rows(before, now, false); len(r) != 2 {
		t.Errorf("without peers: %+v", r)
	}
	if r := Rows(&Look{}, now, true); r[0].Out != 0 {
		t.Errorf("in the first sample: %+v", r[0])
	}
	now.Processes.Processes[0].Since = time.Unix(2, 0)
	if r := Rows(before, now, true); r[0].Out != 0 {
		t.Errorf("after another process took the same number: %+v", r[0])
	}
}

func TestTable(t *testing.T) {
	before, now := looks()
	rows := Rows(before, now, true)
	var b bytes.Buffer
	Table(&b, rows, 0, 0)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 5 || !strings.Contains(lines[1], "10k") || !strings.Contains(lines[1], "1.5µs") ||
		!strings.Contains(lines[2], "STUCK") || !strings.Contains(lines[2], "  10.0.0.9:9") {
		t.Errorf("the table:\n%s", b.String())
	}
	b.Reset()
	Table(&b, rows, 40, 3)
	lines = strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 3 || lines[2] != "... 2 more" {
		t.Errorf("in three lines:\n%s", b.String())
	}
	for _, l := range lines {
		if len([]rune(l)) > 40 {
			t.Errorf("%q is too long", l)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.04: "0.0", 1.26: "1.3", 10: "10", 9999: "9999", 12345: "12k", 999400: "999k", 1.26e6: "1.3M"} {
		if got := count(v); got != want {
			t.Errorf("count(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[uint64]string{0: "0", 10239: "10239", 10 << 10: "10k", 200 << 20: "200M"} {
		if got := size(v); got != want {
			t.Errorf("size(%v) = %s, want %s", v, got, want)
		}
	}
}
