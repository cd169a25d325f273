package main

import (
	"os"
	"strings"
	"testing"

	"gofabric/internal/version"
)

// envMain has the test binary be fabricd.
const envMain = "FABRICD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestVersion: fabricd says of which version it is.
func TestVersion(t *testing.T) {
	var out strings.Builder
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs([]string{"--version"})
	if err := root.Execute(); err != nil || out.String() != version.Text("fabricd") {
		t.Errorf("%v, %q", err, &out)
	}
}
