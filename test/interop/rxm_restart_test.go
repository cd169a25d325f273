package interop

import (
	"testing"
)

// TestRXMRestart has another native process take the address of one that has ended, once with what we say to the dead in between and once without. We find
// the new one, and it us.
func TestRXMRestart(t *testing.T) {
	eachRXM(t, func(t *testing.T, s nativeStack) {
		for name, speak := range map[string]bool{"told": true, "not told": false} {
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
					l.post(l.ours, op{call: "tsend", ctx: ctx, length: 300_000, tag: ctx}) // announced: it cannot have arrived
					if c := l.want(l.ours, ctx); c.err == 0 {
						l.t.Errorf("a message to a peer that is gone is complete: %+v", c)
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
