// Package provider checks that a provider can be written outside of this module. It builds and tests the one in
// ../outside, which is a module of its own.
package provider

import (
	"os"
	"os/exec"
	"testing"
)

func TestOutside(t *testing.T) {
	cmd := exec.Command("go", "test", "-count=1", "./...")
	cmd.Dir = "../outside"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go test in %s: %v\n%s", cmd.Dir, err, out)
	}
}
