package bench

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/core"

	"pgregory.net/rapid"
)

var sampleResults = []Result{
	{Stack: "tcp/msg", Name: "latency", Unit: "us", Test: Test{Kind: Latency, Size: 64},
		Ours:    []Sample{{Usec: 2, Value: 2, Iters: 100, P50: 1.9, P99: 3, Lost: 2}, {Lost: 1, Usec: 3, Value: 3, Iters: 100, P50: 2.8, P99: 4}},
		Against: []Against{{Tool: "fi_msg_pingpong", Values: []float64{4, 5}, Ratios: []float64{0.5, 0.6}}, {Tool: "fi_pingpong", Error: "it broke"}}},
	{Stack: "tcp/msg", Name: "bandwidth", Unit: "MB/s", Test: Test{Kind: Rate, Size: 1 << 20, Window: 64}, Ours: []Sample{{Usec: 1, Value: 12345}}},
	{Stack: "tcp/rdm", Name: "rate", Unit: "Mmsg/s", Test: Test{Kind: Rate, Size: 64, Window: 64}, Error: "all is lost"},
}

const sampleTable = `
    stack       test  bytes  window  median    unit    p50    p99    min    max  native  ratio    min    max             tool
  tcp/msg    latency     64       -   2.500      us  2.800  4.000  2.000  3.000   4.500  0.550  0.500  0.600  fi_msg_pingpong
                                                                                 failed      -      -      -      fi_pingpong
  tcp/msg  bandwidth     1m      64   12345    MB/s      -      -  12345  12345       -      -      -      -                -
  tcp/rdm       rate     64      64  failed  Mmsg/s      -      -      -      -       -      -      -      -                -

tcp/msg latency 64, note: 3 datagrams were lost because the receiver had no room (raise FI_UDP_RECV_BUFFER)

tcp/msg latency 64, fi_pingpong: it broke

tcp/rdm rate 64, gofabric: all is lost
`

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, sampleResults); err != nil {
		t.Fatal(err)
	}
	if got := "\n" + out.String(); got != sampleTable {
		t.Errorf("got\n%s\nwant\n%s", got, sampleTable)
	}
}

