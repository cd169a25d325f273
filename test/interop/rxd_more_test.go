package interop

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/core"
)

// This file tests rare situations between rxd peers: many unexpected messages, traffic in both directions at once,
// refused accesses, peers that restart.

// counted is what the counters count, in the order in which testdata/peer.c reports them.
var counted = []core.BindFlags{core.BindSend, core.BindRecv, core.BindRead, core.BindWrite,
	core.BindRemoteRead, core.BindRemoteWrite}

// counts returns an end's counters.
func (l *link) counts(e end) (v [6]uint64) {
	l.t.Helper()
	if n, ok := e.(*native); ok {
		for i, f := range strings.Fields(l.tell(n, "counts")) {
			v[i], _ = strconv.ParseUint(f, 10, 64)
		}
		return v
	}
	for i, c := range l.ours.cntrs {
		v[i] = c.Value()
	}
	return v
}

// rxdLink connects a native peer and ours.
func rxdLink(t *testing.T, s nativeStack) (l *link, n *native) {
	l = s.link(t, 1)
	l.join(l.natives[0], true, nil, nil)
	return l, l.natives[0]
}

// both runs f with each end as the sender.
func (l *link) both(f func(from, to end)) {
	l.t.Helper()
	l.sub("ours to native", func() { f(l.ours, l.natives[0]) })
	l.sub("native to ours", func() { f(l.natives[0], l.ours) })
}

// pile returns one of many messages of mixed kinds and sizes.
func pile(i int) op {
	p := op{call: "send", length: []int{1, 100, 1408, 1409, 5000, 40000}[i%6], off: i << 16}
	if i%2 == 1 {
		p.call, p.tag = "tsend", uint64(i)
	}
	return p
}

const piled = 48

// pileUp posts the sends or the receives of a pile.
func (l *link) pileUp(e end, receive bool, base uint64) {
	l.t.Helper()
	for i := range piled {
		p := pile(i)
		p.ctx = base + uint64(i)
		if receive {
			p.call = strings.Replace(p.call, "send", "recv", 1)
		} else {
			l.fill(e, "tx", p.off, p.length, uint64(i))
		}
		l.post(e, p)
	}
}

// piledUp waits for the completions of a pile.
func (l *link) piledUp(e end, receive bool, base uint64) {
	l.t.Helper()
	for i := range piled {
		p := pile(i)
		c := l.good(e, base+uint64(i))
		if !receive {
			continue
		}
		if c.length != p.length {
			l.t.Errorf("%T: message %d has %d bytes, want %d", e, i, c.length, p.length)
		}
		l.check(e, "rx", p.off, p.length, uint64(i))
	}
}

// TestRXDUnexpected posts receives after the messages.
func TestRXDUnexpected(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l, _ := rxdLink(t, s)
		l.both(func(from, to end) {
			for range 3 {
				l.pileUp(from, false, 1000)
				l.until("the first message arrives", func() bool { return len(from.in().done) > 0 })
				l.pileUp(to, true, 2000)
				l.piledUp(from, false, 1000)
				l.piledUp(to, true, 2000)
			}
		})
		l.both(func(from, to end) {
			for _, c := range []op{messages[0], messages[2], taggedMessages[0], taggedMessages[2]} {
				for _, n := range []int{0, 1408, 4097, 300000, 1<<20 + 3} {
					l.message(from, to, c, n, true)
				}
			}
		})
	})
}

// TestRXDParallel has both ends send a pile at the same time, beginning with the first packet.
func TestRXDParallel(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		n := l.natives[0]
		name, err := l.ours.name()
		l.must(err)
		l.tell(n, "insert %s", name)
		l.must(l.ours.insert(l.tell(n, "name")))
		for range 3 {
			l.pileUp(n, true, 2000)
			l.pileUp(l.ours, true, 2000)
			l.pileUp(n, false, 1000)
			l.pileUp(l.ours, false, 1000)
			for _, e := range []end{n, l.ours} {
				l.piledUp(e, false, 1000)
				l.piledUp(e, true, 2000)
			}
		}
	})
}

// TestRXDLong sends the longest messages that the buffers hold in both directions at once.
func TestRXDLong(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l, n := rxdLink(t, s)
		for i := range uint64(3) {
			for j, e := range []end{n, l.ours} {
				l.fill(e, "tx", 0, bufSize, 10*i+uint64(j))
				l.post(e, op{call: "trecv", ctx: 1, length: bufSize, tag: i})
			}
			for _, e := range []end{n, l.ours} {
				l.post(e, op{call: "tsend", ctx: 2, length: bufSize, tag: i})
			}
			for j, e := range []end{n, l.ours} {
				l.good(e, 1)
				l.good(e, 2)
				l.check(e, "rx", 0, bufSize, 10*i+uint64(1-j))
			}
		}
	})
}

