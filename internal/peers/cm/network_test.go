package cm

// This file simulates a network of connections. Data on one connection arrives in order after a delay. Connections do
// not wait for each other. As with TCP, data for a closed end resets the connection, and data on its way from there
// is lost.

// kind is the kind of a frame.
type kind uint8

const (
	kRequest kind = iota
	kAnswer
	kReject
	kData
	kAck
	kBye
	kStay
	kEnd   // of the stream
	kReset // of the connection
)

func (k kind) String() string {
	return [...]string{"request", "answer", "reject", "data", "ack", "bye", "stay", "end", "reset"}[k]
}

type frame struct {
	kind  kind
	req   Request
	id    uint32
	words bool
	op    *op
}

// end is one end of a connection.
type end struct {
	w        *world
	n        *node // nil until accepted by the listener
	l        *link // the link of this end; nil when it has closed
	peer     *end
	inbox    []frame // arrived, not read yet
	arrives  int64   // arrival time of the last frame for this end
	closed   bool    // nothing more is received
	shut     bool    // our stream has ended
	cut      bool    // frames on their way to this end are lost
	silent   bool    // frames are lost in both directions
	injected bool    // a fault was injected
	gone     bool    // the application has aborted it
}

// send makes f arrive at the other end.
func (e *end) send(f frame) {
	if e.silent || e.peer == nil || e.shut {
		return
	}
	e.deliver(f)
	if f.kind == kEnd || f.kind == kReset {
		e.shut = true
	}
}

func (e *end) deliver(f frame) {
	w, to := e.w, e.peer
	at := max(w.s.Now+w.delay(), to.arrives)
	if f.kind == kRequest {
		at += w.straggle()
	}
	to.arrives = at
	w.s.After(at-w.s.Now, func() { to.arrived(f) })
}

func (e *end) arrived(f frame) {
	w := e.w
	switch {
	case e.silent || e.cut:
	case e.n == nil || e.closed:
		if f.kind == kReset || f.kind == kEnd {
			return
		}
		// The system answers for a closed end: with a reset, after which nothing follows.
		if p := e.peer; !p.closed && !p.cut {
			w.s.After(w.delay(), func() { p.reset() })
			p.cut = true
			e.injected = e.injected || e.gone
		}
	default:
		e.inbox = append(e.inbox, f)
		if len(e.inbox) == 1 {
			w.s.After(w.s.Int64N(w.passes), func() { e.read() })
		}
	}
}

// reset reports a reset to the end. Frames that it has not read are lost.
func (e *end) reset() {
	if e.closed || e.silent || e.n == nil {
		return
	}
	e.cut = true
	e.inbox = append(e.inbox[:0], frame{kind: kReset})
	e.read()
}

// read is a pass: it reads the frames that have arrived.
func (e *end) read() {
	for len(e.inbox) > 0 && !e.closed {
		f := e.inbox[0]
		e.inbox = e.inbox[1:]
		if e.l != nil {
			e.l.frame(f)
		}
	}
}

// close closes this end. The other end learns of it after the frames that are on their way.
func (e *end) close() {
	if e.closed {
		return
	}
	e.send(frame{kind: kEnd})
	e.closed, e.inbox = true, nil
}

// open connects n to the listener at the address of to. It calls up when the connection is established, and failed
// when there is no listener.
func (w *world) open(n *node, to int, up func(), failed func()) *end {
	a := &end{w: w, n: n}
	w.syn(a, to, second, up, failed)
	return a
}

// syn is the first packet. It is sent again after a pause.
func (w *world) syn(a *end, to int, pause int64, up func(), failed func()) {
	n := a.n
	w.s.After(w.delay()+w.straggle(), func() {
		t := w.nodes[to]
		if a.closed || !n.alive {
			return
		}
		if w.partitioned(n.at, to) {
			w.s.After(pause, func() { w.syn(a, to, 2*pause, up, failed) })
			return
		}
		if !t.alive {
			w.s.After(w.delay(), failed)
			return
		}
		b := &end{w: w, n: t, peer: a}
		a.peer = b
		w.ends = append(w.ends, a)
		t.accepted(b)
		w.s.After(w.delay(), func() {
			if !a.closed && !a.silent && n.alive {
				up()
			}
		})
	})
}
