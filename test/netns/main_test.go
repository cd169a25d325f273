//go:build linux

package netns

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the process inside a namespace.
func TestMain(m *testing.M) {
	if os.Getenv(nodeVar) != "" {
		nodeMain()
		return
	}
	flag.Parse()
	flag.Set("test.parallel", "8") // the tests mostly wait for time-outs
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
