// The steady state allocates nothing.

package session

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// countingSink counts completions without an allocation.
type countingSink struct {
	*node
	n int
}

func (q *countingSink) Completed(*xengine.Completion) { q.n++ }
func (q *countingSink) Sent(*xengine.Send)            { q.n++ }
func (q *countingSink) Received(*xengine.RxOp)        { q.n++ }
func (q *countingSink) Sink(*Peer) xengine.Sink       { return q }

// direct moves datagrams between two engines without a network.
type direct struct {
	n    *world
	a, b *node
	buf  []byte
	out  Out
}

func (c *direct) move(from, to *node) (moved bool) {
	for from.e.Poll(c.n.Now, &c.out) {
		c.buf = append(c.buf[:0], c.out.Head...)
		for _, p := range c.out.Parts {
			c.buf = append(c.buf, p...)
		}
		c.n.Now += 1000
		to.e.Receive(c.n.Now, from.addr, c.buf)
		moved = true
	}
	return moved
}

func (c *direct) settle() {
	for moved := true; moved; {
		x := c.move(c.a, c.b)
		y := c.move(c.b, c.a)
		moved = x || y
	}
	c.a.e.PassDone(c.n.Now)
	c.b.e.PassDone(c.n.Now)
	c.move(c.a, c.b)
	c.move(c.b, c.a)
	c.a.e.Advance(c.n.Now)
	c.b.e.Advance(c.n.Now)
}

// newDirect joins two connected nodes.
func newDirect(t testing.TB, change func(*Config)) (c *direct, a, b *countingSink) {
	n := newWorld(t, 1)
	x, y := n.add(1, change), n.add(2, change)
	a, b = &countingSink{node: x}, &countingSink{node: y}
	x.rx.Sink, y.rx.Sink = a, b
	x.e.hooks, y.e.hooks = a, b
	c = &direct{n: n, a: x, b: y, buf: make([]byte, 0, 1<<16), out: Out{Head: make([]byte, 0, HeadMax), Parts: make([][]byte, 0, 8)}}
	x.e.Peer(y.addr, 7, n.Now)
	c.settle()
	if !x.e.Lookup(y.addr).Up() {
		t.Fatal("the nodes are not connected")
	}
	return c, a, b
}

// TestNoAllocs checks that a message in the steady state allocates nothing.
func TestNoAllocs(t *testing.T) {
	for name, change := range map[string]func(*Config){"native": nativeOnly, "extended": nil} {
		for _, size := range []int{64, 30_000} {
			c, a, b := newDirect(t, change)
			p := a.e.Lookup(b.addr)
			payload, buf := pattern(size, 1), make([]byte, size)
			s := msg(1, payload)
			w := rma(xengine.KindWrite, 1, payload, 0)
			r := rma(xengine.KindRead, 1, buf, 0)
			round := func() {
				for range 3 {
					b.recv(buf, 1)
					for _, o := range []*xengine.Send{s, w, r} {
						if err := p.Conn().Submit(o); err != nil {
							t.Fatal(err)
						}
					}
					a.e.Posted(p)
				}
				c.settle()
			}
			for range 50 {
				round()
			}
			a.n, b.n = 0, 0
			if n := testing.AllocsPerRun(100, round); n != 0 {
				t.Errorf("%s, %d bytes: %v allocations", name, size, n)
			}
			if a.n != 101*9 {
				t.Errorf("%s, %d bytes: %d completions", name, size, a.n)
			}
		}
	}
}

// BenchmarkMessage sends 64 bytes and acknowledges them: the work of both ends, and two copies.
func BenchmarkMessage(b *testing.B) {
	for name, change := range map[string]func(*Config){"native": nativeOnly, "extended": nil} {
		for _, size := range []int{64, 64 << 10} {
			b.Run(name+map[int]string{64: "/64", 64 << 10: "/64k"}[size], func(b *testing.B) {
				c, x, y := newDirect(b, change)
				p := x.e.Lookup(y.addr)
				buf := make([]byte, size)
				s := msg(1, pattern(size, 1))
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					y.recv(buf, 1)
					if err := p.Conn().Submit(s); err != nil {
						b.Fatal(err)
					}
					x.e.Posted(p)
					c.settle()
				}
			})
		}
	}
}

// BenchmarkPingPong sends 64 bytes there and back, each with the acknowledgement of the one before: the work of an
// end between a message and its answer, and two copies.
func BenchmarkPingPong(b *testing.B) {
	c, x, y := newDirect(b, nil)
	buf := make([]byte, 64)
	s := msg(1, pattern(64, 1))
	s.Inject = true
	toY, toX := x.e.Lookup(y.addr), y.e.Lookup(x.addr)
	hop := func(from, to *countingSink, p *Peer) {
		to.recv(buf, 1)
		if err := p.Conn().Submit(s); err != nil {
			b.Fatal(err)
		}
		from.e.Posted(p)
		c.move(from.node, to.node)
		to.e.Poll(c.n.Now, &c.out)
		to.e.Deadline()
	}
	b.ReportAllocs()
	for b.Loop() {
		hop(x, y, toY)
		hop(y, x, toX)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/hop")
}