// TestRXDMultiRecv receives native's messages in one buffer of ours.
func TestRXDMultiRecv(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l, n := rxdLink(t, s)
		const count, size = 40, 3001
		l.must(l.ours.ep.SetOpt(core.OptMinMultiRecv, size))
		l.post(l.ours, op{call: "recvmsg", ctx: 1, length: count * size, flags: core.OpMultiRecv})
		for i := range count {
			l.fill(n, "tx", i*size, size, uint64(i))
			l.post(n, op{call: "send", ctx: 100 + uint64(i), off: i * size, length: size})
		}
		for i := range count {
			c := l.good(l.ours, 1)
			if c.length != size || (c.flags&core.CompMultiRecv != 0) != (i == count-1) {
				l.t.Errorf("message %d: %+v", i, c)
			}
			l.check(l.ours, "rx", i*size, size, uint64(i))
			l.good(n, 100+uint64(i))
		}
	})
}

// TestRXDOneWay has only one end send messages.
func TestRXDOneWay(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		for name, we := range map[string]bool{"ours sends": true, "native sends": false} {
			t.Run(name, func(t *testing.T) {
				l := s.link(t, 1)
				var from, to end = l.natives[0], l.ours
				if we {
					from, to = to, from
					l.must(l.ours.insert(l.tell(l.natives[0], "name")))
				} else {
					name, err := l.ours.name()
					l.must(err)
					l.tell(l.natives[0], "insert %s", name)
				}
				for i := range 4 {
					l.pileUp(to, true, 2000)
					l.pileUp(from, false, 1000)
					l.piledUp(to, true, 2000)
					l.piledUp(from, false, 1000)
					for j, c := range []op{{call: "inject"}, {call: "tinject"}, {call: "injectdata", data: 7}} {
						l.message(from, to, c, i*10+j, false)
					}
				}
			})
		}
	})
}

// TestRXDCounters compares the counters of both ends with the operations.
func TestRXDCounters(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l, _ := rxdLink(t, s)
		l.both(func(from, to end) {
			before, beforeTo := l.counts(from), l.counts(to)
			for range 3 {
				l.message(from, to, op{call: "send"}, 5000, false)
				l.message(from, to, op{call: "tsend"}, 100, false)
				l.write(from, to, place(op{call: "writedata", data: 3, segs: segments(1)}, 5000))
				l.write(from, to, place(op{call: "writemsg", flags: core.OpDeliveryComplete, segs: segments(2)}, 10))
				l.read(from, to, place(op{call: "read", segs: segments(1)}, 5000))
			}
			l.flush(from, to)
			want := [2][6]uint64{{0: 7, 2: 3, 3: 6}, {1: 7, 4: 3, 5: 6}}
			var got [2][6]uint64
			l.until("counts", func() bool {
				a, b := l.counts(from), l.counts(to)
				for i := range a {
					got[0][i], got[1][i] = a[i]-before[i], b[i]-beforeTo[i]
				}
				return got == want || got[0][0] > want[0][0]
			})
			if got != want {
				l.t.Errorf("counters of initiator and target: %v, want %v", got, want)
			}
		})
	})
}

// TestRXDBadKey names memory of native that may not be accessed. The operation fails, native does not crash, and
// further messages can be exchanged.
func TestRXDBadKey(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		links := make([]*link, len(badAccesses)) // all at once: each takes until our end gives the access up
		for i, b := range badAccesses {
			l, n := rxdLink(t, s)
			links[i] = l
			l.fill(n, "mem", 64, 512, 77)
			b.op.ctx, b.op.length = 1, 512
			l.post(l.ours, b.op)
		}
		for i, b := range badAccesses {
			l := links[i]
			l.t.Run(b.name, func(t *testing.T) {
				l.t = t
				n := l.natives[0]
				if c := l.want(l.ours, 1); c.err != core.ErrAccess {
					l.t.Errorf("completed with %v: %s; want %v", c.err, c.detail, core.ErrAccess)
				}
				l.check(n, "mem", 64, 512, 77)
				for range 3 {
					l.flush(n, l.ours)
					l.flush(l.ours, n)
					l.message(l.ours, n, op{call: "tsend"}, 20000, false)
					l.message(n, l.ours, op{call: "tsend"}, 20000, false)
				}
			})
		}
	})
}

