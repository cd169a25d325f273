package strict

import (
	"context"
	"errors"
	"sync"

	"gofabric/core"
	"gofabric/util/hook"
)

// queue is a completion queue. Completions from below wait in its window, where their order changes.
type queue struct {
	hook.CQ
	d      *domain
	size   int // entries before an overrun
	format core.CQFormat

	mu      sync.Mutex
	window  []item
	starved []item // remote CQ data that waits for a posted receive
	late    bool   // the last read found completions, and reported none
	overrun bool
	asleep  int // number of calls in sleep
	nudges  int // number of them that were woken because the window has a completion
	entries [window]core.CQEntry
	sources [window]core.FIAddr
}

// window is the number of completions whose order may change.
const window = 64

// item is a completion or an error entry.
type item struct {
	core.CQEntry
	src core.FIAddr
	err *core.CQErrEntry
	key core.OpContext // the operation's context, which keeps the completions of one multi-receive buffer in order; 0 unknown
}

// waits reports whether there is something to read in the window.
func (q *queue) waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.window) > 0
}

// Ready implements cq.Pollable.
func (q *queue) Ready(report bool) (bool, error) {
	q.d.release()
	ready, err := q.CQ.Ready(report)
	return ready || q.waits(), err
}

// from refuses reads with sources if the provider does not have them.
func (q *queue) from(src []core.FIAddr) error {
	if src != nil && q.d.k.Lacks&LacksReadFrom != 0 {
		return q.d.h.misuse("fi_cq_readfrom", core.ErrNoSys, "the provider does not report the sources of completions: read with fi_cq_read")
	}
	return nil
}

// Read is fi_cq_read(3) and, with src, fi_cq_readfrom(3).
func (q *queue) Read(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if err := q.from(src); err != nil {
		return 0, err
	}
	if err := q.d.enter("fi_cq_read"); err != nil {
		return 0, err
	}
	defer q.d.leave()
	q.d.release()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.fill(); err != nil {
		return 0, err
	}
	if len(q.window) > 0 && len(entries) > 0 && !q.late && q.d.h.chance(8) {
		q.late = true // other completions may arrive meanwhile
		return 0, core.ErrAgain
	}
	return q.take(entries, src)
}

// take returns completions from the window. Locked.
func (q *queue) take(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if len(q.window) == 0 {
		return 0, core.ErrAgain
	}
	if len(entries) == 0 {
		return 0, nil
	}
	q.late = false
	n := 0
	for n < len(entries) && n < len(q.window) && q.window[n].err == nil {
		it := &q.window[n]
		entries[n] = q.formatted(it.CQEntry)
		if src != nil {
			src[n] = it.src
		}
		n++
	}
	if n == 0 {
		return 0, core.ErrAvail
	}
	q.drop(n)
	return n, nil
}

// drop removes the first n items. Locked.
func (q *queue) drop(n int) {
	rest := copy(q.window, q.window[n:])
	clear(q.window[rest:])
	q.window = q.window[:rest]
}

// formatted returns an entry with only the fields of its format (fi_cq(3)).
func (q *queue) formatted(e core.CQEntry) core.CQEntry {
	switch q.format {
	case core.CQFormatContext:
		return core.CQEntry{Ctx: e.Ctx}
	case core.CQFormatMsg:
		return core.CQEntry{Ctx: e.Ctx, Flags: e.Flags, Len: e.Len}
	case core.CQFormatData:
		e.Tag = 0
	}
	return e
}

// fill moves completions from below into the window. Locked.
func (q *queue) fill() error {
	all := q.d.info.Domain.ResourceMgmt == core.RMDisabled
	for all || len(q.window) < window {
		n, err := q.CQ.Read(q.entries[:], q.sources[:])
		for i := range n {
			q.completed(item{CQEntry: q.entries[i], src: q.sources[i]})
		}
		clear(q.entries[:n])
		if errors.Is(err, core.ErrAvail) {
			var e core.CQErrEntry
			if err = q.CQ.ReadErr(&e); err == nil {
				q.failed(e)
				continue
			}
		}
		if err != nil && !errors.Is(err, core.ErrAgain) {
			return err
		}
		if n == 0 || !all {
			break
		}
	}
	again := q.starved
	q.starved = nil
	for _, it := range again {
		q.remoteData(it)
	}
	if all && q.size > 0 && len(q.window) > q.size && !q.overrun {
		q.overrun = true
		text := "there are more unread completions than the queue has entries, and resource management is off (FI_RM_DISABLED). On hardware: the adapter overwrites " +
			"unread ones, and the queue stops; open it larger, or read it more often"
		q.d.h.say("fi_cq_read: " + text)
		q.window = append(q.window[:q.size:q.size], item{err: &core.CQErrEntry{Err: core.ErrOverrun, Detail: text, SrcAddr: core.AddrNotAvail}})
	}
	return nil
}

