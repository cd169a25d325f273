//go:build linux && !fabricbasic

package tcp

import (
	"testing"

	"gofabric/core"
)

// TestDrainedClosed closes both ends of a TCP connection in one thread. The peer of the second does not exist any
// more, so nothing is acknowledged, and the second end must not wait for it.
func TestDrainedClosed(t *testing.T) {
	c := newCouple(t, map[string]string{"FI_TCP_LOCAL_SOCKETS": "0"})
	must(t, c.ep[1].Recv(make([]byte, 8), 0, core.AddrUnspec, 1))
	must(t, c.ep[0].Inject(make([]byte, 8), c.to[0]))
	c.wait("the message arrives", func() bool { return c.read(1) == 1 })
	ep := c.ep[0]
	ep.drv.d.prog.Lock()
	ep.drv.BeginDrain() // from here on it receives nothing
	ep.drv.d.prog.Unlock()
	must(t, c.ep[1].Close()) // the goodbye of the first is in its socket, so this resets the connection
	c.ep[1] = nil
	ep.drv.d.prog.Lock()
	defer ep.drv.d.prog.Unlock()
	for ep.drv.d.prog.Pass(); !ep.drv.Drained(true); ep.drv.d.prog.Pass() { // the test's own time limit ends it
	}
}
