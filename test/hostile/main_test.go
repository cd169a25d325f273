package hostile

import (
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes the runtime open its own descriptors (its poller) before the tests count any. At the end it looks for
// leaked goroutines.
func TestMain(m *testing.M) {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
