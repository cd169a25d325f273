package gofabric

import (
	"context"
	"errors"
	"sync"
	"time"

	"gofabric/core"
)

// hub passes the completions of one queue to the goroutines that wait for them.
//
// One of the waiting goroutines, the leader, reads the queue and marks the operations that have completed. The others
// sleep until theirs is marked. When the leader's own operation completes, it leaves and wakes another one to lead.
// While operations are waited for, a goroutine leads or was woken to lead.
type hub struct {
	cq      *core.CompletionQueue
	mu      sync.Mutex
	ops     []*op // by index; they are reused, never freed
	free    *op
	head    *op // of the sleepers, the longest first
	tail    *op
	leading bool
	idle    chan struct{} // closed when the leader leaves, for drain
	broken  error         // the queue can no longer be read

	// See watch.go.
	connected int
	timer     *time.Timer
	ticking   bool
	due       bool

	// Used by the leader only.
	entries [32]core.CQEntry
	src     [32]core.FIAddr
	fault   core.CQErrEntry
}

// op is an operation that a call waits for. Its index and generation are the operation's context, so that late
// completions are recognized.
type op struct {
	index  uint32
	gen    uint32
	ep     *Endpoint
	wake   chan struct{} // room for one
	next   *op           // in the free list or among the sleepers
	prev   *op
	asleep bool
	done   bool
	recv   bool // it waits for a message

	entry core.CQEntry
	src   core.FIAddr
	err   error // why it failed
	peer  core.Addr
	text  string // details of a failure
}

func (o *op) context() core.OpContext { return core.OpContext(uint64(o.gen)<<32 | uint64(o.index)) }

// get returns an operation from the pool.
func (h *hub) get(ep *Endpoint) (*op, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken != nil {
		return nil, h.broken
	}
	o := h.free
	if o == nil {
		o = &op{index: uint32(len(h.ops)), gen: 1, wake: make(chan struct{}, 1)}
		h.ops = append(h.ops, o)
	} else {
		h.free, o.next = o.next, nil
	}
	o.ep = ep
	return o, nil
}

// put returns an operation to the pool. The provider no longer uses its buffer.
func (h *hub) put(o *op) {
	h.mu.Lock()
	o.gen++
	o.ep, o.recv, o.done, o.err, o.text, o.peer, o.entry = nil, false, false, nil, "", core.Addr{}, core.CQEntry{}
	o.next, h.free = h.free, o
	h.mu.Unlock()
}

// wait returns nil when o is done, or the cause of ctx's end.
func (h *hub) wait(ctx context.Context, o *op) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if o.done {
			h.handOver()
			return nil
		}
		if ctx.Err() != nil {
			h.handOver()
			return context.Cause(ctx)
		}
		if !h.leading {
			h.leading = true
			h.lead(ctx, o)
			h.leading = false
			if h.idle != nil {
				close(h.idle)
				h.idle = nil
			}
			continue
		}
		h.sleep(ctx, o)
	}
}

// sleep waits until o is done, until this goroutine must lead, or until ctx ends. Locked.
func (h *hub) sleep(ctx context.Context, o *op) {
	o.asleep = true
	if o.prev = h.tail; o.prev == nil {
		h.head = o
	} else {
		o.prev.next = o
	}
	h.tail = o
	h.mu.Unlock()
	select {
	case <-o.wake:
	case <-ctx.Done():
	}
	h.mu.Lock()
	if o.asleep {
		h.unlist(o)
	}
	select { // both have happened
	case <-o.wake:
	default:
	}
}

