package progress

// This file has fake sources over real sockets.

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gofabric/internal/batch"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/test/wait"
)

// bound is the longest time that an expected event may take, on a machine that is busy with other work.
const bound = wait.Limit

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

func newEngine(t testing.TB, auto bool) *Engine {
	t.Helper()
	e, err := New(auto)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// probe is a Source that counts its calls and drains its socket.
type probe struct {
	t       testing.TB
	e       *Engine
	fd, far netx.FD
	h       *Handle

	ready, polls, bytes int
	buf                 [64]byte
	got                 chan int // sent to, if there is room, when bytes came
	expired             chan mono.Time
	onReady             func()
	lost                error
	keep                bool // leave received bytes in the socket
	direct              bool // the last argument of Direct
}

// newProbe registers a source. The test's cleanup removes it before it closes the engine.
func newProbe(t testing.TB, e *Engine, stream bool) *probe {
	t.Helper()
	p := &probe{t: t, e: e, got: make(chan int, 64), expired: make(chan mono.Time, 64)}
	p.fd, p.far = pair(t)
	e.Lock()
	h, err := e.Register(p.fd, p, stream, netx.In)
	e.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	p.h = h
	t.Cleanup(p.close)
	return p
}

func (p *probe) Direct(on bool) error {
	p.direct = on
	return nil
}

func (p *probe) close() {
	p.e.Lock()
	defer p.e.Unlock()
	p.remove()
	if p.far != netx.NoFD {
		netx.Close(p.far)
		p.far = netx.NoFD
	}
}

func (p *probe) remove() {
	if p.fd != netx.NoFD {
		p.h.Remove()
		netx.Close(p.fd)
		p.fd = netx.NoFD
	}
}

func (p *probe) Ready(in, out bool) {
	p.ready++
	if p.onReady != nil {
		p.onReady()
	}
	if in && !p.keep {
		p.drain()
	}
}

func (p *probe) Poll() {
	p.polls++
	p.drain()
}

func (p *probe) drain() {
	for p.fd != netx.NoFD {
		n, errno := netx.Recv(p.fd, p.buf[:])
		if errno != 0 || n == 0 {
			return
		}
		p.bytes += n
		select {
		case p.got <- n:
		default:
		}
	}
}

func (p *probe) Expired(now mono.Time) { p.expired <- now }

func (p *probe) Lost(err error) { p.lost = err }

// write makes the source readable.
func (p *probe) write(n int) {
	p.t.Helper()
	b := [64]byte{}
	if k, errno := netx.Send(p.far, b[:n], false); errno != 0 || k != n {
		p.t.Fatalf("send: %d, %v", k, errno)
	}
}

// wait waits until bytes came, and makes no passes.
func (p *probe) wait(what string) {
	p.t.Helper()
	select {
	case <-p.got:
	case <-time.After(bound):
		p.t.Fatalf("%s: nothing was received", what)
	}
}

// flusher is a batch.Flusher that reports its flushes.
type flusher struct {
	b    batch.Stream
	n    int
	done chan struct{}
}

func newFlusher() *flusher { return &flusher{done: make(chan struct{}, 1)} }

func (f *flusher) Flush() {
	f.n++
	f.b.Flushed()
	select {
	case f.done <- struct{}{}:
	default:
	}
}

// wait asks for a flush of f soon. Locked.
func (f *flusher) wait(e *Engine) { f.b.Answer(&e.batch, f) }
