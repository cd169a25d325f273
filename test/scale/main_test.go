//go:build linux

package scale

import (
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the peers' process. It makes the runtime open its own descriptors (its poller) before the tests
// count any. At the end it looks for leaked goroutines.
func TestMain(m *testing.M) {
	if os.Getenv(peersVar) != "" {
		peersMain()
		return
	}
	if os.Getenv(childVar) != "" {
		childMain()
		return
	}
	if os.Getenv(senderVar) != "" {
		senderMain()
		return
	}
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
