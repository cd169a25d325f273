package need

import (
	"os"
	"os/exec"
	"testing"
)

// Missing ends a test whose prerequisites are not there.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but "+format, args...)
	}
	t.Skipf(format, args...)
}

// Programs ends a test unless all programs are installed; packages are Debian's that have them. It returns the path of the first.
func Programs(t testing.TB, packages string, names ...string) (first string) {
	t.Helper()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			Missing(t, "there is no %s: apt install %s (%v)", name, packages, err)
		}
		if first == "" {
			first = path
		}
	}
	return first
}

// Root ends a test that is not run by root, which what it is about needs.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "%s needs root", what)
	}
}

// Emulation ends a test unless an emulated fabric can be made here.
func Emulation(t testing.TB) {
	t.Helper()
	Root(t, "an emulated fabric")
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		Missing(t, "an emulated fabric needs /dev/net/tun (%v)", err)
	}
}

// Many says whether what takes long is asked for. It asks when a test runs: go test's cache knows what tests read, and not what init does.
func Many() bool { return os.Getenv("GOFABRIC_MANY") != "" }

// Asked skips a test that takes long, as why says, unless that is asked for.
func Asked(t testing.TB, why string) {
	t.Helper()
	if !Many() {
		t.Skipf("%s: set GOFABRIC_MANY=1", why)
	}
}
