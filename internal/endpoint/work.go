package endpoint

import (
	"gofabric/core"
	"gofabric/internal/queue"
	"gofabric/internal/xnet/engine"
)

// work is an operation that waits for a counter (fi_trigger(3)): deferred work of the domain, or a triggered
// operation of an endpoint. As a Router it stores the operation that a transmit call has prepared. As an
// engine.Owner it gets the completion of deferred work.
type work struct {
	q         *workQueue
	next      *work // in the free list
	prev      *work // links of a workList; following is the next one
	following *work

	cntr      *Counter // the counter that it waits for
	threshold uint64
	seq       uint64      // order of queueing
	place     queue.Place // in the counter's heap
	deferred  bool        // deferred work, else a triggered operation
	report    bool        // deferred work that writes an entry at the endpoint, too
	kind      workKind
	state     workState
	ctx       core.OpContext // of the DeferredWork
	done      *Counter       // completion counter, may be nil

	e  *Endpoint // nil for receives of a shared context
	at *Endpoint // the endpoint where it completed, if known

	// A transmit.
	tx     Transmitter // prepares the operation; w is its router
	router Router      // the endpoint's
	dest   core.FIAddr
	send   engine.Send
	atomic *engine.Atomic

	// A receive.
	rx   Receiver
	recv recvArgs

	// A change of a counter.
	target *Counter
	value  uint64
}

// recvArgs are the arguments of a deferred receive.
type recvArgs struct {
	iov         [engine.MaxIOV][]byte
	niov        int
	src         uint64
	tag, ignore uint64
	ctx         core.OpContext
	flags       core.OpFlags
}

type workKind uint8

const (
	workSend workKind = iota // every operation of a Transmitter
	workMsg
	workTagged
	workSet
	workAdd
)

type workState uint8

const (
	workFresh    workState = iota // not queued yet
	workWaiting                   // in its counter's heap
	workReady                     // the threshold is reached: in workQueue.ready
	workStarting                  // inside the engine's call
	workStarted
	workEnded  // completed within that call
	workOrphan // its endpoint has closed: the completion is dropped
)

// before is the order of the work of one counter: by threshold, then by time of queueing.
func (w *work) before(v *work) bool {
	return w.threshold < v.threshold || w.threshold == v.threshold && w.seq < v.seq
}

// arm queues w. From then on its counters cannot close. Locked.
func (w *work) arm() {
	q := w.q
	q.seq++
	w.seq = q.seq
	w.eachCounter((*Counter).ref)
	q.all.add(w)
	w.state = workWaiting
	if w.cntr.waiting == nil {
		w.cntr.waiting = &counterWork{}
	}
	w.cntr.waiting.(*counterWork).push(w)
	w.cntr.Watch(w.cntr.waiting)
}

// leave removes w from the waiting work and releases its counters. Locked.
func (w *work) leave() {
	w.q.all.del(w)
	w.eachCounter((*Counter).unref)
}

// endless reports that the last completion of w cannot be recognized: w is a buffer for several messages
// (FI_MULTI_RECV). It does not keep its completion counter open.
func (w *work) endless() bool { return w.kind == workMsg && w.recv.flags&core.OpMultiRecv != 0 }

// orphan makes the completion of w, which has started, have no effect. Locked.
func (w *work) orphan() {
	w.q.started.del(w)
	w.state = workOrphan
	if w.done != nil {
		w.done.unref()
	}
}

func (c *Counter) ref()   { c.Ref() }
func (c *Counter) unref() { c.Unref() }

// eachCounter calls f with each counter that must not close while w waits.
func (w *work) eachCounter(f func(*Counter)) {
	for _, c := range [...]*Counter{w.cntr, w.done, w.target} {
		if c != nil {
			f(c)
		}
	}
}

// start starts w if there is room. It returns false if w must be tried again. Locked, and outside the engine's
// calls.
func (w *work) start() bool {
	switch w.kind {
	case workSet, workAdd:
		w.leave()
		w.target.Put(w.value, w.kind == workAdd)
		w.q.recycle(w)
		return true
	case workSend:
		return w.startSend()
	}
	return w.startRecv()
}

// startSend submits a transmit. Without room it marks the router or connection as stuck. Later work for the same
// one then waits, too, so that the order is kept.
func (w *work) startSend() bool {
	r := w.router
	if w.q.isStuck(r) {
		return false
	}
	c, err := routeWork(r, w.e, w.dest, &w.send)
	if err == core.ErrAgain {
		w.q.stuck = append(w.q.stuck, r)
		return false
	}
	if err == nil {
		if w.q.isStuck(c) {
			return false // keeps the order of operations to one destination
		}
		w.state = workStarting
		if err = c.Submit(&w.send); err == engine.ErrAgain {
			w.state = workReady
			w.q.stuck = append(w.q.stuck, c)
			return false
		}
	}
	if err == nil {
		r.Posted(c, false)
	}
	w.started(err)
	return true
}

