package processes

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/export"
)

// scraped returns the names of all metrics, with the labels of each, from a scrape that has every metric.
func scraped(t *testing.T) map[string]map[string]bool {
	t.Helper()
	total := telemetry.Total{Provider: "tcp", Counters: telemetry.Counts{}, Histograms: map[string]telemetry.Histogram{}}
	var l telemetry.Latency
	l.Observe(time.Millisecond)
	total.Histograms["send"] = l.Histogram()
	for _, m := range telemetry.Metrics {
		name := m.Name
		if m.Label != "" {
			name += ".x"
		}
		total.Counters[name] = 1
	}
	p := &telemetry.Process{Name: "x", Totals: []telemetry.Total{total}, Stalls: []telemetry.Stall{{What: "send"}}, Stalled: map[string]uint64{"send": 1}}
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(p))
	var c counts
	var tab table
	tab.init()
	c.register(r, &tab)
	c.stalls.WithLabelValues("send")
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]map[string]bool{}
	for _, f := range families {
		labels := map[string]bool{"instance": true, "job": true}
		for _, pair := range f.Metric[0].Label {
			labels[pair.GetName()] = true
		}
		names[f.GetName()] = labels
	}
	// Every metric of the table must be in the scrape.
	for i := range telemetry.Metrics {
		if names[export.Name(&telemetry.Metrics[i])] == nil {
			t.Errorf("the scrape has no %s", export.Name(&telemetry.Metrics[i]))
		}
	}
	return names
}

var (
	metricName = regexp.MustCompile(`\b(?:gofabric|fabricd)_[a-z_]+`)
	byLabels   = regexp.MustCompile(`by \(([a-z, ]+)\) \((?:rate\()?([a-z_]+)`)
)

// checkQueries checks that the metrics and labels in queries exist.
func checkQueries(t *testing.T, queries []string) {
	t.Helper()
	names := scraped(t)
	emulated, err := os.ReadFile("../emulate/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries {
		for _, name := range metricName.FindAllString(q, -1) {
			link, ofLink := strings.CutPrefix(name, "gofabric_emulated_")
			if ofLink && !strings.Contains(string(emulated), `series("`+link+`"`) || !ofLink && names[name] == nil {
				t.Errorf("there is no metric %s, which is in %s", name, q)
			}
		}
		for _, m := range byLabels.FindAllStringSubmatch(q, -1) {
			for _, label := range strings.Split(m[1], ", ") {
				if names[m[2]] != nil && !names[m[2]][label] {
					t.Errorf("%s has no label %s, which is in %s", m[2], label, q)
				}
			}
		}
	}
}

// TestDashboard: the dashboard parses, and its queries use existing metrics.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../../../packaging/grafana/gofabric.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	var queries []string
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if len(p.Targets) == 0 || p.Title == "" || ids[p.ID] {
			t.Errorf("panel %d, %q, is invalid", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, x := range p.Targets {
			queries = append(queries, x.Expr)
		}
	}
	for _, v := range d.Templating.List {
		queries = append(queries, v.Definition)
	}
	if len(queries) < 10 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	checkQueries(t, queries)
}

// TestAlerts: the rules parse, and use existing metrics.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("../../../../packaging/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Annotations["summary"] == "" || r.Labels["severity"] == "" ||
				!metricName.MatchString(r.Expr) {
				t.Errorf("an invalid rule: %+v", r)
			}
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
			queries = append(queries, r.Expr)
		}
	}
	if len(queries) < 5 {
		t.Fatalf("only %d rules were found", len(queries))
	}
	checkQueries(t, queries)
	for _, doc := range []string{"../../../../packaging/prometheus/scrape.yaml"} {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, &map[string]any{}); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
