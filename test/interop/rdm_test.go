package interop

import (
	"fmt"
	"testing"

	"gofabric/core"
)

// TestNativeParallel has both ends send their first message at the same time. One of two connections survives, and
// both messages arrive.
func TestNativeParallel(t *testing.T) {
	t.Parallel()
	eachNative(t, core.EPTypeRDM, func(t *testing.T, s nativeStack) {
		for range 5 {
			s.link(t, 1).together()
		}
	})
}

// together sends from both ends at once.
func (l *link) together() {
	l.t.Helper()
	n := l.natives[0]
	name, err := l.ours.name()
	l.must(err)
	l.tell(n, "insert %s", name)
	l.must(l.ours.insert(l.tell(n, "name")))
	l.fill(l.ours, "tx", 0, 64, 1)
	l.fill(n, "tx", 0, 64, 2)
	l.post(l.ours, op{call: "trecv", ctx: 1, length: 64, tag: 5})
	l.post(n, op{call: "trecv", ctx: 1, length: 64, tag: 5})
	l.post(l.ours, op{call: "tsend", ctx: 2, length: 64, tag: 5})
	l.post(n, op{call: "tsend", ctx: 2, length: 64, tag: 5})
	for _, e := range []end{l.ours, n} {
		l.good(e, 1)
		l.good(e, 2)
	}
	l.check(l.ours, "rx", 0, 64, 2)
	l.check(n, "rx", 0, 64, 1)
}

// TestNativeUnexpected posts receives after the messages, in another order than the sends.
func TestNativeUnexpected(t *testing.T) {
	t.Parallel()
	eachNative(t, core.EPTypeRDM, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		l.join(l.natives[0], true, nil, nil)
		l.unexpected()
	})
}

// TestNativeRendezvous has both ends announce tagged messages of more than 1024 bytes before they send them.
func TestNativeRendezvous(t *testing.T) {
	eachNative(t, core.EPTypeRDM, func(t *testing.T, s nativeStack) {
		if s.provider == "net" {
			t.Skip("this protocol has no rendezvous")
		}
		t.Setenv("FI_TCP_MAX_SAVED_SIZE", "1024") // for the peer, too
		t.Setenv("FI_TCP_MAX_RX_SIZE", "1024")    // the lowest value that native accepts
		eachDirection(t, func(t *testing.T, oursConnects bool) {
			l := s.link(t, 1)
			n := l.natives[0]
			l.join(n, oursConnects, nil, nil)
			l.sub("waits", func() {
				l.waits(l.ours, n)
				l.waits(n, l.ours)
			})
			l.sub("unexpected", l.unexpected)
			l.transfers()
		})
	})
}

// unexpected sends unexpected messages in both directions, with every call.
func (l *link) unexpected() {
	for _, e := range [][2]end{{l.ours, l.natives[0]}, {l.natives[0], l.ours}} {
		for i, c := range taggedMessages {
			ok := l.sub(fmt.Sprintf("from %T %s %d", e[0], c.call, i), func() {
				for _, n := range transferSizes {
					if c.injects() && n > l.inject {
						continue
					}
					l.message(e[0], e[1], c, n, true)
					if !l.net || e[1] == end(l.ours) {
						l.outOfOrder(e[0], e[1], c, n)
					}
				}
			})
			if !ok {
				return
			}
		}
	}
}

// outOfOrder sends four messages and receives the last one first.
func (l *link) outOfOrder(from, to end, c op, n int) {
	l.t.Helper()
	const count = 4
	stride := bufSize / count
	if n > stride {
		n = stride / 2
	}
	c.length = n
	var sends, recvs [count]uint64
	for i := range count {
		sends[i], recvs[i] = l.context(), l.context()
		l.fill(from, "tx", i*stride, n, sends[i])
		c.ctx, c.off, c.tag = sends[i], i*stride, uint64(i)
		l.post(from, c)
	}
	l.flush(from, to)
	for i := count - 1; i >= 0; i-- {
		l.post(to, op{call: "trecv", ctx: recvs[i], off: i * stride, length: n, tag: uint64(i)})
	}
	for i := range count {
		if got := l.good(to, recvs[i]); got.length != n {
			l.t.Errorf("%T received %d bytes, want %d", to, got.length, n)
		}
		l.check(to, "rx", i*stride, n, sends[i])
		if !c.injects() {
			l.good(from, sends[i])
		}
	}
}

// waits checks that a long message completes only after a receive was posted, and a short one at once.
func (l *link) waits(from, to end) {
	l.t.Helper()
	for _, n := range []int{512, 2048, 1 << 20} {
		send, recv := l.context(), l.context()
		l.post(from, op{call: "tsend", ctx: send, length: n, tag: send})
		l.flush(from, to)
		complete := false
		for _, c := range from.in().done {
			complete = complete || c.ctx == send
		}
		if complete != (n < 1024) {
			l.t.Errorf("%T: message of %d bytes, not received yet: completed: %v", from, n, complete)
		}
		l.post(to, op{call: "trecv", ctx: recv, length: n, tag: send})
		l.good(to, recv)
		l.good(from, send)
	}
}
