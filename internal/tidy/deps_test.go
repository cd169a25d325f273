package tidy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDependencies checks what a small program links with the packages that it imports: no HTTP and no JSON, and
// AF_XDP only with provider udp.
func TestDependencies(t *testing.T) {
	heavy := []string{"net/http", "encoding/json", "log/slog", "github.com/cilium/ebpf",
		"github.com/vishvananda/netlink", "github.com/google/gopacket",
		"github.com/prometheus/client_golang/prometheus"}
	depends := func(packages ...string) (on []string) {
		t.Helper()
		args := append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, packages...)
		cmd := exec.Command("go", args...)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %v: %v", args, err)
		}
		for l := range strings.Lines(string(out)) {
			if l = strings.TrimSpace(l); slices.Contains(heavy, l) {
				on = append(on, l)
			}
		}
		return on
	}
	if on := depends(".", "./core", "./provider/tcp", "./util/...", "./fabrictest"); on != nil {
		t.Errorf("the root package, tcp and the layers import %v", on)
	}
	if on := depends("./provider/udp"); slices.Contains(on, "net/http") || slices.Contains(on, "encoding/json") ||
		!slices.Contains(on, "github.com/cilium/ebpf") {
		t.Errorf("provider/udp imports %v", on)
	}
	if on := depends("./all"); !slices.Contains(on, "net/http") {
		t.Errorf("all imports %v: this test has checked nothing", on)
	}
}
