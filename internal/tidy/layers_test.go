package tidy

import (
	"slices"
	"strings"
	"testing"
)

// rank has the rank of each package. A package may import only packages of a lower rank. A name that ends in /...
// covers all packages below it. A package without a rank fails the test, so that its author must choose one.
var rank = []struct {
	path string
	rank int
}{
	{"internal/mono", 0},
	{"internal/wsa", 0},
	{"internal/tcpport", 0},
	{"internal/queue", 0},
	{"internal/batch", 1},
	{"internal/batch/batchtest", 2},
	{"internal/match", 0},
	{"internal/atomics", 0},
	{"internal/authkey", 0},
	{"internal/xdp/frame", 0},
	{"internal/fabricd", 0},
	{"internal/telemetry", 1},
	{"internal/telemetry/export", 2},
	{"internal/telemetry/report", 2},
	{"internal/fabricd/api", 2},
	{"metrics", 8},
	{"internal/fabricd/names", 3},
	{"internal/coll/schedule", 1},
	{"internal/neigh", 1},
	{"internal/netx", 1},
	{"internal/shm", 1},
	{"internal/xnet/wire", 1},
	{"internal/xnet/engine", 2},
	{"internal/progress", 2},
	{"internal/xdp", 2},
	{"internal/trust", 2},
	{"internal/trust/structured", 3},
	{"internal/samehost", 3},
	{"internal/cma", 4},
	{"core", 2},
	{"core/mr", 3},
	{"internal/version", 3},
	{"cq", 3},
	{"av", 3},
	{"internal/host", 3},
	{"internal/params", 3},
	{"internal/impair", 3},
	{"internal/transport/datagram", 4},
	{"internal/transport/stream", 4},
	{"internal/endpoint", 4},
	{"internal/peers/cm", 1},
	{"internal/peers", 5},
	{"internal/dgramep", 5},
	{"internal/layer", 5},
	{"internal/rdmep", 6},
	{"provider/udp", 7},
	{"provider/tcp", 7},
	{"util/rxd/wire", 1},
	{"util/rxd/flow", 2},
	{"util/rxd/session", 3},
	{"util/rxm/wire", 1},
	{"util/rxm/gateway", 3},
	{"util/hook", 5},
	{"util/...", 7},
	{"fabricd", 4},
	{"all", 8},
	{"fabrictest", 8},
	{"boot/internal/pmi", 0},
	{"boot/internal/exchange", 0},
	{"boot", 8},
	{".", 8},
	{"cmd/internal/...", 3},
	{"cmd/ofi/internal/...", 9},
	{"cmd/fabricd/internal/directory/store", 4},
	{"cmd/fabricd/internal/directory/table", 5},
	{"cmd/fabricd/internal/directory/feed", 5},
	{"cmd/fabricd/internal/directory/local", 6},
	{"cmd/fabricd/internal/directory/cluster", 6},
	{"cmd/fabricd/internal/daemon", 7},
	{"cmd/fabricd/internal/emulate/link", 5},
	{"cmd/fabricd/internal/emulate/topology", 6},
	{"cmd/fabricd/internal/emulate/fabric", 7},
	{"cmd/fabricd/internal/...", 9},
	{"cmd/...", 10},
	{"internal/tidy", 11},
	{"workspace", 11},
	{"test/kernel/plan", 10},
	{"test/conform/record", 10},
	{"test/conform/comply", 10},
	{"test/duo", 10},
	{"test/parallel", 10},
	{"test/need", 10},
	{"test/wait", 9},
	{"test/journal", 10},
	{"test/sim/network", 10},
	{"test/sim/rma", 10},
	{"test/program", 10},
	{"test/...", 11},
}

func rankOf(dir string) (int, bool) {
	for _, r := range rank {
		if r.path == dir {
			return r.rank, true
		}
		if p, ok := strings.CutSuffix(r.path, "/..."); ok && strings.HasPrefix(dir, p+"/") {
			return r.rank, true
		}
	}
	return 0, false
}

// moduleDir returns the folder of an import of this module.
func moduleDir(path string) (string, bool) {
	if path == "gofabric" {
		return ".", true
	}
	return strings.CutPrefix(path, "gofabric/")
}

