package interop

import (
	"testing"

	"gofabric/test/need"
)

// TestRXMBounded has an endpoint that should keep one connection send to two native peers in turn. It closes the idle
// connection, and the peers see only that a new connection is made.
func TestRXMBounded(t *testing.T) {
	need.Asked(t, "it waits until connections are idle")
	t.Setenv("FI_OFI_RXM_MAX_CONNS", "1")
	eachRXM(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 2)
		for i, n := range l.natives {
			l.join(n, i == 0, nil, nil)
		}
		for i := range 3 {
			for _, n := range l.natives {
				l.until("only one connection",
					func() bool { return l.ours.ep.Driver().(interface{ Connections() int }).Connections() <= 1 })
				name := l.tell(n, "name")
				l.must(l.ours.insert(name))
				l.message(l.ours, n, op{call: "tsend"}, 1000+70_000*i, false)
				l.message(n, l.ours, op{call: "tsend"}, 3000+70_000*i, false)
			}
		}
	})
}
