package chaos

import (
	"os"
	"testing"
)

// These variables make the test's program one of the processes of a fleet. They hold a setup.
const (
	nodeVar   = "GOFABRIC_CHAOS_NODE"
	serverVar = "GOFABRIC_CHAOS_SERVER"
	clientVar = "GOFABRIC_CHAOS_CLIENT"
)

func TestMain(m *testing.M) {
	for name, role := range map[string]func(string){nodeVar: nodeMain, serverVar: serverMain, clientVar: clientMain} {
		if text := os.Getenv(name); text != "" {
			warm()
			role(text)
		}
	}
	os.Exit(m.Run())
}
