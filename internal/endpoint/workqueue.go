package endpoint

import (
	"math"

	"gofabric/core"
	"gofabric/cq"
	"gofabric/internal/queue"
)

// workQueue holds all work of a domain. It is a progress.Task: ready work starts outside the engine's calls.
type workQueue struct {
	d       *Domain
	all     workList // not started
	started workList // deferred work in progress
	ready   []*work
	asked   bool // Run is scheduled
	seq     uint64
	stuck   []any // connections, routers and receive contexts that had no room in this Run
	spare   *work
	nspare  int
	running bool
}

// maxSpare is the largest number of work objects in the free list.
const maxSpare = 1024

// get returns an empty work. Locked.
func (q *workQueue) get() *work {
	w := q.spare
	if w == nil {
		return &work{q: q}
	}
	q.spare, w.next = w.next, nil
	q.nspare--
	return w
}

// recycle returns w, which is in no queue, to the free list. Locked.
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

// makeReady queues w to be started by Run. Locked.
func (q *workQueue) makeReady(w *work) {
	w.state = workReady
	q.ready = append(q.ready, w)
	if !q.asked && !q.running {
		q.asked = true
		q.d.prog.RunOnUnlock(q)
	}
}

// Run implements progress.Task: it starts ready work in order. Work without room stays ready.
func (q *workQueue) Run() {
	q.asked, q.running = false, true
	kept := 0
	for i := 0; i < len(q.ready); i++ { // q.ready may grow: work that starts may advance counters
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
		q.d.prog.RunAfterPass(q)
	}
}

// isStuck reports whether a router, connection or receive context had no room in this Run.
func (q *workQueue) isStuck(where any) bool {
	for _, s := range q.stuck {
		if s == where {
			return true
		}
	}
	return false
}

// each calls f with each work of the list. f may remove it.
func (l *workList) each(f func(*work)) {
	for w := l.head; w != nil; {
		after := w.following
		f(w)
		w = after
	}
}

// of reports whether w was posted to owner (deferrer.cancel).
func (w *work) of(owner any) bool {
	if e, ok := owner.(*Endpoint); ok {
		return w.e == e
	}
	return w.e == nil && w.rx.rx == owner
}

// drop implements deferrer.
func (q *workQueue) drop(owner any) {
	q.all.each(func(w *work) {
		if w.of(owner) {
			w.forget()
			q.recycle(w)
		}
	})
	q.started.each(func(w *work) {
		if w.of(owner) {
			w.orphan()
		}
	})
}

// cancel implements deferrer.
func (q *workQueue) cancel(owner any, ctx core.OpContext) bool {
	for w := q.all.head; w != nil; w = w.following {
		of := w.send.Ctx
		if w.kind != workSend {
			of = uint64(w.recv.ctx)
		}
		if w.of(owner) && !w.deferred && of == uint64(ctx) {
			w.cancel()
			return true
		}
	}
	return false
}

// workList is a doubly linked list in order of queueing.
type workList struct{ head, tail *work }

func (l *workList) add(w *work) {
	if w.prev = l.tail; l.tail == nil {
		l.head = w
	} else {
		l.tail.following = w
	}
	l.tail = w
}

func (l *workList) del(w *work) {
	if w.prev == nil {
		l.head = w.following
	} else {
		w.prev.following = w.following
	}
	if w.following == nil {
		l.tail = w.prev
	} else {
		w.following.prev = w.prev
	}
	w.prev, w.following = nil, nil
}

// counterWork is the work that waits for one counter. Triggered operations wait for its successes. Deferred work
// waits for the sum of successes and failures (fi_trigger(3)). It implements cq.Watcher.
type counterWork struct{ successes, sum workHeap }

// heapOf returns the heap for the kind of count that w waits for.
func (c *counterWork) heapOf(w *work) *workHeap {
	if w.deferred {
		return &c.sum
	}
	return &c.successes
}

func (c *counterWork) push(w *work)   { c.heapOf(w).Set(w.threshold, w, &w.place) }
func (c *counterWork) remove(w *work) { c.heapOf(w).Remove(w.place) }

// Reached implements cq.Watcher. It makes the work ready that has reached its threshold, and returns the next
// threshold.
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

// reached reports whether the count of successes is at least threshold.
func (c *Counter) reached(threshold uint64) bool {
	val, _ := c.Counts()
	return val >= threshold
}

// workHeap has the work with the lowest threshold at its top.
type workHeap struct {
	queue.Heap[uint64, *work] // by threshold
}

// first returns the top if count has reached its threshold, else nil.
func (h *workHeap) first(count uint64) *work {
	if h.Len() == 0 || h.MinKey() > count {
		return nil
	}
	return h.Min()
}