// completed handles a success from below. Locked.
func (q *queue) completed(it item) {
	d := q.d
	if it.Flags&core.CompRemoteWrite != 0 && it.Flags&core.CompRemoteCQData != 0 && d.k.ConsumesRecv {
		q.remoteData(it)
		return
	}
	t := d.find(it.Ctx)
	if t == nil {
		q.add(it)
		return
	}
	it.key, it.Ctx = t.id, t.Ctx
	if t.prefix > 0 && t.Call.Receives() {
		it.Len += t.prefix
		it.Buf = t.first
	}
	if t.flags&(core.OpPeek|core.OpClaim) == core.OpPeek|core.OpClaim {
		d.mu.Lock()
		d.claims[claim{t.s, t.Ctx}] = t.id
		d.mu.Unlock()
	}
	if !t.multi() || it.Flags&core.CompMultiRecv != 0 {
		d.end(t)
	}
	if text := t.broken(); text != "" {
		text = t.Call.String() + ": " + text
		d.h.say(text)
		q.insert(item{key: it.key, err: &core.CQErrEntry{CQEntry: it.CQEntry, Err: core.ErrInval, Detail: text, SrcAddr: it.src}})
		return
	}
	if t.silent && it.Flags&core.CompMultiRecv == 0 {
		return
	}
	q.add(it)
}

// failed handles an error entry from below. Locked.
func (q *queue) failed(e core.CQErrEntry) {
	it := item{err: &e}
	if t := q.d.find(e.Ctx); t != nil {
		it.key, e.Ctx = t.id, t.Ctx
		if !t.multi() || e.Flags&core.CompMultiRecv != 0 || e.Err == core.ErrCanceled {
			q.d.end(t)
		}
		if t.swallow {
			return
		}
		if t.prefix > 0 && t.Call.Receives() && e.Buf != nil {
			e.Len += t.prefix
			e.Buf = t.first
		}
	}
	if why := q.d.k.WhyKey; why != "" && e.Flags&(core.CompRMA|core.CompAtomic) != 0 && (e.Err == core.ErrRemoteIO || e.Err == core.ErrAccess || e.Err == core.ErrKeyRejected) {
		e.Detail += "; on hardware: " + why
	}
	q.insert(it)
}

// remoteData makes remote CQ data consume a posted receive (fi_getinfo(3), FI_RX_CQ_DATA). Without one it waits, as
// the sender of an adapter would.
func (q *queue) remoteData(it item) {
	d := q.d
	for _, t := range d.list(func(t *transfer) bool {
		return t.is(core.OpRecv) && !t.multi() && t.flags&core.OpPeek == 0 && t.s.rx.q == q
	}) {
		t.swallow = true
		if t.s.below.Cancel(t.id) == nil {
			it.Ctx, it.key = t.Ctx, t.id
			q.add(it)
			return
		}
		t.swallow = false
	}
	d.h.say("fi_writedata: remote CQ data arrived, which consumes a posted receive (FI_RX_CQ_DATA), but none was posted. On hardware: the sender waits and retries, and fails " +
		"when it has retried often enough")
	q.starved = append(q.starved, it)
}

// add inserts a success at a random position among those that it may overtake: fi_cq(3) promises no order of
// completions. Locked.
func (q *queue) add(it item) {
	at := len(q.window)
	first := at
	for first > 0 && at-first < window {
		p := &q.window[first-1]
		if p.err != nil || p.key == it.key {
			break // the completions of a multi-receive buffer keep their order
		}
		first--
	}
	q.insertAt(first+q.d.h.pick(at-first+1), it)
}

// insert appends an item. Locked.
func (q *queue) insert(it item) { q.window = append(q.window, it) }

func (q *queue) insertAt(at int, it item) {
	q.window = append(q.window, item{})
	copy(q.window[at+1:], q.window[at:])
	q.window[at] = it
}

// ReadErr is fi_cq_readerr(3).
func (q *queue) ReadErr(e *core.CQErrEntry) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.window) == 0 || q.window[0].err == nil {
		return core.ErrAgain
	}
	*e = *q.window[0].err
	q.drop(1)
	return nil
}

// SRead is fi_cq_sread(3) and, with src, fi_cq_sreadfrom(3).
func (q *queue) SRead(ctx context.Context, entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if err := q.from(src); err != nil {
		return 0, err
	}
	for {
		q.d.release()
		q.mu.Lock()
		err := q.fill()
		n := 0
		if err == nil {
			n, err = q.take(entries, src)
		}
		if err != core.ErrAgain || len(entries) == 0 {
			if len(q.window) > 0 && q.nudges < q.asleep && q.CQ.Signal() == nil {
				q.nudges++
			}
			q.mu.Unlock()
			return n, err
		}
		q.asleep++
		q.mu.Unlock()
		if n, err = q.sleep(ctx); err != nil {
			return n, err
		}
	}
}

// sleep waits for a completion from below and takes it. The application may not see that completion.
func (q *queue) sleep(ctx context.Context) (int, error) {
	var e [1]core.CQEntry
	var src [1]core.FIAddr
	n, err := q.CQ.SRead(ctx, e[:], src[:])
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asleep--
	if n > 0 {
		q.completed(item{CQEntry: e[0], src: src[0]})
		return 0, nil
	}
	if q.nudges > 0 && err == core.ErrAgain {
		q.nudges--
		return 0, nil
	}
	if errors.Is(err, core.ErrAvail) {
		return 0, nil // fill takes it
	}
	return n, err
}

// Close is fi_close(3).
func (q *queue) Close() error {
	err := q.CQ.Close()
	if err == nil {
		q.d.back(&q.d.cqs)
	}
	return err
}
