package main

import (
	"os"
	"strings"
	"testing"

	"gofabric/internal/version"
)

// envMain makes the test binary run as fabricd.
const envMain = "FABRICD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestVersion: fabricd prints its version.
func TestVersion(t *testing.T) {
	var out strings.Builder
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs([]string{"--version"})
	if err := root.Execute(); err != nil || out.String() != version.Text("fabricd") {
		t.Errorf("%v, %q", err, &out)
	}
}