// TestLayers checks that arrows point down.
func TestLayers(t *testing.T) {
	for _, s := range sources(t) {
		from, ok := rankOf(s.dir)
		if !ok {
			t.Errorf("%s: place the package %s in the table of layers", s.path, s.dir)
			continue
		}
		for _, path := range s.imports() {
			dir, ours := moduleDir(path)
			if !ours || dir == s.dir {
				continue
			}
			to, ok := rankOf(dir)
			external := s.test && strings.HasSuffix(s.file.Name.Name, "_test")
			switch {
			case !ok:
				t.Errorf("%s imports %s, which is not in the table of layers", s.path, dir)
			case external && strings.HasPrefix(dir, "internal/"):
			case to >= from && !s.test:
				t.Errorf("%s imports %s: arrows point down only", s.path, dir)
			case strings.HasPrefix(s.dir, "util/") && strings.HasPrefix(dir, "provider/"),
				strings.HasPrefix(s.dir, "provider/") && strings.HasPrefix(dir, "util/"):
				t.Errorf("%s imports %s: util and provider must not import each other", s.path, dir)
			}
		}
	}
}

// only has packages that few packages may import, and the names of those.
var only = map[string][]string{
	"github.com/cilium/ebpf":         {"internal/xdp", "test/"},
	"github.com/cavaliergopher/cpio": {"test/kernel"},
	"github.com/chromedp":            {"test/"},
	"github.com/google/gopacket":     {"cmd/internal/capture", "internal/xdp/frame/reference_test.go", "test/"},
	"github.com/coreos/go-systemd":   {"cmd/fabricd"},
	"github.com/google/btree":        {"cmd/fabricd"},
	"github.com/prometheus":          {"cmd/fabricd", "metrics", "internal/telemetry/export", "test/"},
	"github.com/spf13/cobra":         {"cmd/"},
	"github.com/vishvananda/netlink": {"internal/host", "internal/neigh", "internal/netx", "internal/xdp", "cmd/fabricd", "test/"},
	"go.etcd.io/bbolt":               {"cmd/fabricd/internal/directory/local"},
	"go.etcd.io/etcd":                {"cmd/fabricd/internal/directory/cluster"},
	"go.uber.org/zap":                {"cmd/fabricd/internal/directory/cluster"},
	"google.golang.org/grpc":         {"cmd/fabricd/internal/directory/cluster"},
	"go.yaml.in/yaml":                {"cmd/fabricd", "test/"},
	"gonum.org/v1/plot":              {"cmd/ofi/internal/bench"},
	"pgregory.net/rapid":             {"_test.go"},
	"go.uber.org/goleak":             {"_test.go", "test/"},
	"C":                              {"cmd/libfabric"},
	"os/exec":                        {"cmd/", "test/", "_test.go"},
	"testing":                        {"_test.go", "test/", "fabrictest"},
}

// TestOnly checks that a dependency is imported only where only allows it, so that a program with core and one
// provider links little else.
func TestOnly(t *testing.T) {
	for _, s := range sources(t) {
		for _, path := range s.imports() {
			for lib, where := range only {
				if path != lib && !strings.HasPrefix(path, lib+"/") {
					continue
				}
				if !slices.ContainsFunc(where,
					func(w string) bool { return strings.HasPrefix(s.path, w) || strings.HasSuffix(s.path, w) }) {
					t.Errorf("%s imports %s, which is for %v", s.path, path, where)
				}
			}
		}
	}
}

// pure reports whether a folder is a protocol without I/O. Core counts as one, as it has no sockets.
func pure(dir string) bool {
	switch dir {
	case "util/rxd/flow", "internal/queue", "internal/batch", "internal/peers/cm", "internal/match",
		"internal/xdp/frame", "internal/coll/schedule", "util/rxd/session", "util/rxm/gateway":
		return true
	}
	return strings.HasSuffix(dir, "/wire") || strings.HasSuffix(dir, "/engine") ||
		strings.HasPrefix(dir, "boot/internal/")
}

// TestPure checks that codecs and engines take time, randomness and bytes as arguments.
func TestPure(t *testing.T) {
	banned := []string{"net", "os", "sync", "sync/atomic", "syscall", "time", "math/rand", "math/rand/v2",
		"crypto/rand", "golang.org/x/sys/unix", "context", "log", "log/slog", "unsafe"}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, path := range s.imports() {
			if s.dir == "internal/match" && path == "math/rand/v2" {
				continue // the seed of its hash tables: a peer cannot choose tags that collide
			}
			if pure(s.dir) && slices.Contains(banned, path) {
				t.Errorf("%s imports %s: protocol does no I/O, has no clock and no locks", s.path, path)
			}
			if s.dir == "core" && slices.Contains([]string{"net", "sync", "time", "math/rand", "math/rand/v2",
				"golang.org/x/sys/unix", "unsafe"}, path) {
				t.Errorf("%s imports %s: core has no sockets, goroutines or clock", s.path, path)
			}
		}
	}
}
