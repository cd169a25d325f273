package interop

import (
	"testing"
)

// TestRXMRestart starts another native process at the address of one that has ended. In one case our end sends to the
// dead process in between, in the other it does not. Both ends can then send to each other.
func TestRXMRestart(t *testing.T) {
	eachRXM(t, func(t *testing.T, s nativeStack) {
		for name, speak := range map[string]bool{"with a send in between": true, "without": false} {
			t.Run(name, func(t *testing.T) {
				l := s.link(t, 1)
				n := l.natives[0]
				l.join(n, true, nil, nil)
				l.message(l.ours, n, op{call: "tsend"}, 200_000, false)
				port := l.tell(n, "name")
				n.HangUp()
				l.natives = nil
				if speak {
					ctx := l.context()
					// The message is announced: it cannot have arrived.
					l.post(l.ours, op{call: "tsend", ctx: ctx, length: 300_000, tag: ctx})
					if c := l.want(l.ours, ctx); c.err == 0 {
						l.t.Errorf("a message to a peer that has ended completed: %+v", c)
					}
				}
				n = startPeer(t, s.program, s.provider, s.kindName(), port)
				l.natives = []*native{n}
				ours, err := l.ours.name()
				l.must(err)
				l.tell(n, "insert %s", ours)
				for i := range 4 {
					l.message(l.ours, n, op{call: "tsend"}, 50_000*i, false)
					l.message(n, l.ours, op{call: "tsend"}, 50_000*i, false)
				}
			})
		}
	})
}
