package rxd

import (
	"errors"
	"net/netip"
	"testing"
)

// TestEarly: a port may call the endpoint that opens it before the endpoint has stored it. Such calls have no
// effect, and return.
func TestEarly(t *testing.T) {
	ep := &rdmEndpoint{}
	ep.Received(netip.AddrPort{}, make([]byte, 100), 0)
	ep.Drained()
	ep.Idle()
	ep.Writable()
	ep.Lost(errors.New("gone"))
}
