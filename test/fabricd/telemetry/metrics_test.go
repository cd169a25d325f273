//go:build linux

package telemetry

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/export"
	"gofabric/test/wait"
)

// topology is two nodes with a link that loses frames.
const topology = "name: lossy\nnodes: [n1, n2]\nlinks: [{between: [n1, n2], loss: 5%, dup: 2%, delay: 100us}]\n"

// pair is two processes that exchange messages.
type pair struct {
	k              stack
	source, target *worker
}

// talk starts a pair for each of some stacks.
func (s *site) talk(stacks []stack) (pairs []pair) {
	s.t.Helper()
	for _, k := range stacks {
		p := pair{k, s.work("n1", "source", k, "10.77.0.1"), s.work("n2", "target", k, "10.77.0.2")}
		from, to := p.source.hear(""), p.target.hear("")
		p.target.Tell(from)
		p.source.Tell(to)
		pairs = append(pairs, p)
	}
	for _, p := range pairs {
		p.source.Tell(p.target.hear(""))
	}
	return pairs
}

// figures are the values of a scrape by series. A series is the name of a process, the metric and its label: `tcp
// gofabric_errors_total op="send"`. Values of several processes and providers are added up.
type figures map[string]float64

func read(text string) figures {
	f := figures{}
	for _, line := range strings.Split(text, "\n") {
		name, rest, ok := strings.Cut(line, "{")
		labels, value, more := strings.Cut(rest, "} ")
		if !ok || !more || strings.HasSuffix(name, "_bucket") {
			continue
		}
		process, own := "", []string{name}
		for _, l := range strings.Split(labels, ",") {
			switch k, v, _ := strings.Cut(l, "="); k {
			case "process":
				process, _ = strconv.Unquote(v)
			case "pid", "provider", "link":
			default:
				own = append(own, l)
			}
		}
		v, err := strconv.ParseFloat(value, 64)
		if err == nil {
			f[process+" "+strings.Join(own, " ")] += v
		}
	}
	return f
}

// The metrics that must grow above zero, by the stacks that have them.
var (
	ofAll = []string{
		`gofabric_operations_total op="send"`, `gofabric_operations_total op="receive"`,
		`gofabric_bytes_total op="send"`, `gofabric_bytes_total op="receive"`,
		`gofabric_errors_total op="receive"`, `gofabric_again_total call="receive"`,
		`gofabric_posted_receives`, `gofabric_completions`, `gofabric_stalls what="queue"`,
		`gofabric_stalls_total what="queue"`, `gofabric_endpoints`, `gofabric_process_start_time_seconds`,
	}
	ofReliable = []string{
		`gofabric_operations_total op="read"`, `gofabric_operations_total op="write"`,
		`gofabric_operations_total op="remote_read"`, `gofabric_operations_total op="remote_write"`,
		`gofabric_operations_total op="atomic"`, `gofabric_operations_total op="fetch_atomic"`,
		`gofabric_operations_total op="compare_atomic"`,
		`gofabric_bytes_total op="read"`, `gofabric_bytes_total op="write"`,
		`gofabric_operation_seconds_count op="send"`, `gofabric_operation_seconds_sum op="send"`,
		`gofabric_operation_seconds_count op="read"`,
		`gofabric_again_total call="transmit"`, `gofabric_pending_operations`, `gofabric_queued_bytes`,
		`gofabric_unexpected_messages`, `gofabric_unexpected_bytes`,
		`gofabric_registered_regions`, `gofabric_registered_bytes`, `gofabric_connections state="connected"`,
		`gofabric_rtt_seconds`, `gofabric_window_bytes`, `gofabric_in_flight_bytes`,
		`gofabric_retransmitted_total`, `gofabric_spurious_total`, `gofabric_stalls what="send"`,
		`gofabric_stalls_total what="send"`,
	}
	ofConnections = []string{`gofabric_segments_total direction="sent"`, `gofabric_segments_total direction="received"`}
	ofDatagrams   = []string{
		`gofabric_datagrams_total direction="sent"`, `gofabric_datagrams_total direction="received"`,
		`gofabric_datagram_bytes_total direction="sent"`, `gofabric_datagram_bytes_total direction="received"`,
	}
	ofRXD = []string{`gofabric_lost_total`, `gofabric_timeouts_total`, `gofabric_window_cuts_total`,
		`gofabric_drops_total reason="duplicate"`}
	ofUDP = []string{`gofabric_drops_total reason="unposted"`}
	// elsewhere are metrics that other tests cover: xdp over a veth pair, peers that restart, and hops that drop long
	// packets.
	elsewhere = []string{"gofabric_bypassed_total", "gofabric_restarts_total", "gofabric_black_holes_total"}
	// ofPeers are reported for single peers only.
	ofPeers = []string{"gofabric_messages_total", "gofabric_stream_bytes_total", "gofabric_min_rtt_seconds"}
)