// TestRXDBadKeyOfNative has native name memory of ours that it may not access. The memory is not touched. Other peers
// can send to us while native tries again.
func TestRXDBadKeyOfNative(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		for _, b := range badAccesses {
			t.Run(b.name, func(t *testing.T) {
				l := s.link(t, 2)
				bystander, n := l.natives[0], l.natives[1]
				l.join(n, true, nil, nil)
				l.join(bystander, true, nil, nil)
				l.fill(l.ours, "mem", 64, 512, 77)
				b.op.ctx, b.op.length = l.context(), 512
				l.post(n, b.op)
				for i := range 10 {
					l.message(l.ours, bystander, op{call: "tsend"}, 1000*i, false)
					l.message(bystander, l.ours, op{call: "send"}, 1000*i, false)
				}
				if len(n.done) != 0 {
					l.t.Errorf("completed: %+v", n.done)
				}
				l.check(l.ours, "mem", 64, 512, 77)
			})
		}
	})
}

// TestRXDRestart starts another native process at the address of one that has ended. The new one sends first.
// TestRXDSilentRestart has our end send first.
func TestRXDRestart(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l, n := rxdLink(t, s)
		for i := range 5 {
			l.message(l.ours, n, op{call: "tsend"}, 3000*i, false)
			l.message(n, l.ours, op{call: "tsend"}, 3000*i, false)
		}
		port := l.tell(n, "name")
		n.HangUp()
		n = startPeer(t, s.program, s.provider, s.kindName(), port)
		l.natives[0] = n
		name, err := l.ours.name()
		l.must(err)
		l.tell(n, "insert %s", name)
		for i := range 5 {
			l.message(n, l.ours, op{call: "tsend"}, 3000*i, false)
			l.message(l.ours, n, op{call: "tsend"}, 3000*i, false)
		}
	})
}

// TestRXDOursRestarts opens another endpoint of ours at the address of one that has closed. Native continues with the
// numbers of the old one, in both directions.
func TestRXDOursRestarts(t *testing.T) { // not parallel: another test could get the port
	eachRXD(t, func(t *testing.T, s nativeStack) {
		for _, old := range []string{"sent", "received", "both"} {
			t.Run(old, func(t *testing.T) {
				l, n := rxdLink(t, s)
				o := l.ours
				for i := range 5 {
					if old != "received" {
						l.message(o, n, op{call: "tsend"}, 3000*i, false)
					}
					if old != "sent" {
						l.message(n, o, op{call: "tsend"}, 3000*i, false)
					}
				}
				port, err := o.name()
				l.must(err)
				l.must(o.ep.Close())
				o.opened = slices.DeleteFunc(o.opened, func(x core.Object) bool { return x == core.Object(o.ep) })
				info := o.info.Dup()
				info.SrcAddr = local(port)
				l.must(o.openEP(info))
				for i := range 5 {
					l.message(o, n, op{call: "tsend"}, 3000*i, false)
					l.message(n, o, op{call: "tsend"}, 3000*i, false)
				}
			})
		}
	})
}

// TestRXDSilentRestart starts another native process at the address of one that has ended. Our end sends first. Native
// crashes on an index that its predecessor gave out (also when both ends are native), so our end must repeat the
// handshake.
func TestRXDSilentRestart(t *testing.T) {
	t.Parallel()
	eachRXD(t, func(t *testing.T, s nativeStack) {
		l, n := rxdLink(t, s)
		l.message(l.ours, n, op{call: "tsend"}, 3000, false)
		l.message(n, l.ours, op{call: "tsend"}, 3000, false)
		port := l.tell(n, "name")
		n.HangUp()
		n = startPeer(t, s.program, s.provider, s.kindName(), port)
		l.natives[0] = n
		name, err := l.ours.name()
		l.must(err)
		l.tell(n, "insert %s", name)
		// Ours asks a peer anew after it has heard nothing of it for a second.
		time.Sleep(1100 * time.Millisecond)
		l.post(l.ours, op{call: "tsend", ctx: l.context(), length: 10}) // reveals the restart, and is lost
		for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
			l.must(l.progress())
		}
		l.message(l.ours, n, op{call: "tsend"}, 3000, false)
		l.message(n, l.ours, op{call: "tsend"}, 3000, false)
	})
}
