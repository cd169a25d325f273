package chaos

import (
	"os"
	"testing"
)

// These variables make the test's program one of the processes of a fleet. They hold a setup.
const (
	nodeVar    = "GOFABRIC_CHAOS_NODE"
	boxVar     = "GOFABRIC_CHAOS_BOX"
	courierVar = "GOFABRIC_CHAOS_COURIER"
)

func TestMain(m *testing.M) {
	for name, role := range map[string]func(string){nodeVar: nodeMain, boxVar: boxMain, courierVar: courierMain} {
		if text := os.Getenv(name); text != "" {
			warm()
			role(text)
		}
	}
	os.Exit(m.Run())
}