func wanted(k stack) []string {
	list := slices.Clone(ofAll)
	if k.reliable() {
		list = append(list, ofReliable...)
	}
	switch k.provider {
	case "udp":
		list = append(append(list, ofDatagrams...), ofUDP...)
	case "udp;ofi_rxd":
		list = append(append(list, ofDatagrams...), ofRXD...)
	default:
		list = append(list, ofConnections...)
	}
	return list
}

// watch records the highest value of each series.
type watch struct {
	s    *site
	high figures
}

func (w *watch) look() figures {
	f := read(w.s.scrape())
	for k, v := range f {
		w.high[k] = max(w.high[k], v)
	}
	return f
}

// missing returns the series that have never been above zero.
func (w *watch) missing(only func(series string) bool) (list []string) {
	for _, k := range stacks {
		for _, m := range wanted(k) {
			if series := k.name + " " + m; w.high[series] <= 0 && only(series) {
				list = append(list, series)
			}
		}
	}
	return list
}

// until waits until no series of a phase is missing.
func (w *watch) until(phase string, only func(series string) bool) {
	w.s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) { // each look costs the daemon time
		w.look()
		list := w.missing(only)
		if len(list) == 0 {
			return
		}
		if time.Now().After(end) {
			w.s.t.Fatalf("%s: always zero, or absent:\n%s", phase, strings.Join(list, "\n"))
		}
	}
}

func has(words ...string) func(string) bool {
	return func(series string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(series, w) })
	}
}

// TestMetrics checks that every metric is above zero on every stack that has it, that counters do not fall when
// endpoints close, and that a Prometheus that scrapes the daemon can answer every query of the dashboard.
func TestMetrics(t *testing.T) {
	t.Parallel()
	prometheus := tool(t, "prometheus")
	address, tokens, token := makeToken(t)
	s := emulate(t, topology, "--listen", address, "--tokens", tokens)
	p := startPrometheus(t, prometheus, address, token, filepath.Join(s.dir, "state/tls.crt"))
	w, queries := &watch{s, figures{}}, dashboard(t)
	pairs := s.talk(stacks)
	w.until("traffic over a link that loses 5 %",
		has("retransmitted", "spurious", "lost_total", "timeouts", "window_cuts", "segments", "datagrams",
			"duplicate", `op="read"`, `op="remote_read"`, "rtt"))
	// Metrics of single operations do not grow later.
	p.check(slices.DeleteFunc(slices.Clone(queries),
		func(q string) bool { return !strings.Contains(q, "gofabric_operation_seconds") })...)
	for _, p := range pairs {
		p.source.Tell("stop")
		p.source.hear("sent")
		p.target.Tell("pause")
		p.target.hear("paused")
		p.source.Tell("go on")
		p.source.hear("unexpected")
	}
	w.until("messages without receives", has("unexpected", "unposted", "atomic", "completions"))
	s.ask("PUT", "/v1/emulation/partition", map[string]any{"groups": [][]string{{"n1"}, {"n2"}}}, nil)
	for _, p := range pairs {
		p.source.Tell("flood")
		p.target.Tell("receive")
	}
	w.until("a partition, and all queues full", has(""))
	p.check(append(queries, `ALERTS{alertname="FabricStuck"}`, `up == 1`)...)
	last := w.look()
	for _, p := range pairs {
		p.source.hear("flooded")
		p.target.hear("full")
		p.source.Tell("close")
		p.source.hear("closed")
	}
	w.closed(last)
	checkAll(t)
}

