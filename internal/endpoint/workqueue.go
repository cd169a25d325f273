package endpoint

import (
	"math"

	"gofabric/cq"
	"gofabric/internal/queue"
)

// workQueue is all that waits for counters of a domain. It is a progress.Task: what has become ready starts when no engine is at work.
type workQueue struct {
	d       *Domain
	all     workList // what has not started
	started workList // deferred work under way
	ready   []*work
	asked   bool // Run is going to be called
	seq     uint64
	stuck   []any // in this round: connections, routers and receive contexts without room
	spare   *work
	nspare  int
	running bool
}

// maxSpare is how much finished work is kept to be used again.
const maxSpare = 1024

// get returns work to fill in. Locked.
func (q *workQueue) get() *work {
	w := q.spare
	if w == nil {
		return &work{q: q}
	}
	q.spare, w.next = w.next, nil
	q.nspare--
	return w
}

// recycle takes back work that is in no queue. Locked.
func (q *workQueue) recycle(w *work) {
	a := w.atomic
	*w = work{q: q}
	if q.nspare >= maxSpare {
		return
	}
	if a != nil {
		clear(a.Compare[:])
		clear(a.Result[:])
		w.atomic = a
	}
	w.next, q.spare = q.spare, w
	q.nspare++
}

// makeReady queues w to start. Locked.
func (q *workQueue) makeReady(w *work) {
	w.state = workReady
	q.ready = append(q.ready, w)
	if !q.asked && !q.running {
		q.asked = true
		q.d.prog.Soon(q)
	}
}

// Run implements progress.Task: it starts what is ready and has room, in order.
func (q *workQueue) Run() {
	q.asked, q.running = false, true
	kept := 0
	for i := 0; i < len(q.ready); i++ { // which grows: what starts may advance counters
		w := q.ready[i]
		if !w.start() {
			q.ready[kept] = w
			kept++
		}
	}
	clear(q.ready[kept:])
	q.ready = q.ready[:kept]
	clear(q.stuck)
	q.stuck = q.stuck[:0]
	if q.running = false; kept > 0 {
		q.asked = true
		q.d.prog.Later(q)
	}
}

func (q *workQueue) isStuck(where any) bool {
	for _, s := range q.stuck {
		if s == where {
			return true
		}
	}
	return false
}

// each calls f with all work of the list; f may take it out.
func (l *workList) each(f func(*work)) {
	for w := l.head; w != nil; {
		after := w.foll
		f(w)
		w = after
	}
}

// drop ends silently what waits to be done by e, or by the shared receive context srx, and what they are at (fi_endpoint(3), fi_close). Locked.
func (q *workQueue) drop(e *Endpoint, srx *SharedRx) {
	of := func(w *work) bool { return e != nil && w.e == e || srx != nil && w.rx.rx == srx.rx }
	q.all.each(func(w *work) {
		if of(w) {
			w.forget()
			q.recycle(w)
		}
	})
	q.started.each(func(w *work) {
		if of(w) {
			w.orphan()
		}
	})
}

// cancelTriggered ends one triggered operation of an endpoint, or of the receive context of a shared one, posted with ctx. Locked.
func (q *workQueue) cancelTriggered(e *Endpoint, srx *SharedRx, ctx uint64) bool {
	for w := q.all.head; w != nil; w = w.foll {
		mine := e != nil && w.e == e || srx != nil && w.rx.rx == srx.rx
		if mine && !w.deferred && (w.kind == workSend && w.send.Ctx == ctx || w.kind != workSend && uint64(w.recv.ctx) == ctx) {
			w.cancel()
			return true
		}
	}
	return false
}

// workList is a list in order of queueing.
type workList struct{ head, tail *work }

func (l *workList) add(w *work) {
	if w.prev = l.tail; l.tail == nil {
		l.head = w
	} else {
		l.tail.foll = w
	}
	l.tail = w
}

func (l *workList) del(w *work) {
	if w.prev == nil {
		l.head = w.foll
	} else {
		w.prev.foll = w.foll
	}
	if w.foll == nil {
		l.tail = w.prev
	} else {
		w.foll.prev = w.prev
	}
	w.prev, w.foll = nil, nil
}

// counterWork is what waits for one counter: triggered operations for its successes, deferred work for successes and failures together (fi_trigger(3)). It
// implements cq.Watcher.
type counterWork struct{ successes, sum workHeap }

func (c *counterWork) heapOf(w *work) *workHeap {
	if w.deferred {
		return &c.sum
	}
	return &c.successes
}

func (c *counterWork) push(w *work)   { c.heapOf(w).Set(w.threshold, w, &w.place) }
func (c *counterWork) remove(w *work) { c.heapOf(w).Remove(w.place) }

// Reached implements cq.Watcher.
func (c *counterWork) Reached(val, errs uint64) uint64 {
	sum := val + errs
	if sum < val {
		sum = math.MaxUint64
	}
	for {
		w := c.successes.first(val)
		if v := c.sum.first(sum); w == nil || v != nil && v.before(w) {
			w = v
		}
		if w == nil {
			break
		}
		c.remove(w)
		w.q.makeReady(w)
	}
	next := uint64(cq.Never)
	if c.successes.Len() > 0 {
		next = c.successes.MinKey()
	}
	if c.sum.Len() > 0 {
		next = min(next, c.sum.MinKey()-errs)
	}
	return next
}

// reached says whether the count of successes is at least threshold.
func (c *Counter) reached(threshold uint64) bool {
	val, _ := c.Counts()
	return val >= threshold
}

// workHeap has the next to start first.
type workHeap struct {
	queue.Heap[uint64, *work] // by threshold
}

// first returns what is reached first, if it is.
func (h *workHeap) first(count uint64) *work {
	if h.Len() == 0 || h.MinKey() > count {
		return nil
	}
	return h.Min()
}