func (h *hub) unlist(o *op) {
	if o.prev == nil {
		h.head = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		h.tail = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.next, o.prev, o.asleep = nil, nil, false
}

// rouse wakes a sleeper. Locked.
func (h *hub) rouse(o *op) {
	h.unlist(o)
	o.wake <- struct{}{} // never blocks: one wake-up per sleep
}

// handOver wakes a new leader if there is none. Locked.
func (h *hub) handOver() {
	if !h.leading && h.head != nil {
		h.rouse(h.head)
	}
}

// lead reads the queue until o is done or ctx ends. Locked, except while it waits.
func (h *hub) lead(ctx context.Context, o *op) {
	h.startTicks()
	for !o.done && ctx.Err() == nil && h.broken == nil {
		h.mu.Unlock()
		n, err := h.cq.SReadFrom(ctx, h.entries[:], h.src[:])
		h.mu.Lock()
		h.took(n, err)
		if h.due {
			h.due = false
			h.look()
		}
	}
	if h.broken != nil {
		h.failAll(nil, h.broken)
	}
}

// pass lets a caller that cannot post yet make progress, unless a leader does.
func (h *hub) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leading || h.broken != nil {
		return
	}
	h.leading = true
	h.mu.Unlock()
	n, err := h.cq.ReadFrom(h.entries[:], h.src[:])
	h.mu.Lock()
	h.took(n, err)
	h.leading = false
	if h.idle != nil {
		close(h.idle)
		h.idle = nil
	}
	h.handOver()
}

// took processes the result of a read. Locked; called by the leader.
func (h *hub) took(n int, err error) {
	for i := range h.entries[:max(n, 0)] {
		e := &h.entries[i]
		if o := h.find(e.Ctx); o != nil {
			o.entry, o.src = *e, h.src[i]
			h.finish(o)
		}
		e.Buf = nil // do not keep the user's buffer alive
	}
	switch {
	case err == nil || err == core.ErrAgain:
	case err == core.ErrAvail:
		if h.cq.ReadErr(&h.fault) == nil {
			h.failed(&h.fault)
		}
		h.fault = core.CQErrEntry{}
	case errors.Is(err, core.ErrAgain): // the context has ended
	default:
		h.broken = err
	}
}

func (h *hub) failed(e *core.CQErrEntry) {
	o := h.find(e.Ctx)
	if o == nil {
		return
	}
	o.entry, o.src, o.err, o.peer, o.text = e.CQEntry, e.SrcAddr, e.Err, e.Peer, e.Detail
	if e.Err == 0 {
		o.err = core.ErrOther
	}
	h.finish(o)
}

// find returns the operation of a context, or nil if no call waits for it.
func (h *hub) find(ctx core.OpContext) *op {
	i := uint32(ctx)
	if int64(i) >= int64(len(h.ops)) {
		return nil
	}
	o := h.ops[i]
	if o.gen != uint32(ctx>>32) || o.ep == nil || o.done {
		return nil
	}
	return o
}

func (h *hub) finish(o *op) {
	o.done = true
	if o.asleep {
		h.rouse(o)
	}
}

// failAll ends every operation of an endpoint, or of all endpoints if ep is nil. The provider must no longer use
// their buffers. Locked.
func (h *hub) failAll(ep *Endpoint, err error) {
	for _, o := range h.ops {
		if o.ep != nil && !o.done && (ep == nil || o.ep == ep) {
			o.err = err
			h.finish(o)
		}
	}
}

// abandon ends every operation of a closed endpoint.
func (h *hub) abandon(ep *Endpoint) {
	h.mu.Lock()
	h.failAll(ep, core.ErrCanceled)
	leading := h.leading
	h.mu.Unlock()
	if leading {
		h.cq.Signal() // the leader may be one of them
	}
}

// drain waits until no goroutine reads the queue. No call may wait for an operation. abandon has told the leader to
// leave.
func (h *hub) drain() {
	h.mu.Lock()
	if h.timer != nil {
		h.timer.Stop()
	}
	for h.leading {
		if h.idle == nil {
			h.idle = make(chan struct{})
		}
		ch := h.idle
		h.mu.Unlock()
		h.cq.Signal()
		<-ch
		h.mu.Lock()
	}
	h.mu.Unlock()
}
