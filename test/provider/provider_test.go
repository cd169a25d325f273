// Package provider checks that a provider can be written outside this module: the one in ../outside, a module of its own, is built and tested.
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
