package session

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// TestRestartBeforeAck restarts an endpoint that has received a message, while only its first answer has arrived.
// The new endpoint must not receive the message again.
func TestRestartBeforeAck(t *testing.T) {
	n := newWorld(t, 1)
	a, b := n.add(1, nil), n.add(2, nil)
	n.Tap = func(from, _ int, p []byte) {
		n.Down = from == b.host && (p[0] == wire.XMagic || len(p) > wire.CTSLen+16 && p[wire.CTSLen+5]&wire.ExtUp != 0)
	}
	b.recv(make([]byte, 200), 1)
	a.post(b, msg(1, pattern(100, 1)))
	n.run(second, nil)
	n.Tap, n.Down = nil, false
	c := n.add(2, nil)
	c.recv(make([]byte, 200), 1)
	n.run(5*second, nil)
	if got := b.count(xengine.KindRecv) + c.count(xengine.KindRecv); got+len(a.failed) != 1 {
		t.Errorf("%v, %d received by both processes", a.failed, got)
	}
	c.recv(make([]byte, 200), 1)
	c.recv(make([]byte, 200), 1)
	before := c.count(xengine.KindRecv)
	a.post(c, msg(2, pattern(100, 1)))
	if !n.run(5*second, func() bool { return c.count(xengine.KindRecv) == before+1 }) {
		t.Error("no message arrives at the restarted endpoint")
	}
	a.close()
	c.close()
}
