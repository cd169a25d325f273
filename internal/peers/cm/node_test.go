package cm

import (
	"fmt"
	"net/netip"

	"gofabric/internal/mono"
)

// op is an operation.
type op struct {
	num       uint64
	from, to  *node // incarnations of the nodes
	posted    int64
	acked     bool // complete when the peer has answered; otherwise when it was sent
	aux       bool
	sent      *end
	delivered bool
	complete  bool
	failed    bool
	canceled  bool // its application has aborted the connection
}

// link is the driver's part of a Conn: the engine.Conn and its transport.
type link struct {
	n           *node
	c           *Conn
	e           *end // nil: no transport
	up          bool
	waiting     []*op
	outstanding []*op // sent, and not answered yet
	moved       uint64
	attempt     int
	dials       int
}

// node is one incarnation of an endpoint.
type node struct {
	w       *world
	at      int
	life    uint32
	alive   bool
	words   bool
	m       *Machine
	denies  int64 // it refuses all requests until then
	running bool
	armed   mono.Time
	aux     map[int][]*link // by peer
	last    map[int]uint64  // number of the last operation from each incarnation, for the order
	dials   int
}

func addrOf(at int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(at / 3)}), uint16(1000+at))
}

func atOf(a netip.AddrPort) int { return int(a.Port()) - 1000 }

func (n *node) now() mono.Time { return mono.Time(n.w.s.Now) }

func (n *node) link(c *Conn) *link {
	l, _ := c.User.(*link)
	if l == nil {
		l = &link{n: n, c: c}
		c.User = l
	}
	return l
}

// post posts an operation of the application.
func (n *node) post(o *op) {
	n.link(n.m.Want(addrOf(o.to.at), n.now()))
	n.run()
	l := n.link(n.m.At(addrOf(o.to.at))) // the connection that takes it
	if o.aux && l.up && n.w.cfg.Aux > 0 {
		i := n.w.s.IntN(n.w.cfg.Aux)
		for len(n.aux[o.to.at]) <= i {
			n.aux[o.to.at] = append(n.aux[o.to.at], nil)
		}
		if x := n.aux[o.to.at][i]; x != nil && x.up && x.c.State() == Up {
			l = x
		} else {
			n.m.WantAux(l.c, uint8(i+1), n.now())
			n.run()
		}
	}
	l.take(o)
}

// take transmits o, or queues it until the connection is up.
func (l *link) take(o *op) {
	if l.n.w.s.Now-o.posted > 2*int64(l.n.w.cfg.Patience)+handshake+second {
		l.n.w.violate("operation %d has waited for %d ms", o.num, (l.n.w.s.Now-o.posted)/ms)
	}
	if !l.up {
		l.waiting = append(l.waiting, o)
		return
	}
	o.sent = l.e
	l.moved++
	if o.acked {
		l.outstanding = append(l.outstanding, o)
	} else {
		o.complete = true
	}
	l.e.send(frame{kind: kData, op: o})
}

func (l *link) flush() {
	waiting := l.waiting
	l.waiting = nil
	for _, o := range waiting {
		l.take(o)
	}
}

func (o *op) fail(why string) {
	if o.complete || o.failed {
		o.from.w.violate("operation %d ends twice", o.num)
	}
	o.failed = true
	if o.sent == nil && o.from.w.s.Now-o.posted > 2*int64(o.from.w.cfg.Patience)+handshake+second {
		o.from.w.violate("operation %d has waited for %d ms", o.num, (o.from.w.s.Now-o.posted)/ms)
	}
	if !o.canceled {
		o.from.w.excuse(o, "failed: "+why)
	}
}

// end ends the connection. Its operations fail.
func (l *link) end(why string) {
	if l.e != nil {
		l.e.l = nil
		l.e.close()
		l.e = nil
	}
	l.up = false
	for _, o := range append(l.waiting, l.outstanding...) {
		o.fail(why)
	}
	l.waiting, l.outstanding = nil, nil
}

// disconnect aborts the connection to a peer, if no frame of ours is on its way.
func (n *node) disconnect(to int) {
	c := n.m.At(addrOf(to))
	if c == nil || c.State() != Up {
		return
	}
	l := n.link(c)
	if !l.up || l.e == nil || l.e.peer.arrives > n.w.s.Now {
		return
	}
	n.w.s.Trace(n.at, "disconnect", uint64(to), 0)
	n.w.spoil(to, n.at, 2*(n.w.f.delayMax+n.w.passes)+2*second)
	for _, x := range append(n.aux[to], l) {
		if x == nil || x.c.State() == Closed {
			continue
		}
		if x.e != nil {
			x.e.gone = true
			x.e.injected = x != l
		}
		for _, o := range append(x.outstanding, x.waiting...) {
			o.canceled = true
		}
	}
	n.m.Disconnect(c, n.now())
	n.run()
}

// accepted is called by the listener.
func (n *node) accepted(e *end) {
	c := n.m.Accepted(nil)
	l := n.link(c)
	l.e, e.l = e, l
	l.handshake()
	n.run()
}

// handshake ends an attempt after its deadline.
func (l *link) handshake() {
	l.attempt++
	attempt := l.attempt
	l.n.w.s.After(handshake, func() {
		if s := l.c.State(); l.attempt == attempt && (s == Accepted || s == Dialing) && l.n.alive {
			l.failed("handshake", false)
		}
	})
}

