//go:build linux

package udp

import (
	"net"
	"net/netip"
	"testing"
)

// TestXDPOldLosses: a port does not count what the interface lost before it was opened.
func TestXDPOldLosses(t *testing.T) {
	a, b := places(t)
	a.Enter()
	d := testDomain(t, "LINK", linkXDP)
	p, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	b.Enter()
	c, err := net.Dial("udp4", p.local.String())
	must(t, err)
	defer c.Close()
	d.prog.Lock() // nobody receives
	for range 3 * 4096 {
		_, err := c.Write(make([]byte, 64))
		must(t, err)
	}
	old := p.Stats().Overflows
	d.prog.Unlock()
	if old < 4096 {
		t.Errorf("%d datagrams found no room", old)
	}
	a.Enter()
	q, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	if q.express == nil {
		t.Fatal(q.noXDP)
	}
	if n := q.counts().Overflows; n > 0 {
		t.Errorf("a new port counts %d losses from before it", n)
	}
}
