package tcp_test

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"gofabric/core"
	"gofabric/test/duo"
)

// TestPortRange: endpoints without a port get different ports between FI_TCP_PORT_LOW_RANGE and
// FI_TCP_PORT_HIGH_RANGE. When all are in use, the call fails and its error says so.
func TestPortRange(t *testing.T) {
	low := freePorts(t, 2)
	reg, info := infoWith(t, map[string]string{"FI_TCP_PORT_LOW_RANGE": fmt.Sprint(low), "FI_TCP_PORT_HIGH_RANGE": fmt.Sprint(low + 1)})
	mem := make([]byte, 8)
	got := map[uint16]bool{}
	var last *duo.Side
	for range 2 {
		last = duo.OpenInfo(t, reg, info, mem)
		name, err := last.EP.Name()
		duo.Check(t, err)
		got[name.IP.Port()] = true
	}
	if !got[low] || !got[low+1] || len(got) != 2 {
		t.Errorf("ports %v, want %d and %d", got, low, low+1)
	}
	ep, err := last.Domain.OpenEndpoint(info)
	if !errors.Is(err, core.ErrAddrInUse) || ep != nil {
		t.Errorf("a third endpoint: %v, %v; want ErrAddrInUse", ep, err)
	}
	var oe *core.OpError
	if !errors.As(err, &oe) || oe.Hint == "" {
		t.Errorf("%v does not say what to do", err)
	}
}

// freePorts returns the first of n consecutive unused ports.
func freePorts(t *testing.T, n int) uint16 {
	t.Helper()
search:
	for low := 21000; low < 31000; low += n {
		for p := low; p < low+n; p++ {
			l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				continue search
			}
			l.Close()
		}
		return uint16(low)
	}
	t.Fatal("no free ports")
	return 0
}
