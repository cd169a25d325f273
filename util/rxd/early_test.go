package rxd

import (
	"errors"
	"net/netip"
	"testing"
)

// TestEarly: a port is at work before the endpoint that opens it knows of it. Nothing that comes then does anything, or takes for ever.
func TestEarly(t *testing.T) {
	ep := &rdmEndpoint{}
	ep.Received(netip.AddrPort{}, make([]byte, 100), 0)
	ep.Drained()
	ep.Idle()
	ep.Writable()
	ep.Lost(errors.New("gone"))
}