func TestPlot(t *testing.T) {
	dir := t.TempDir()
	svg := filepath.Join(dir, "a.svg")
	if err := Plot(svg, sampleResults); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(svg)
	if err != nil || !bytes.Contains(text, []byte("<svg")) || !bytes.Contains(text, []byte("gofabric")) ||
		!bytes.Contains(text, []byte("latency")) {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	file := filepath.Join(dir, "a.PNG")
	if err := Plot(file, sampleResults); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() < 200 {
		t.Errorf("not a picture: %v", err)
	}
	for name, results := range map[string][]Result{"a.jpg": sampleResults, "b.svg": nil, "no/such/dir.svg": sampleResults} {
		if err := Plot(filepath.Join(dir, name), results); err == nil {
			t.Errorf("Plot accepted %s", name)
		}
	}
}

func TestParseOutput(t *testing.T) {
	for _, c := range []struct {
		name     string
		pingpong bool
		out      string
		want     float64
	}{
		{"fi_pingpong 1.17", true, "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n" +
			"64      2k      =2k      250k        0.02s     12.14       5.27       0.19\n", 5.27},
		{"fi_msg_bw without -m", true, "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n" +
			"64k     2k      125m        0.03s   4039.82      16.22       0.06\n", 16.22},
		{"fi_rdm_pingpong -m", false, "---\n/usr/bin/fi_rdm_pingpong -p tcp -S 64 -I 2000 -m 127.0.0.1 :\n" +
			"- { xfer_size: 64, iterations: 2000, total: 256000, time: 0.021810, MB/sec: 11.737735, usec/xfer: 5.452500, Mxfers/sec: 0.183402 }\n", 5.4525},
		{"nothing", true, "", 0},
		{"an error", false, "fi_getinfo(): common/shared.c:1000, ret=-61 (No data available)\n", 0},
		{"head only", true, "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n", 0},
		{"zero", true, "usec/xfer\n0.00\n", 0},
		{"infinite", true, "usec/xfer\ninf\n", 0},
		{"no number", false, "- { usec/xfer: fast }\n", 0},
	} {
		got, err := parseOutput(c.pingpong, c.out)
		if got != c.want && c.want != 0 || (err == nil) != (c.want != 0) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
}

func FuzzParseOutput(f *testing.F) {
	f.Add(true, "bytes usec/xfer\n64 5.27\n")
	f.Add(false, "- { xfer_size: 64, usec/xfer: 5.45 }\n")
	f.Fuzz(func(t *testing.T, pingpong bool, out string) {
		if v, err := parseOutput(pingpong, out); err == nil && !(v > 0 && !math.IsInf(v, 0)) {
			t.Errorf("%q gives %v", out, v)
		}
	})
}

func TestNativeTools(t *testing.T) {
	n := &Native{Pingpong: "fi_pingpong", Fabtests: "/fabtests"}
	msg, rdm := tcpStacks[0], tcpStacks[1]
	for _, c := range []struct {
		s    Stack
		t    Test
		want string
	}{
		{msg, Test{Kind: Latency}, "fi_msg_pingpong fi_pingpong"},
		{rdm, Test{Kind: Latency}, "fi_rdm_pingpong fi_pingpong"},
		{rdm, Test{Kind: Latency, Tagged: true}, "fi_rdm_tagged_pingpong fi_pingpong"},
		{msg, Test{Kind: Rate}, "fi_msg_bw"},
		{rdm, Test{Kind: Rate}, "fi_rdm_bw"},
		{rdm, Test{Kind: Rate, Tagged: true}, "fi_rdm_tagged_bw"},
		{msg, Test{Kind: Write}, "fi_rma_bw"},
		{msg, Test{Kind: Write, OneWay: true}, ""},
		{rdm, Test{Kind: Sliding}, ""},
		{rdm, Test{Kind: Atomic}, "libfabric"},
		{msg, Test{Kind: Atomic}, ""},
		{rdm, Test{Kind: AllReduce, Members: 2}, "libfabric"},
	} {
		var names []string
		for _, tl := range n.tools(c.s, c.t) {
			names = append(names, tl.name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.s, c.t, got, c.want)
		}
	}
	if (*Native)(nil).tools(rdm, Test{Kind: Latency}) != nil {
		t.Error("tools were returned though none were requested")
	}
}

func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, int64(time.Minute)).Draw(t, "v")
		b := bucketOf(uint64(v))
		if lowOf(b) > uint64(v) || lowOf(b+1) <= uint64(v) {
			t.Fatalf("%d is in bucket %d, from %d to %d", v, b, lowOf(b), lowOf(b+1))
		}
		h := &Histogram{}
		h.Add(time.Duration(v))
		if got := int64(h.Quantile(0.5)); max(got-v, v-got) > v/32+1 {
			t.Fatalf("%d is shown as %d", v, got)
		}
	})
	h := &Histogram{}
	h.Add(-time.Second)
	h.Add(math.MaxInt64)
	if h.Quantile(0) != 0 || h.Quantile(1) < 100*365*24*time.Hour || (&Histogram{}).Quantile(0.5) != 0 {
		t.Errorf("extremes: %v %v", h.Quantile(0), h.Quantile(1))
	}
	if n := testing.AllocsPerRun(100, func() { h.Add(time.Second) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTexts(t *testing.T) {
	for in, want := range map[string]int{"64": 64, "64k": 65536, "1M": 1 << 20, "0": -1, "": -1, "-1": -1, "2000m": -1, "k": -1, "1g": -1} {
		if got, err := ParseSize(in); got != want && (want >= 0 || err == nil) {
			t.Errorf("ParseSize(%q) = %d, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"tcp/msg": "tcp/msg", "tcp": "tcp/rdm", "udp;ofi_rxd/RDM": "udp;ofi_rxd/rdm", "": "", "udp/dgram": "udp/dgram", "tcp/stream": "", "/msg": ""} {
		s, err := ParseStack(in)
		if (err != nil) != (want == "") || err == nil && s.String() != want {
			t.Errorf("ParseStack(%q) = %v, %v", in, s, err)
		}
	}
	if s := SpreadOf([]float64{3, 1, 2, 4}); s != (Spread{1, 2.5, 4}) || SpreadOf(nil) != (Spread{}) {
		t.Errorf("spread %v", s)
	}
	stacks, err := Stacks(testProviders.GetInfo)
	if err != nil || len(stacks) < 2 || stacks[0].Type == core.EPTypeUnspec {
		t.Errorf("stacks %v, %v", stacks, err)
	}
}

func TestPlan(t *testing.T) {
	p := Plan{Bulk: []int{4 << 20}, Window: 1024, Tests: []string{"rate", "bandwidth"}}
	got := p.For(tcpStacks[0])
	if len(got) != 2 || got[0] != (Test{Kind: Rate, Size: 64, Window: 1024}) ||
		got[1] != (Test{Kind: Rate, Size: 4 << 20, Window: 16}) {
		t.Errorf("got %+v", got)
	}
	for _, tst := range (Plan{}).For(tcpStacks[0]) {
		if tst.Tagged {
			t.Errorf("%+v on connected endpoints", tst)
		}
	}
	if n := len((Plan{}).For(tcpStacks[1])); n != 11 {
		t.Errorf("%d tests by default", n)
	}
	if got := (Plan{}).For(Stack{"udp", core.EPTypeDgram}); len(got) != 2 || got[0].Kind != Latency ||
		got[1].Kind != Rate {
		t.Errorf("tests of datagrams %+v", got)
	}
}