// startRecv posts a receive. Without room it marks the receive context as stuck.
func (w *work) startRecv() bool {
	r, a := &w.rx, &w.recv
	if w.q.isStuck(r.rx) {
		return false
	}
	if err := r.ready(); err != nil {
		w.started(err)
		return true
	}
	op := r.rx.NewOp()
	if op == nil {
		w.q.stuck = append(w.q.stuck, r.rx)
		return false
	}
	op.Ctx, op.Flags = uint64(a.ctx), msgRx
	op.Silent = a.flags&core.OpCompletion == 0 && *r.quiet
	op.Multi = a.flags&core.OpMultiRecv != 0
	if w.deferred {
		op.Owner = w
	}
	op.SetIOV(a.iov[:a.niov])
	w.state = workStarting
	if w.kind == workTagged {
		op.Flags = tagRx
		r.rx.PostTagged(op, a.src, a.tag, a.ignore)
	} else {
		r.rx.PostMsg(op, a.src)
	}
	w.started(nil)
	return true
}

// started is called when the engine has taken w, or has refused it for good with err.
func (w *work) started(err error) {
	w.leave()
	if err != nil {
		c := w.ending(submitErr(err))
		if w.state = workEnded; w.deferred {
			w.Done(c)
		} else {
			w.reportEnd(c)
		}
	}
	if !w.deferred || w.state == workEnded {
		w.q.recycle(w)
		return
	}
	w.state = workStarted
	if w.endless() {
		return
	}
	w.q.started.add(w) // its completion counter stays open until it ends
	if w.done != nil {
		w.done.ref()
	}
}

// ending returns a completion of w with the error err.
func (w *work) ending(err error) *engine.Completion {
	c := &w.q.d.ended
	switch w.kind {
	case workSend:
		*c = w.send.Completion(engine.AnySource)
	case workMsg:
		*c = engine.Completion{Kind: engine.KindRecv, Ctx: uint64(w.recv.ctx), Flags: msgRx, Src: engine.AnySource}
	case workTagged:
		*c = engine.Completion{Kind: engine.KindRecv, Ctx: uint64(w.recv.ctx), Flags: tagRx, Tag: w.recv.tag, Src: engine.AnySource}
	}
	c.Len, c.Err = 0, err
	return c
}

// completesAt implements locatedOwner. A shared receive context serves several endpoints.
func (w *work) completesAt(e *Endpoint) { w.at = e }

// Done implements engine.Owner: it counts the completion of deferred work. A buffer for several messages
// (FI_MULTI_RECV) completes more than once.
func (w *work) Done(c *engine.Completion) {
	switch {
	case w.state == workOrphan:
		return
	case w.done == nil:
	case c.Err != nil:
		w.done.IncErr()
	default:
		w.done.Complete(int(c.Len))
	}
	if w.report || c.Err != nil && w.done == nil {
		c.Silent = false
		w.reportEnd(c)
	}
	switch {
	case w.endless(): // the garbage collector frees it
	case w.state == workStarted:
		w.q.started.del(w)
		if w.done != nil {
			w.done.unref()
		}
		w.q.recycle(w)
	default:
		w.state = workEnded // started recycles it
	}
}

// reportEnd reports c at the endpoint as a completion of an ordinary operation.
func (w *work) reportEnd(c *engine.Completion) {
	c.Owner = nil
	e := w.at
	if e == nil {
		e = w.e
	}
	if e == nil {
		w.rx.rx.Sink.Completed(c)
		return
	}
	e.Completed(c)
}

// cancel cancels w, which has not started. Locked.
func (w *work) cancel() {
	w.forget()
	if w.kind != workSet && w.kind != workAdd && (w.report || !w.deferred) {
		w.reportEnd(w.ending(engine.ErrCanceled))
	}
	w.q.recycle(w)
}

// forget removes w, which has not started, from all queues. Locked.
func (w *work) forget() {
	w.leave()
	if w.state == workWaiting {
		w.cntr.waiting.(*counterWork).remove(w)
		return
	}
	q := w.q
	for i, v := range q.ready {
		if v == w {
			copy(q.ready[i:], q.ready[i+1:])
			q.ready[len(q.ready)-1] = nil
			q.ready = q.ready[:len(q.ready)-1]
			return
		}
	}
}
