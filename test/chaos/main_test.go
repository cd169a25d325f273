package chaos

import (
	"os"
	"testing"
)

// nodeVar makes the test's program a node.
const nodeVar = "GOFABRIC_CHAOS_NODE"

func TestMain(m *testing.M) {
	if text := os.Getenv(nodeVar); text != "" {
		nodeMain(text)
	}
	os.Exit(m.Run())
}
