package udp

import (
	"net/netip"
	"testing"
)

// idleInbox also counts the passes that found nothing.
type idleInbox struct {
	inbox
	idle int
}

func (r *idleInbox) Idle() { r.idle++ }

// TestIdle: a pass without datagrams calls Idle, one with datagrams calls Drained.
func TestIdle(t *testing.T) {
	d := testDomain(t)
	r := &idleInbox{}
	a := portAt(t, d, netip.AddrPortFrom(loopback4, 0), r)
	d.prog.Lock()
	defer d.prog.Unlock()
	a.Poll()
	if r.idle != 1 || r.drained != 0 {
		t.Errorf("without datagrams: idle %d, drained %d", r.idle, r.drained)
	}
	must(t, a.Send(a.local, [][]byte{[]byte("x")}, 0))
	a.Poll()
	if r.idle != 1 || r.drained != 1 || len(r.got) != 1 {
		t.Errorf("after one datagram: idle %d, drained %d, %v", r.idle, r.drained, r.got)
	}
}