// failed is engine.Sink.Failed. Operations in progress fail. Those that wait on a connection that was never up may
// be adopted by another one.
func (l *link) failed(why string, orderly bool) {
	n := l.n
	l.end(why)
	n.m.Failed(l.c, orderly, n.now())
	n.run()
}

// frame handles a received frame.
func (l *link) frame(f frame) {
	n, c := l.n, l.c
	if !n.alive {
		return
	}
	n.w.s.Trace(n.at, "got "+f.kind.String(), uint64(c.State()), 0)
	switch f.kind {
	case kRequest:
		if n.w.s.Now < n.denies {
			n.m.Invalid(c)
			break
		}
		n.m.Requested(c, f.req, n.now())
	case kAnswer:
		if c.State() == Dialing {
			l.up = true
			n.m.Connected(c, f.id, f.words && n.words, n.now())
			l.flush()
		}
	case kReject:
		if len(l.waiting) == 0 || c.Index() > 0 {
			l.failed("refused", false)
			return
		}
		l.e.l = nil
		l.e.close()
		l.e = nil
		n.m.Refused(c, n.now())
	case kData:
		l.moved++
		n.w.delivered(n, f.op)
		if f.op.acked {
			l.e.send(frame{kind: kAck, op: f.op})
		}
	case kAck:
		for i, o := range l.outstanding {
			if o == f.op {
				l.outstanding = append(l.outstanding[:i:i], l.outstanding[i+1:]...)
				o.complete = true
				break
			}
		}
	case kBye:
		n.m.Bye(c, n.now())
	case kStay:
		n.m.Stay(c, n.now())
	case kEnd:
		l.failed("closed", true)
		return
	case kReset:
		l.failed("reset", false)
		return
	}
	n.run()
}

// run corresponds to Set.run.
func (n *node) run() {
	if n.running {
		return
	}
	n.running = true
	for a, ok := n.m.Next(); ok; a, ok = n.m.Next() {
		n.execute(a)
	}
	n.running = false
	n.w.checkDeadlines(n)
	if at := n.m.Deadline(); at != n.armed && at != mono.None {
		n.armed = at
		n.w.s.After(max(int64(at)-n.w.s.Now, 0), func() {
			if n.alive && n.armed == at {
				n.armed = mono.None
				n.m.Tick(n.now())
				n.run()
			}
		})
	}
}

func (n *node) execute(a Action) {
	l := n.link(a.Conn)
	n.w.s.Trace(n.at, a.Kind.String(), uint64(a.Conn.Addr().Port()), uint64(a.Conn.Index()))
	switch a.Kind {
	case Dial:
		n.dial(l)
	case Accept:
		l.up = true
		n.keepAux(l)
		l.e.send(frame{kind: kAnswer, id: n.life, words: n.words})
		n.m.Connected(a.Conn, 0, n.words && n.w.nodes[atOf(a.Conn.Addr())].words, n.now())
		l.flush()
	case Refuse:
		l.e.send(frame{kind: kReject})
		l.end("refused")
	case Receive:
		if l.e != nil {
			l.e.read()
		}
	case Adopt, Return:
		l.up = l.up || a.Kind == Return && l.e != nil
		from := n.link(a.Other)
		for _, o := range from.waiting {
			l.take(o)
		}
		from.waiting = nil
	case Leave:
		a.Other.User = &link{n: n, c: a.Other}
		if l.e == nil {
			return
		}
		l.up = false
		if a.Conn.words {
			l.e.send(frame{kind: kBye})
		} else {
			l.e.send(frame{kind: kEnd})
		}
	case Part, Stay:
		if l.e != nil {
			l.e.send(frame{kind: map[Kind]kind{Part: kBye, Stay: kStay}[a.Kind]})
		}
	case Drain:
		l.up = false
		l.e.send(frame{kind: kEnd})
	case Drop:
		l.end(fmt.Sprint("dropped ", a.Why))
	}
}

// keepAux enters an auxiliary connection into the table.
func (n *node) keepAux(l *link) {
	i, at := int(l.c.Index()), atOf(l.c.Addr())
	if i == 0 {
		return
	}
	for len(n.aux[at]) < i {
		n.aux[at] = append(n.aux[at], nil)
	}
	n.aux[at][i-1] = l
}

func (n *node) dial(l *link) {
	w, c := n.w, l.c
	to := atOf(c.Addr())
	n.dials++
	if l.dials++; c.Index() == 0 && l.dials > 8+int(w.cfg.Patience/retryMax) {
		w.violate("node %d has dialed %d %d times", n.at, to, l.dials)
	}
	n.keepAux(l)
	l.handshake()
	attempt := l.attempt
	l.e = w.open(n, to, func() {
		l.e.send(frame{kind: kRequest, req: Request{Addr: addrOf(n.at), ID: n.life, Index: c.Index()}})
	}, func() {
		if l.attempt == attempt && c.State() == Dialing && n.alive {
			l.failed("no listener", false)
		}
	})
	l.e.l = l
}

// Idle, Broken, Wanted and Moved implement Probe.
func (n *node) Idle(c *Conn) bool {
	l := n.link(c)
	return l.up && l.e != nil && len(l.waiting) == 0 && len(l.outstanding) == 0
}
func (n *node) Broken(*Conn) bool    { return false }
func (n *node) Wanted(c *Conn) bool  { return len(n.link(c).waiting) > 0 }
func (n *node) Moved(c *Conn) uint64 { return n.link(c).moved }
