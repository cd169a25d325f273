package av

import (
	"sync"

	"gofabric/core"
)

// This file has insertions in the background, for a vector that was opened with AVEvent (fi_av(3), FI_EVENT).

// Events receives the outcome of insertions: the event queue that is bound to the vector. It is called without a
// lock.
type Events interface {
	// Inserted reports the end of an insertion and the number of inserted addresses.
	Inserted(n int, context any)
	// Refused reports one address that was not inserted, by its position in the insertion.
	Refused(position int, err core.Errno, detail string, context any)
}

// maxQueued is the largest number of insertions in the queue. A further one fails with ErrAgain.
const maxQueued = 4096

// background runs the insertions of a vector one after the other. The order of the calls is the order of the
// indices. A goroutine runs while there are insertions.
type background struct {
	mu     sync.Mutex
	events Events
	queue  []func(Events)
	busy   bool // the goroutine runs
	undone int  // insertions that have not ended
}

// post queues an insertion.
func (b *background) post(op string, f func(Events)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.events == nil:
		return opError(op, core.ErrNoEQ, "the address vector was opened with AVEvent: bind an event queue to it first")
	case len(b.queue) >= maxQueued:
		return core.ErrAgain
	}
	b.undone++
	b.queue = append(b.queue, f)
	if !b.busy {
		b.busy = true
		go b.run()
	}
	return nil
}

func (b *background) run() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.busy, b.queue = false, nil
			b.mu.Unlock()
			return
		}
		f, events := b.queue[0], b.events
		b.queue[0] = nil
		b.queue = b.queue[1:]
		b.mu.Unlock()
		f(events)
	}
}

// underWay reports whether insertions have not ended.
func (b *background) underWay() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.undone > 0
}

func (b *background) ended() {
	b.mu.Lock()
	b.undone--
	b.mu.Unlock()
}

// BindEvents sets the receiver of outcomes, once (fi_av_bind(3)).
func (t *Table) BindEvents(e Events) error {
	const op = "fi_av_bind"
	if !t.async() {
		return opError(op, core.ErrInval, "open the address vector with AVEvent; without it, it has no events")
	}
	t.back.mu.Lock()
	defer t.back.mu.Unlock()
	if t.back.events != nil {
		return opError(op, core.ErrInval, "the address vector already has an event queue")
	}
	t.back.events = e
	return nil
}

func (t *Table) async() bool { return t.attr.Flags&core.AVEvent != 0 }

// later runs an insertion of count addresses in the background. insert does the insertion. If it returns an error
// that is not an InsertError, all addresses count as refused.
func (t *Table) later(op string, count int, context []any, insert func() (int, error)) error {
	var ctx any
	if len(context) > 0 {
		ctx = context[0]
	}
	return t.back.post(op, func(e Events) {
		n, err := insert()
		switch err := err.(type) {
		case nil:
		case *InsertError:
			for i, no := range err.Errs {
				if no != 0 {
					e.Refused(i, no, op+": "+no.Error(), ctx)
				}
			}
		default:
			no := errnoOf(err)
			for i := range count {
				e.Refused(i, no, err.Error(), ctx)
			}
		}
		t.back.ended() // an application that has read the event may close the vector
		e.Inserted(n, ctx)
	})
}
