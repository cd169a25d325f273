package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// standIn writes a program that behaves like a native tool. With an address it is the client, and prints figures.
func standIn(t *testing.T, dir, name, server, figures string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	script := fmt.Sprintf(`#!/bin/sh
echo "$@" >> %[1]s/args
for last; do :; done
if [ "$last" = 127.0.0.1 ]; then
	cat <<END
%[3]s
END
else
	%[2]s
fi
`, dir, server, figures)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// slowServer takes a while before it listens.
var slowServer = "sleep 0.1; " + peerVar + "=listen exec " + os.Args[0] + ` "$@"`

func TestNativeRun(t *testing.T) {
	dir := t.TempDir()
	standIn(t, dir, "fi_rdm_pingpong", slowServer, "- { xfer_size: 64, usec/xfer: 4.0, Mxfers/sec: 0.25 }")
	pp := standIn(t, t.TempDir(), "fi_pingpong", slowServer, "bytes usec/xfer\n64 8.0")
	n := &Native{Pingpong: pp, Fabtests: dir}
	if err := n.Find(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results, err := Run(ctx, Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: tcpStacks[1:], Time: time.Millisecond, Native: n,
		Plan: Plan{Tests: []string{"latency"}}, Rounds: 2})
	if err != nil || len(results) != 1 || len(results[0].Against) != 2 {
		t.Fatalf("%v %+v", err, results)
	}
	r := results[0]
	for i, want := range []float64{4, 8} {
		a := r.Against[i]
		if a.Error != "" || len(a.Values) != 2 || a.Values[0] != want || len(a.Ratios) != 2 ||
			a.Ratios[1] != r.Ours[1].Value/want {
			t.Errorf("%+v", a)
		}
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	if !strings.Contains(string(args), "-p tcp -S 64 -I ") || !strings.Contains(string(args), " -m -w ") {
		t.Errorf("the tool was called with %s", args)
	}
	if !strings.Contains(string(args), " -s 127.0.0.1 -B ") {
		t.Errorf("the server was called without its address: %s", args)
	}
}

func TestNativeFails(t *testing.T) {
	tst := Test{Kind: Latency, Size: 64}
	for _, c := range []struct{ server, figures, want string }{
		{"echo no such provider; exit 61", "", "no such provider"},
		{slowServer, "what?", "no figures"},
	} {
		n := &Native{Pingpong: standIn(t, t.TempDir(), "fi_pingpong", c.server, c.figures)}
		_, err := n.run(t.Context(), n.tools(tcpStacks[1], tst)[0], tcpStacks[1], tst, time.Millisecond)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v", c.server, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n := &Native{Pingpong: standIn(t, t.TempDir(), "fi_pingpong", "exec sleep 30", "")}
	start := time.Now()
	if _, err := n.run(ctx, n.tools(tcpStacks[1], tst)[0], tcpStacks[1], tst, time.Millisecond); err == nil ||
		time.Since(start) > 5*time.Second {
		t.Errorf("a server that is never ready: %v after %v", err, time.Since(start))
	}
	if err := (&Native{Pingpong: "/no/such/tool"}).Find(); err == nil {
		t.Error("Find accepted a tool that does not exist")
	}
	if err := (&Native{Fabtests: t.TempDir()}).Find(); err == nil {
		t.Error("fabtests were found in an empty directory")
	}
}
