package interop

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/wait"
)

// This file connects an endpoint of ours with native peers, so that each test is written once for both roles.

const (
	waitLimit = wait.Limit // of a single wait
	pollSpin  = 200 * time.Microsecond
	pollPause = 20 * time.Microsecond
)

// pause waits between two checks of a wait that began at start. A sleep takes about a millisecond or more, so at first
// it does not sleep.
func pause(start time.Time) {
	if time.Since(start) < pollSpin {
		runtime.Gosched()
		return
	}
	time.Sleep(pollPause) // a native process has no other sign that it has made progress
}

// The keys of mem: for all of it, for its second half, and for all of it read-only.
const (
	keyAll      = 7
	keyHalf     = 8
	keyReadOnly = 9
)

// op is a transfer: a libfabric call without "fi_", and its arguments. Sends and writes take the data from tx, other
// operations put it into rx.
type op struct {
	call   string
	ctx    uint64
	off    int
	length int
	parts  int // of the local iov; 0 means 1
	flags  core.OpFlags
	data   uint64
	tag    uint64
	segs   []core.RMAIov
	atom   atom // of atomics, whose lengths are numbers of operands
}

func (p op) receives() bool { return strings.Contains(p.call, "recv") }
func (p op) reads() bool    { return strings.HasPrefix(p.call, "read") }
func (p op) injects() bool  { return strings.Contains(p.call, "inject") }
func (p op) tagged() bool   { return strings.HasPrefix(p.call, "t") }
func (p op) hasData() bool {
	return strings.HasSuffix(p.call, "data") || strings.HasSuffix(p.call, "msg") && p.flags&core.OpRemoteCQData != 0
}

// completion is a completion at either end. err is 0 for success.
type completion struct {
	ctx    uint64
	flags  core.CompFlags
	length int
	data   uint64
	tag    uint64
	err    core.Errno
	detail string
}

// event is "connreq", "connected", "shutdown" or "error" with its errno.
type event struct {
	what   string
	err    core.Errno
	data   []byte
	detail string
}

// inbox holds what an end has reported and no test has taken yet.
type inbox struct {
	done   []completion
	events []event
}

func (b *inbox) in() *inbox { return b }

// end is our end or a native one.
type end interface {
	progress() error
	in() *inbox
}

// link is our endpoint and the native ones.
type link struct {
	t       *testing.T // of the running subtest
	ours    *ours
	natives []*native
	net     bool   // they use 1.17's provider net, which buffers no messages
	inject  int    // length of the longest message that both ends inject
	sizesOf []int  // of the transfers
	turn    int    // index of the next of those sizes
	ctx     uint64 // the latest context
}

func (l *link) context() uint64 { l.ctx++; return l.ctx }

// sub runs a subtest over the same link, and reports whether it succeeded.
func (l *link) sub(name string, f func()) bool {
	t := l.t
	defer func() { l.t = t }()
	return t.Run(name, func(t *testing.T) {
		l.t = t
		f()
	})
}

func (l *link) progress() error {
	err := l.ours.progress()
	for _, n := range l.natives {
		err = errors.Join(err, n.progress())
	}
	return err
}

func (l *link) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("%v\nours: %+v\nnative: %+v", err, l.ours.inbox, l.natives[0].inbox)
	}
}

// tell sends a peer a command that must succeed.
func (l *link) tell(n *native, format string, args ...any) string {
	l.t.Helper()
	// call makes progress at this peer; the other peers can wait.
	answer, err := n.call(l.ours.progress, format, args...)
	l.must(err)
	return answer
}

// post posts a transfer at an end.
func (l *link) post(e end, p op) {
	l.t.Helper()
	p.parts = max(p.parts, 1)
	if n, ok := e.(*native); ok {
		segs := ""
		for _, s := range p.segs {
			segs += fmt.Sprintf(" %d:%d:%d", s.Addr, s.Len, s.Key)
		}
		if p.atom.size > 0 {
			p.data, p.tag = uint64(p.atom.dt)<<8|uint64(p.atom.op), uint64(p.atom.size)
		}
		l.tell(n, "post %s %d %d %d %d %d %d %d%s", p.call, p.ctx, p.off, p.length, p.parts,
			uint64(p.flags), p.data, p.tag, segs)
		return
	}
	var err error
	l.until("posting "+p.call, func() bool { err = l.ours.try(p); return !errors.Is(err, core.ErrAgain) })
	if err != nil {
		l.must(fmt.Errorf("%s: %w", p.call, err))
	}
}

func (l *link) until(what string, cond func() bool) {
	l.t.Helper()
	patience := newPatience()
	for start := time.Now(); !cond(); pause(start) {
		if patience.ended() {
			l.must(fmt.Errorf("%s: not within %v%s", what, waitLimit, queues()))
		}
		l.must(l.progress())
	}
}

// want waits for the completion of ctx at an end.
func (l *link) want(e end, ctx uint64) (c completion) {
	l.t.Helper()
	l.until(fmt.Sprintf("completion of %d at %T", ctx, e), func() bool {
		b := e.in()
		for i := range b.done {
			if b.done[i].ctx == ctx {
				c = b.done[i]
				b.done = append(b.done[:i], b.done[i+1:]...)
				return true
			}
		}
		return false
	})
	return c
}

// good is want for an operation that must succeed.
func (l *link) good(e end, ctx uint64) completion {
	l.t.Helper()
	c := l.want(e, ctx)
	if c.err != 0 {
		l.t.Fatalf("%T: operation %d failed: %v: %s", e, ctx, c.err, c.detail)
	}
	return c
}

// event waits for the next event at an end, which must be what.
func (l *link) event(e end, what string) (ev event) {
	l.t.Helper()
	l.until(fmt.Sprintf("event %s at %T", what, e), func() bool { return len(e.in().events) > 0 })
	ev, e.in().events = e.in().events[0], e.in().events[1:]
	if ev.what != what {
		l.t.Fatalf("%T: event %+v, want %s", e, ev, what)
	}
	return ev
}

// fill and check work on the buffers of an end.
func (l *link) fill(e end, buf string, off, n int, seed uint64) {
	l.t.Helper()
	if p, ok := e.(*native); ok {
		l.tell(p, "fill %s %d %d %d", buf, off, n, seed)
		return
	}
	l.must(l.ours.fill(buf, off, n, seed))
}

func (l *link) check(e end, buf string, off, n int, seed uint64) {
	l.t.Helper()
	if p, ok := e.(*native); ok {
		l.tell(p, "check %s %d %d %d", buf, off, n, seed)
		return
	}
	l.must(l.ours.check(buf, off, n, seed))
}

// splitIOV splits b as the peer does.
func splitIOV(b []byte, parts int) [][]byte {
	iov := make([][]byte, 0, parts)
	step := len(b) / parts
	for range parts - 1 {
		iov = append(iov, b[:step])
		b = b[step:]
	}
	return append(iov, b)
}
