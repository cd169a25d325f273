package endpoint

import (
	"errors"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// Triggered operations (fi_trigger(3)): the msg variants with the flag OpTrigger. A copy of the endpoint's
// Transmitter checks and prepares the operation as usual, but with a work as its Router. That Router stores the
// operation instead of returning a connection.

// errTaken is returned by a transmit call whose operation a work has stored.
var errTaken = errors.New("taken over")

// transmitter and receiver return the parts of a provider's endpoint, or of an alias, through embedding.
func (t *Transmitter) transmitter() *Transmitter { return t }
func (r *Receiver) receiver() *Receiver          { return r }

// Route implements Router for the transmitter that prepares w. The operation is complete and checked. Route stores
// and queues it. Locked.
func (w *work) Route(dest core.FIAddr) (*engine.Conn, error) {
	if r, closed := w.router.(closedRouter); closed {
		return r.Route(dest)
	}
	w.dest, w.send = dest, w.q.d.send
	clear(w.send.IOV[w.send.NIOV:]) // references of earlier operations
	if a := w.send.Atomic; a != nil {
		if w.atomic == nil {
			w.atomic = &engine.Atomic{}
		}
		*w.atomic = *a
		w.send.Atomic = w.atomic
	}
	if w.deferred {
		w.send.Owner = w
	}
	w.arm()
	return nil, errTaken
}

// Posted implements Router. It is never called, since Route always fails.
func (w *work) Posted(*engine.Conn, bool) *batch.Stream { return nil }

// prepare returns a copy of t that has w as its router. Not locked.
func (w *work) prepare(t *Transmitter) *Transmitter {
	t.e.prog.Lock() // for lastRoute
	w.tx = *t
	t.e.prog.Unlock()
	w.kind, w.e, w.router = workSend, t.e, t.r
	w.tx.r, w.tx.lastRoute = w, lastRoute{}
	return &w.tx
}

// taken converts the result of a call through w to the result for the caller. w is nil if the operation did not
// wait.
func (w *work) taken(err error) error {
	if w == nil || err == errTaken {
		if w != nil {
			return nil
		}
		return err
	}
	w.q.d.prog.Lock()
	w.q.recycle(w)
	w.q.d.prog.Unlock()
	return err
}

// triggered returns work for an operation with the flag OpTrigger. It returns nil if the condition is met already
// and the operation can be posted at once.
func (q *workQueue) triggered(caps core.Caps, op *core.Op) (*work, error) {
	tc := &op.Trigger
	switch {
	case caps&core.CapTrigger == 0:
		return nil, core.ErrOpNotSupp // not among this endpoint's capabilities (fi_getinfo(3), FI_TRIGGER)
	case op.Flags&core.OpInject != 0: // an inject's buffer is the caller's again on return, before the operation starts
		return nil, core.ErrInval
	case tc.Event != core.TriggerThreshold:
		return nil, core.ErrNoSys
	}
	c := q.d.counterOf(tc.Cntr)
	if c == nil {
		return nil, core.ErrInval
	}
	q.d.prog.Lock()
	defer q.d.prog.Unlock()
	if len(q.ready) == 0 && c.reached(tc.Threshold) {
		return nil, nil
	}
	w := q.get()
	w.cntr, w.threshold = c, tc.Threshold
	return w, nil
}

// counterOf returns c as a counter of d. It returns nil if c is nil or belongs to another domain.
func (d *Domain) counterOf(c core.CounterDriver) *Counter {
	if cn, ok := c.(*Counter); ok && cn.d == d {
		return cn
	}
	return nil
}

// post implements deferrer.
func (q *workQueue) post(p poster, op core.Op) error {
	w, err := q.triggered(p.caps(), &op)
	if err != nil {
		return err
	}
	op.Flags &^= core.OpTrigger
	// Calls through poster would move op to the heap.
	r, ok := p.(*Receiver)
	switch {
	case ok && w == nil:
		return r.post(&op)
	case ok:
		return w.taken(w.takeRecv(r, &op))
	case w == nil:
		return p.(*Transmitter).post(&op)
	}
	return w.taken(w.prepare(p.(*Transmitter)).post(&op))
}

// noWorkFlags are receive flags that concern messages that have arrived already. A deferred receive cannot have
// them.
const noWorkFlags = core.OpPeek | core.OpClaim | core.OpDiscard

// takeRecv makes w a receive of r. It returns errTaken on success.
func (w *work) takeRecv(r *Receiver, op *core.Op) error {
	tagged, flags, may := op.Call.Tagged(), op.Flags, recvMsgOK
	if tagged {
		may &^= core.OpMultiRecv
	}
	switch {
	case len(op.IOV) > engine.MaxIOV, flags&core.OpMultiRecv != 0 && len(op.IOV) != 1:
		return core.ErrInval
	case flags&noWorkFlags != 0, tagged && r.noTagged:
		return core.ErrNoSys
	case flags&^may != 0, r.noMulti && flags&core.OpMultiRecv != 0:
		return core.ErrBadFlags
	}
	if w.kind = workMsg; tagged {
		w.kind = workTagged
	}
	w.recv = recvArgs{niov: len(op.IOV), src: r.source(op.Addr), tag: op.Tag, ignore: op.Ignore, ctx: op.Ctx, flags: flags}
	copy(w.recv.iov[:], op.IOV)
	return w.armRecv(r)
}

// armRecv queues w with a copy of r. It returns errTaken on success.
func (w *work) armRecv(r *Receiver) error {
	r.dom.prog.Lock()
	defer r.dom.prog.Unlock()
	if err := r.ready(); err != nil {
		return err
	}
	w.rx, w.e = *r, r.e
	w.arm()
	return errTaken
}
