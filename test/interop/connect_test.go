package interop

import (
	"fmt"
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
)

// eachDirection runs f with either end as the one that connects.
func eachDirection(t *testing.T, f func(t *testing.T, oursConnects bool)) {
	t.Run("we connect", func(t *testing.T) { f(t, true) })
	t.Run("native connects", func(t *testing.T) { f(t, false) })
}

// TestNativeConnect establishes, refuses and ends connections, with private data of all lengths.
func TestNativeConnect(t *testing.T) {
	t.Parallel()
	eachNative(t, core.EPTypeMsg, func(t *testing.T, s nativeStack) {
		eachDirection(t, func(t *testing.T, oursConnects bool) {
			for _, n := range []int{0, 1, 256} {
				asked, answered := conform.Pattern(n, 1), conform.Pattern(n, 2)
				t.Run(fmt.Sprintf("accept with %d bytes", n), func(t *testing.T) {
					l := s.link(t, 1)
					l.join(l.natives[0], oursConnects, asked, answered)
					l.flush(l.ours, l.natives[0])
					l.flush(l.natives[0], l.ours)
				})
				t.Run(fmt.Sprintf("reject with %d bytes", n),
					func(t *testing.T) { testReject(t, s, oursConnects, asked, answered) })
			}
			for _, how := range []string{"shutdown", "close"} {
				t.Run("we "+how, func(t *testing.T) { testShutdown(t, s, oursConnects, how, true) })
				t.Run("native "+how, func(t *testing.T) { testShutdown(t, s, oursConnects, how, false) })
			}
		})
	})
}

// testReject refuses a connection and accepts the next one.
func testReject(t *testing.T, s nativeStack, oursConnects bool, asked, answered []byte) {
	l := s.link(t, 1)
	n := l.natives[0]
	active, _ := l.request(n, oursConnects, asked)
	if oursConnects {
		l.tell(n, "reject %s", hexData(answered))
	} else {
		l.must(l.ours.reject(answered))
	}
	ev := l.event(active, "error")
	if ev.err != core.ErrConnRefused || string(ev.data) != string(answered) {
		t.Errorf("%T: %v with %d bytes %x; want %v with %x", active, ev.err, len(ev.data),
			ev.data, core.ErrConnRefused, answered)
	}
	if !oursConnects {
		l.tell(n, "close")
	}
	l.join(n, oursConnects, nil, nil)
	l.flush(l.ours, n)
}

// testShutdown ends a connection while the other end waits for a message.
func testShutdown(t *testing.T, s nativeStack, oursConnects bool, how string, we bool) {
	l := s.link(t, 1)
	n := l.natives[0]
	l.join(n, oursConnects, nil, nil)
	var other end = l.ours
	if we {
		other = n
	}
	ctx := l.context()
	l.post(other, op{call: "recv", ctx: ctx, length: 64})
	switch {
	case !we:
		l.tell(n, "%s", how)
	case how == "close":
		l.must(l.ours.ep.Close())
		l.ours.opened = l.ours.opened[:len(l.ours.opened)-1]
	default:
		l.must(l.ours.shutdown())
	}
	l.event(other, "shutdown")
	if c := l.want(other, ctx); c.err == 0 {
		t.Errorf("%T: a receive completed although nothing was sent: %+v", other, c)
	}
	if how == "shutdown" {
		var self end = n
		if we {
			self = l.ours
		}
		l.event(self, "shutdown")
	}
	l.join(n, oursConnects, nil, nil) // the listeners still work
	l.flush(n, l.ours)
}