// TestSilence checks a partitioned network. Data that the transport has accepted is reported as stuck, though no
// operation waits for it, and so are connections. When the partition is healed, nothing is stuck any more.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := emulate(t, "nodes: [n1, n2]\nlinks: [{between: [n1, n2]}]\n")
	pairs := s.talk(slices.DeleteFunc(slices.Clone(stacks), func(k stack) bool { return !k.reliable() }))
	for _, p := range pairs {
		p.source.Tell("stop")
		p.source.hear("sent")
	}
	s.ask("PUT", "/v1/emulation/partition", map[string]any{"groups": [][]string{{"n1"}, {"n2"}}}, nil)
	for _, p := range pairs {
		p.source.Tell("go on")
	}
	for _, p := range pairs {
		why := "send to " + p.k.name + " by eth0: no acknowledgement of the sent data arrives"
		if p.k.provider == "udp;ofi_rxd" {
			why = "send to " + p.k.name + " by eth0: "
		}
		wait.Until(t, p.source.name+" is stuck", func() bool {
			return slices.ContainsFunc(s.stuck(p.k.name), func(w string) bool { return strings.HasPrefix(w, why) })
		})
	}
	for _, p := range pairs { // the source has begun to connect again
		wait.Until(t, p.source.name+" does not connect", func() bool {
			return slices.ContainsFunc(s.stuck(p.k.name), func(w string) bool {
				return strings.HasPrefix(w,
					"connect to "+p.k.name+" by eth0: the connection is opening: nothing answers at the address")
			})
		})
	}
	s.ask("DELETE", "/v1/emulation/partition", nil, nil)
	for _, p := range pairs {
		p.source.hear("unexpected")
		wait.Until(t, p.source.name+" continues", func() bool {
			return !slices.ContainsFunc(s.stuck(p.k.name),
				func(w string) bool { return strings.Contains(w, "acknowledgement") })
		})
	}
}

// closed waits until the daemon shows that the endpoints of the sources are closed. By then no counter may have
// fallen.
func (w *watch) closed(last figures) {
	w.s.t.Helper()
	open := func(f figures) (n float64) {
		for _, k := range stacks {
			n += f[k.name+" gofabric_endpoints"]
		}
		return n
	}
	before := open(last)
	wait.Until(w.s.t, "the endpoints are closed",
		func() bool { return open(read(w.s.scrape())) <= before-float64(len(stacks)) })
	now := read(w.s.scrape())
	for series, v := range last {
		if strings.Contains(series, "_total") && strings.Contains(series, " gofabric_") && now[series] < v {
			w.s.t.Errorf("%s fell from %v to %v", series, v, now[series])
		}
	}
}

// checkAll checks that these lists contain every metric of the table.
func checkAll(t *testing.T) {
	t.Helper()
	known := map[string]bool{}
	for _, list := range [][]string{ofAll, ofReliable, ofConnections, ofDatagrams, ofRXD, ofUDP, elsewhere, ofPeers} {
		for _, m := range list {
			name, _, _ := strings.Cut(m, " ")
			known[name] = true
		}
	}
	for i := range telemetry.Metrics {
		if name := export.Name(&telemetry.Metrics[i]); !known[name] {
			t.Errorf("no test covers %s; covered are %s", name, fmt.Sprint(slices.Sorted(maps.Keys(known))))
		}
	}
}
