package main

import (
	"bytes"
	"strings"
	"testing"

	"gofabric/internal/fabricd"
)

// runBench runs ofi bench.
func runBench(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRootCommand(&app{out: &out, errOut: &out})
	root.SetArgs(append([]string{"bench"}, args...))
	err := root.Execute()
	return out.String(), err
}

func TestBenchFlags(t *testing.T) {
	t.Setenv(fabricd.EnvDir, "off")
	for _, c := range []struct {
		args []string
		want string // in the error
	}{
		{[]string{"--test", "speed"}, `no test "speed"`},
		{[]string{"--stack", "tcp/stream"}, "msg, rdm or dgram"},
		{[]string{"--stack", "nonsense"}, "no provider"},
		{[]string{"--size", "lots"}, `size "lots"`},
		{[]string{"--bulk", "64k,0"}, `size "0"`},
		{[]string{"--window", "0"}, "--window 0"},
		{[]string{"--time", "1us"}, "--time 1µs"},
		{[]string{"--plot", "bench.gif"}, ".svg or .png"},
		{[]string{"--native", "--pingpong", "/no/such/tool"}, "libfabric-bin"},
		{[]string{"--native", "--fabtests", "/no/such/dir"}, "fabtests"},
		{[]string{"--ends", "a,b"}, "four words"},
		{[]string{"--nodes", "n1"}, "give two nodes"},
		{[]string{"--nodes", "n1,n2"}, "no fabricd is running"},
		{[]string{"--nodes", "n1,n2", "--veth"}, "--veth or --nodes, not both"},
		{[]string{"--follow"}, "one stack"},
		{[]string{"--follow", "--stack", "tcp/rdm", "--test", "latency,atomic"}, "latency and atomic cannot share"},
		{[]string{"--follow", "--stack", "udp/dgram", "--test", "write"}, "no such test"},
		{[]string{"--follow", "--stack", "tcp/rdm", "--veth"}, "two processes on loopback"},
		{[]string{"extra"}, "extra"},
	} {
		if out, err := runBench(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
	if out, err := runBench("--list"); err != nil || !strings.Contains(out, "tcp/msg\n") ||
		!strings.Contains(out, "tcp/rdm\n") {
		t.Errorf("--list: %v\n%s", err, out)
	}
	if out, err := runBench("--help"); err != nil || !strings.Contains(out, "ofi bench --native --fabtests") ||
		strings.Contains(out, benchPeer) {
		t.Errorf("--help: %v\n%s", err, out)
	}
}

func TestBenchLiveLine(t *testing.T) {
	var out bytes.Buffer
	line := newLiveLine(&out)
	line.show(1, 2, "half way")
	line.clear()
	if out.Len() != 0 {
		t.Errorf("progress was shown without a terminal: %q", out.String())
	}
	line = &liveLine{w: &out}
	line.show(1, 2, "half way")
	line.clear()
	if s := out.String(); !strings.Contains(s, "50%") || !strings.HasSuffix(s, "half way\r\x1b[K") {
		t.Errorf("got %q", s)
	}
}
