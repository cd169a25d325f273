//go:build linux

package telemetry

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/test/need"
	"gofabric/test/program"
)

const packaging = "../../../packaging/"

// tool finds one of Prometheus' programs.
func tool(t *testing.T, name string) string {
	t.Helper()
	return need.Programs(t, "prometheus", name)
}

// prometheus is a running Prometheus.
type prometheus struct {
	t   *testing.T
	url string
}

// makeToken makes a token that may read, and a token file for the daemon.
func makeToken(t *testing.T) (address, file, token string) {
	t.Helper()
	var said strings.Builder
	cmd := exec.Command(binary, "token", "prometheus", "--rights", "read")
	cmd.Stderr = &said
	entry, err := cmd.Output()
	file = filepath.Join(t.TempDir(), "tokens.yaml")
	if err == nil {
		err = os.WriteFile(file, entry, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program.FreeAddress(t), file, strings.TrimSpace(said.String())
}

// startPrometheus starts a Prometheus that scrapes a daemon with the settings of packaging, with certificate and
// token, but more often. It loads the alert rules of packaging.
func startPrometheus(t *testing.T, path, daemon, token, certificate string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	scrape, err := os.ReadFile(packaging + "prometheus/scrape.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(packaging + "prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(scrape)
	for _, r := range [][2]string{{"/etc/prometheus/fabricd.token", write("prometheus.token", token)},
		{"/etc/prometheus/fabricd.crt", certificate}, {"127.0.0.1:7480", daemon}} {
		if strings.Count(text, r[0]) == 0 {
			t.Fatalf("the scrape has no %s", r[0])
		}
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	config := write("prometheus.yaml", "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\nrule_files: ["+rules+"]\n"+text)
	p := &prometheus{t: t, url: program.FreeAddress(t)}
	cmd := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"),
		"--web.listen-address="+p.url, "--enable-feature=native-histograms")
	t.Cleanup(program.Start(t, cmd).Stop)
	return p
}

// query evaluates an expression. It returns the number of series in the result, or the error.
func (p *prometheus) query(expr string) (series int, wrong string) {
	resp, err := http.Get("http://" + p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var a struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value, Histogram []any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return 0, err.Error()
	}
	for _, r := range a.Data.Result {
		if len(r.Histogram) > 0 || len(r.Value) == 2 && r.Value[1] != "NaN" {
			series++
		}
	}
	return series, a.Error
}

// dashboard returns the queries of the Grafana dashboard, as Grafana sends them for all processes.
func dashboard(t *testing.T) (queries []string) {
	t.Helper()
	data, err := os.ReadFile(packaging + "grafana/gofabric.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$process", ".*", "$__rate_interval", "1m")
	for _, p := range d.Panels {
		for _, x := range p.Targets {
			queries = append(queries, fill.Replace(x.Expr))
		}
	}
	if len(queries) < 20 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	return queries
}

// check waits until every query has a result.
func (p *prometheus) check(queries ...string) {
	p.t.Helper()
	for end := time.Now().Add(patience); len(queries) > 0; time.Sleep(100 * time.Millisecond) { // Prometheus scrapes
		wrong := ""
		var left []string
		for _, q := range queries {
			n, w := p.query(q)
			if n == 0 {
				left = append(left, q)
				wrong += q + ": " + w + "\n"
			}
		}
		if queries = left; time.Now().After(end) {
			p.t.Fatalf("these queries have no result:\n%s", wrong)
		}
	}
}

// TestRules checks with Prometheus' own tool that the alert rules are valid and fire when they should.
func TestRules(t *testing.T) {
	for _, args := range [][]string{
		{"check", "rules", packaging + "prometheus/alerts.yaml"},
		{"test", "rules", packaging + "prometheus/alerts_test.yaml"},
		{"check", "config", "--syntax-only", packaging + "prometheus/scrape.yaml"},
	} {
		if out, err := exec.Command(tool(t, "promtool"), args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
