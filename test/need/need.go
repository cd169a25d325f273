package need

import (
	"os"
	"os/exec"
	"testing"
)

// Missing skips a test because a prerequisite is missing, or fails it where prerequisites are required.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but "+format, args...)
	}
	t.Skipf(format, args...)
}

// Programs checks that all programs are installed. packages are the Debian packages that have them. It returns the
// path of the first program.
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

// Root checks that root runs the test. what is the part of the test that needs root.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "%s needs root", what)
	}
}

// Emulation checks that an emulated fabric can be made here.
func Emulation(t testing.TB) {
	t.Helper()
	Root(t, "an emulated fabric")
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		Missing(t, "an emulated fabric needs /dev/net/tun (%v)", err)
	}
}

// Many reports whether long tests should run. It reads the environment when a test runs: go test's cache records what
// tests read, but not what init reads.
func Many() bool { return os.Getenv("GOFABRIC_MANY") != "" }

// Asked skips a long test unless long tests should run. why says how long it takes.
func Asked(t testing.TB, why string) {
	t.Helper()
	if !Many() {
		t.Skipf("%s: set GOFABRIC_MANY=1", why)
	}
}
