package tidy

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: who imports core and one provider, as a small program does, gets no HTTP, which the directory of fabricd is asked with.
func TestDependencies(t *testing.T) {
	depends := func(on string, packages ...string) bool {
		t.Helper()
		args := append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, packages...)
		cmd := exec.Command("go", args...)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %v: %v", args, err)
		}
		return strings.Contains("\n"+string(out), "\n"+on+"\n")
	}
	const http = "net/http"
	for _, p := range []string{"tcp", "udp"} {
		if depends(http, "./core", "./internal/host", "./provider/"+p) {
			t.Errorf("core and provider/%s import %s", p, http)
		}
	}
	if depends(http, "./core", "./provider/tcp", "./provider/udp", "./util/...", "./fabrictest") {
		t.Errorf("the providers import %s", http)
	}
	if !depends(http, ".") {
		t.Errorf("the root package does not import %s: this test sees nothing", http)
	}
}
