package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"gofabric"
	_ "gofabric/all"
	"gofabric/internal/fabricd"
	"gofabric/internal/telemetry"
	"gofabric/metrics"
)

func TestMain(m *testing.M) {
	os.Setenv(fabricd.EnvDir, "off")
	os.Setenv("FI_TCP_LOCAL_SOCKETS", "0") // for TestPath: connections within a host stay on TCP
	goleak.VerifyTestMain(m)
}

// pair opens two endpoints in this process and sends messages between them.
func pair(t testing.TB, stack string, messages int) (a, b *gofabric.Endpoint) {
	t.Helper()
	open := func() *gofabric.Endpoint {
		ep, err := gofabric.Open(t.Context(), gofabric.Config{Provider: stack, Node: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		return ep
	}
	a, b = open(), open()
	p, err := a.Insert(b.Name().IP.String())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	for range messages {
		if err := a.TSend(t.Context(), p, buf, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := b.TRecv(t.Context(), gofabric.AnyPeer, buf, 1, 0); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

func get(t *testing.T, accept string) (body, kind string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), w.Header().Get("Content-Type")
}

// TestHandler: the handler serves the figures of the process, closed endpoints included, as text and as native
// histograms.
func TestHandler(t *testing.T) {
	sent := uint64(600)
	for _, total := range telemetry.Collect().Totals { // of earlier tests
		if total.Provider == "udp;ofi_rxd" {
			sent += total.Counters["operations.send"]
		}
	}
	a, b := pair(t, "udp;ofi_rxd", 600)
	defer b.Close()
	a.Close()
	text, _ := get(t, "")
	for _, want := range []string{
		`op="send",pid="`, fmt.Sprintf("provider=\"udp;ofi_rxd\"} %d\n", sent),
		`gofabric_operation_seconds_bucket{op="send"`, "gofabric_endpoints{", "gofabric_posted_receives{",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if native, kind := get(t, "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"); !strings.Contains(kind, "protobuf") || len(native) == 0 {
		t.Errorf("no native histograms are offered: %s", kind)
	}
	families, err := registry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	timed := 0
	for _, f := range families {
		if h := f.Metric[0].GetHistogram(); h != nil {
			timed++
			if h.GetSchema() != telemetry.Schema || len(h.GetPositiveDelta()) == 0 || len(h.GetBucket()) == 0 ||
				h.GetSampleCount() < 2 {
				t.Errorf("the histogram: %v", h)
			}
		}
	}
	if timed != 1 {
		t.Errorf("%d histograms", timed)
	}
}

func registry(t *testing.T) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry() // checks the results of Describe
	if err := r.Register(metrics.Collector()); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNames: the table has a name for every figure of every stack. A figure without a name would be lost.
func TestNames(t *testing.T) {
	for _, stack := range []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"} {
		a, b := pair(t, stack, 3)
		p := telemetry.Collect()
		a.Close()
		b.Close()
		n := 0
		check := func(c telemetry.Counts) {
			for name := range c {
				n++
				if m, _ := telemetry.MetricOf(name); m == nil {
					t.Errorf("%s: %q is not in the table", stack, name)
				}
			}
		}
		for _, x := range p.Totals {
			check(x.Counters)
		}
		for _, e := range p.Endpoints {
			check(e.Counters)
			for _, q := range e.Peers {
				check(q.Counters)
			}
		}
		if n < 20 {
			t.Errorf("%s: only %d figures", stack, n)
		}
	}
}

// TestPath: for a peer over TCP the figures have the kernel's round-trip time.
func TestPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports the figures of TCP connections")
	}
	a, b := pair(t, "tcp", 3)
	defer a.Close()
	defer b.Close()
	p := telemetry.Collect()
	if len(p.Endpoints) != 2 || p.Endpoints[0].Counters["rtt"] == 0 || p.Endpoints[1].Counters["rtt"] == 0 {
		t.Fatalf("no round-trip time: %+v", p.Endpoints)
	}
}
