//go:build linux

package netns

import (
	"strings"
	"testing"

	"gofabric/test/veth"
)

// host is a network namespace whose interface eth9 leads to another one.
type host struct {
	*veth.Host
	t      *testing.T
	v4, v6 string
}

// newHosts makes two hosts with a veth pair between them. They are removed with the test.
func newHosts(t *testing.T) (a, b *host) {
	t.Helper()
	x, y := veth.Pair(t, veth.Options{Net: 99})
	return &host{x, t, x.V4.String(), x.V6.String()}, &host{y, t, y.V4.String(), y.V6.String()}
}

// unplug takes the link down at this host's end. The other end loses its carrier and keeps its addresses.
func (h *host) unplug() { h.t.Helper(); h.IP("link", "set", veth.End, "down") }

// plug takes the link up again. The IPv6 addresses were lost with the link.
func (h *host) plug() { h.t.Helper(); h.IP("link", "set", veth.End, "up") }

// mac returns the Ethernet address of the interface.
func (h *host) mac() string {
	h.t.Helper()
	f := strings.Fields(h.IP("-br", "link", "show", "eth9"))
	if len(f) < 3 {
		h.t.Fatalf("no Ethernet address in %q", f)
	}
	return f[2]
}
