package endpoint

import (
	"gofabric/core"
	"gofabric/internal/queue"
	"gofabric/internal/xnet/engine"
)

// work is an operation that waits for a counter (fi_trigger(3)): deferred work of the domain, or a triggered operation of an endpoint. As a Router it takes
// over what the transmit calls have prepared; as an engine.Owner the end of deferred work.
type work struct {
	q    *workQueue
	next *work // in the list of spare ones
	prev *work // in the list of waiting ones, with follow
	foll *work

	cntr      *Counter // what it waits for
	threshold uint64
	seq       uint64      // counts what is queued
	place     queue.Place // in the counter's heap
	deferred  bool        // else it is triggered
	report    bool        // deferred work whose end is reported at the endpoint, too
	kind      workKind
	state     workState
	ctx       core.OpContext // of the DeferredWork
	done      *Counter       // completion counter, may be nil

	e  *Endpoint // of transfers; nil for receives of a shared context
	at *Endpoint // where it ended, if that is known

	// A transmit.
	tx     Transmitter // what prepares it, with the work as its router
	router Router      // the real one
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

// recvArgs is what RecvMsg and TRecvMsg are given.
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
	workSend workKind = iota // all that goes through a Transmitter
	workMsg
	workTagged
	workSet
	workAdd
)

type workState uint8

const (
	workFresh    workState = iota // not queued yet
	workWaiting                   // in its counter's heap
	workReady                     // the count is reached: in workQueue.ready
	workStarting                  // inside the engine
	workStarted
	workEnded  // while it was starting
	workOrphan // where it was posted is closed: its end is no one's
)

// before is the order of what waits for one counter.
func (w *work) before(v *work) bool {
	return w.threshold < v.threshold || w.threshold == v.threshold && w.seq < v.seq
}

// arm queues w. Locked.
func (w *work) arm() {
	q := w.q
	q.seq++
	w.seq = q.seq
	w.eachCounter((*Counter).ref)
	q.all.add(w)
	w.state = workWaiting
	if w.cntr.work == nil {
		w.cntr.work = &counterWork{}
	}
	w.cntr.work.push(w)
	w.cntr.Watch(w.cntr.work)
}

// leave is the end of waiting: the counters may close. Locked.
func (w *work) leave() {
	w.q.all.del(w)
	w.eachCounter((*Counter).unref)
}

// endless says that nobody knows which end of w is the last: that of a buffer of several messages (FI_MULTI_RECV). Its completion counter is not kept open.
func (w *work) endless() bool { return w.kind == workMsg && w.recv.flags&core.OpMultiRecv != 0 }

// orphan has the end of w, which has started, go unnoticed. Locked.
func (w *work) orphan() {
	w.q.started.del(w)
	w.state = workOrphan
	if w.done != nil {
		w.done.unref()
	}
}

func (c *Counter) ref()   { c.Ref() }
func (c *Counter) unref() { c.Unref() }

// eachCounter calls f with the counters that must not close while w waits.
func (w *work) eachCounter(f func(*Counter)) {
	for _, c := range [...]*Counter{w.cntr, w.done, w.target} {
		if c != nil {
			f(c)
		}
	}
}

// start does what w is for, if there is room; else it is tried again. Locked, and no engine is at work.
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
			return false // the order of operations to one destination
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

// started is called when the engine has taken w, or refused it with err for good.
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

// ending returns the completion of w that ends with err.
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

// Done implements engine.Owner: the end of deferred work. A buffer of several messages (FI_MULTI_RECV) has more than one.
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
	case w.endless(): // the collector takes it
	case w.state == workStarted:
		w.q.started.del(w)
		if w.done != nil {
			w.done.unref()
		}
		w.q.recycle(w)
	default:
		w.state = workEnded // whoever starts it goes on with it
	}
}

// reportEnd reports c at the endpoint, as that of an ordinary operation.
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

// cancel ends w, which has not started. Locked.
func (w *work) cancel() {
	w.forget()
	if w.kind != workSet && w.kind != workAdd && (w.report || !w.deferred) {
		w.reportEnd(w.ending(engine.ErrCanceled))
	}
	w.q.recycle(w)
}

// forget takes w, which has not started, out of all queues. Locked.
func (w *work) forget() {
	w.leave()
	if w.state == workWaiting {
		w.cntr.work.remove(w)
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
