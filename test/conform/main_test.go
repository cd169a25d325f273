package conform_test

// The runtime's own descriptors (its poller) are opened before anything is counted.

import (
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
