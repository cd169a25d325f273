//go:build linux

package netns

// Two hosts and the cable between them.

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// prefix begins the names of all namespaces made here; the process id of their maker follows.
const prefix = "gofabric-"

// host is a network namespace with an interface eth9 that leads to another one.
type host struct {
	t      *testing.T
	name   string
	v4, v6 string
}

// missing ends a test whose prerequisites are not there.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but "+format, args...)
	}
	t.Skipf(format, args...)
}

var (
	sweepOnce sync.Once
	pairs     atomic.Int32
)

// newHosts makes two hosts with a cable. They go with the test.
func newHosts(t *testing.T) (a, b *host) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		missing(t, "there is no ip(8): apt install iproute2")
	}
	sweepOnce.Do(sweep)
	base := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), pairs.Add(1))
	a = &host{t: t, name: base + "a", v4: "10.99.0.1", v6: "fd99::1"}
	b = &host{t: t, name: base + "b", v4: "10.99.0.2", v6: "fd99::2"}
	for _, h := range []*host{a, b} {
		if out, err := exec.Command("ip", "netns", "add", h.name).CombinedOutput(); err != nil {
			missing(t, "network namespaces cannot be made here: %v: %s", err, out)
		}
		t.Cleanup(func() { exec.Command("ip", "netns", "del", h.name).Run() })
	}
	if out, err := exec.Command("ip", "-n", a.name, "link", "add", "eth9", "type", "veth", "peer", "name", "eth9", "netns", b.name).CombinedOutput(); err != nil {
		missing(t, "veth interfaces cannot be made here: %v: %s", err, out)
	}
	for _, h := range []*host{a, b} {
		h.ip("link", "set", "lo", "up")
		h.ip("link", "set", "eth9", "up")
		h.ip("addr", "add", h.v4+"/24", "dev", "eth9")
		h.ip("addr", "add", h.v6+"/64", "dev", "eth9", "nodad")
	}
	return a, b
}

// sweep deletes the namespaces of test processes that died without doing it themselves.
func sweep() {
	out, _ := exec.Command("ip", "netns", "list").Output()
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(name, prefix)
		maker, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(maker); ours && err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			exec.Command("ip", "netns", "del", name).Run()
		}
	}
}

// ip runs ip(8) in the host.
func (h *host) ip(args ...string) string {
	h.t.Helper()
	out, err := exec.Command("ip", append([]string{"-n", h.name}, args...)...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: ip %s: %v\n%s", h.name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// unplug takes the cable out at this host's end; the other one sees the carrier go and keeps its addresses.
func (h *host) unplug() { h.t.Helper(); h.ip("link", "set", "eth9", "down") }

// plug puts it in again. IPv6 addresses are gone with the link.
func (h *host) plug() { h.t.Helper(); h.ip("link", "set", "eth9", "up") }

// mac is the address of the interface.
func (h *host) mac() string {
	h.t.Helper()
	f := strings.Fields(h.ip("-br", "link", "show", "eth9"))
	if len(f) < 3 {
		h.t.Fatalf("no address in %q", f)
	}
	return f[2]
}
