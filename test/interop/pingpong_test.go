package interop

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gofabric"
	"gofabric/core"
	"gofabric/test/need"
)

var defaultSizes = []string{"64", "256", "1k", "4k", "64k", "1m"}

// check runs ofi pingpong against peer in both roles, with the data check.
func check(t *testing.T, peer tool, sizes []string, iterations int, args ...string) {
	t.Helper()
	args = append([]string{"-c", "-I", fmt.Sprint(iterations)}, args...)
	for _, tc := range []struct {
		name           string
		server, client tool
	}{
		{"ofi is the server", ofi, peer},
		{"ofi is the client", peer, ofi},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, c := pair(t, tc.server, tc.client, args...)
			for end, table := range map[string]string{"server": s, "client": c} {
				got := rows(t, table, iterations)
				if sizes != nil && !slices.Equal(got, sizes) || sizes == nil && len(got) < 40 {
					t.Errorf("%s: sizes %v, want %v\n%s", end, got, sizes, table)
				}
			}
		})
	}
}

// roundTrips is how often each size goes there and back. Both ends poll. If other programs run on the same cores, each
// way waits for the scheduler.
func roundTrips() int {
	if need.Many() {
		return 10
	}
	return 3
}

// checkAll is check for the options of fi_pingpong that matter to a kind of endpoint. GOFABRIC_MANY adds those that
// take long beside other tests, because native peers keep a processor busy.
func checkAll(t *testing.T, peer tool, provider, endpoint string, modes ...string) {
	t.Helper()
	common := []string{"-p", provider, "-e", endpoint}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			args := append(common, "-m", mode)
			t.Run("default sizes", func(t *testing.T) { check(t, peer, defaultSizes, roundTrips(), args...) })
			if !need.Many() {
				return
			}
			t.Run("one size", func(t *testing.T) { check(t, peer, []string{"9.7k"}, 500, append(args, "-S", "10000")...) })
			t.Run("all sizes", func(t *testing.T) { check(t, peer, nil, 3, append(args, "-S", "all")...) })
		})
	}
}

func TestItself(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"msg", "rdm"} {
		t.Run(endpoint, func(t *testing.T) { check(t, ofi, defaultSizes, roundTrips(), "-p", "tcp", "-e", endpoint) })
	}
}

func TestDebianMsg(t *testing.T) {
	t.Parallel()
	checkAll(t, debian(t), "tcp", "msg", "msg")
}

// TestDebianXnetRDM runs against the first version of the RDM protocol. In libfabric 1.17 it is a separate provider,
// net.
func TestDebianXnetRDM(t *testing.T) {
	t.Parallel()
	peer := debian(t)
	if err := exec.Command("fi_info", "-p", "net", "-t", "FI_EP_RDM").Run(); err != nil {
		t.Skipf("this libfabric has no provider net; since 1.18 it is part of tcp, which other tests cover: %v", err)
	}
	peer.provider = "net"
	checkAll(t, peer, "tcp", "rdm", "msg", "tagged")
}

// TestDebianRDM runs against the peer's RDM endpoints of provider tcp: xnet's own since 1.18, ofi_rxm's before.
func TestDebianRDM(t *testing.T) {
	t.Parallel()
	peer := debian(t)
	out, err := exec.Command("fi_info", "-p", "tcp", "-t", "FI_EP_RDM").Output()
	if err != nil {
		need.Missing(t, "fi_info does not list the RDM endpoints: %v", err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	stack := strings.TrimSpace(strings.TrimPrefix(first, "provider:"))
	hints := core.NewHints()
	hints.EP.Type, hints.Fabric.ProvName = core.EPTypeRDM, stack
	if infos, _, err := gofabric.GetInfo(core.Query{Hints: hints}); err != nil || len(infos) == 0 {
		t.Skipf("the peer's RDM endpoints are %q, which this module does not have: %v", stack, err)
	}
	checkAll(t, peer, stack, "rdm", "msg", "tagged")
}

func TestNative2Msg(t *testing.T) {
	t.Parallel()
	checkAll(t, native2(t), "tcp", "msg", "msg")
}

func TestNative2RDM(t *testing.T) {
	t.Parallel()
	checkAll(t, native2(t), "tcp", "rdm", "msg", "tagged")
}
