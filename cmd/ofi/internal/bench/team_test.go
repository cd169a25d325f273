package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/need"
)

// TestTeam measures atomics and collective operations with processes of their own.
func TestTeam(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	plan := Plan{Tests: []string{"latency", "atomic", "allreduce"}, Members: []int{2, 3}, Sums: []int{8, 40000}}
	results, err := Run(ctx, Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: []Stack{tcpStacks[1], {"udp;ofi_rxd", core.EPTypeRDM}},
		Time: time.Millisecond, Plan: plan})
	if err != nil || len(results) != 12 {
		t.Fatalf("%v, %d results", err, len(results))
	}
	for _, r := range results {
		if r.Error != "" || len(r.Ours) != 1 || r.Ours[0].Usec <= 0 || r.Unit != "us" {
			t.Errorf("%s %s: %+v", r.Stack, r.Name, r)
		}
	}
}

// TestNativeTeam runs the same tests with native libfabric, if its headers are installed.
func TestNativeTeam(t *testing.T) {
	if err := exec.Command("gcc", "-E", "-include", "rdma/fabric.h", "-x", "c", os.DevNull).Run(); err != nil {
		need.Missing(t, "gcc or rdma/fabric.h is missing: apt install gcc libfabric-dev (%v)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := &Native{Prefix: os.Getenv("GOFABRIC_NATIVE_PREFIX")}
	defer n.Close()
	rxm := Stack{"tcp;ofi_rxm", core.EPTypeRDM}
	for _, test := range []Test{{Kind: Atomic, Size: 8}, {Kind: AllReduce, Size: 64, Members: 2}} {
		usec, err := n.run(ctx, n.tools(rxm, test)[0], rxm, test, time.Millisecond)
		if err != nil || usec <= 0 {
			t.Errorf("%s: %v, %v", test.Name(), usec, err)
		}
	}
	if _, err := n.run(ctx, n.tools(rxm, Test{Kind: Atomic})[0], Stack{"no such provider", core.EPTypeRDM}, Test{Kind: Atomic, Size: 8}, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "fi_getinfo") {
		t.Errorf("no provider: %v", err)
	}
	dir := n.dir
	n.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); dir == "" || len(left) > 0 {
		t.Errorf("%q remain in %q", left, dir)
	}
}

func TestNativeTeamFails(t *testing.T) {
	n := &Native{member: standIn(t, t.TempDir(), "member", "echo name x; read x; sleep 0.01", "")}
	rxm, test := Stack{"tcp;ofi_rxm", core.EPTypeRDM}, Test{Kind: Atomic, Size: 8}
	if _, err := n.run(t.Context(), n.tools(rxm, test)[0], rxm, test, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "usec/xfer") {
		t.Errorf("no figures: %v", err)
	}
}

func TestPlanTeam(t *testing.T) {
	got := Plan{Tests: []string{"atomic", "allreduce"}, Members: []int{4}, Sums: []int{8, 16}}.For(tcpStacks[1])
	if want := []Test{{Kind: Atomic, Size: 8}, {Kind: AllReduce, Size: 8, Members: 4}, {Kind: AllReduce, Size: 16, Members: 4}}; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := (Plan{Tests: []string{"allreduce"}}).For(tcpStacks[0]); got != nil {
		t.Errorf("of connected endpoints: %+v", got)
	}
	if a := (Test{Kind: AllReduce, Members: 4}); a.Name() != "allreduce 4" || a.Unit() != "us" || !a.LowerIsBetter() {
		t.Errorf("%s, %s", a.Name(), a.Unit())
	}
}
