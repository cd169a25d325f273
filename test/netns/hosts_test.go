//go:build linux

package netns

import (
	"strings"
	"testing"

	"gofabric/test/veth"
)

// host is one with an interface eth9 that leads to another one.
type host struct {
	*veth.Host
	t      *testing.T
	v4, v6 string
}

// newHosts makes two hosts with a cable. They go with the test.
func newHosts(t *testing.T) (a, b *host) {
	t.Helper()
	x, y := veth.Pair(t, veth.Options{Net: 99})
	return &host{x, t, x.V4.String(), x.V6.String()}, &host{y, t, y.V4.String(), y.V6.String()}
}

// unplug takes the cable out at this host's end; the other one sees the carrier go and keeps its addresses.
func (h *host) unplug() { h.t.Helper(); h.IP("link", "set", veth.End, "down") }

// plug puts it in again. IPv6 addresses are gone with the link.
func (h *host) plug() { h.t.Helper(); h.IP("link", "set", veth.End, "up") }

// mac is the address of the interface.
func (h *host) mac() string {
	h.t.Helper()
	f := strings.Fields(h.IP("-br", "link", "show", "eth9"))
	if len(f) < 3 {
		h.t.Fatalf("no address in %q", f)
	}
	return f[2]
}
