package cq

import "gofabric/core"

// This file has the reads of a completion queue.

// Read takes up to len(entries) completions (fi_cq_read(3)). If src is not nil, it receives the source of each
// message (fi_cq_readfrom(3)).
//
// If the queue is empty, Read first makes a pass. So does a read without room for entries; it returns 0 if there is
// something to read, error entries included. While the queue has entries, every 64th read makes a pass.
func (q *Queue) Read(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	q.p.Lock()
	n, err := q.take(entries, src)
	q.p.Unlock()
	return n, err
}

// ReadErr takes the error entry at the head (fi_cq_readerr(3)). The error is ErrAgain if there is none at the head.
func (q *Queue) ReadErr(e *core.CQErrEntry) error {
	q.p.Lock()
	defer q.p.Unlock()
	if q.w.entered {
		q.disarm()
	}
	if q.errAt != q.head {
		return core.ErrAgain
	}
	*e = q.errs[q.errOut].e
	q.errs[q.errOut] = errAt{}
	q.errOut++
	q.errAt = noError
	if q.errOut < len(q.errs) {
		q.errAt = q.errs[q.errOut].at
		return nil
	}
	q.errs, q.errOut = q.errs[:0], 0
	if cap(q.errs) > errKeep {
		q.errs = nil
	}
	return nil
}

// Len returns the number of unread successful completions. Locked.
func (q *Queue) Len() int { return int(q.tail - q.head) }

// take takes completions without a pass. Locked.
func (q *Queue) take(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if q.w.entered {
		q.disarm()
	}
	n := min(q.tail, q.errAt) - q.head
	if n == 0 && q.errAt == noError || len(entries) == 0 {
		q.pass()
		n = min(q.tail, q.errAt) - q.head
	} else if q.streak++; q.streak >= passEvery {
		q.pass()
		n = min(q.tail, q.errAt) - q.head
	}
	if n == 0 || len(entries) == 0 {
		return 0, q.nothing(n, len(entries))
	}
	if n > q.peak {
		q.peak = n
	}
	k := int(min(n, uint64(len(entries))))
	h := int(q.head & q.mask)
	m := min(k, len(q.ring)-h)
	copyOut(entries[:m], src, q.ring[h:h+m], q.lean)
	if m < k {
		if src != nil {
			src = src[m:]
		}
		copyOut(entries[m:k], src, q.ring[:k-m], q.lean)
	}
	q.head += uint64(k)
	if q.head != q.tail {
		q.setLimit()
		return k, nil
	}
	if q.errAt == noError {
		q.emptied++
		q.head, q.tail = 0, 0 // start again at the beginning of the ring, which is in the processor's cache
	}
	q.setLimit()
	q.p.FlushStaged()
	return k, nil
}

// copyOut copies entries, of a lean queue only the fields that are valid.
func copyOut(dst []core.CQEntry, src []core.FIAddr, ring []Entry, lean bool) {
	dst = dst[:len(ring)]
	if lean {
		for i := range ring {
			e, d := &ring[i], &dst[i]
			d.Ctx, d.Flags, d.Len = e.Ctx, e.Flags, e.Len
			d.Buf, d.Data, d.Tag = nil, 0, 0
		}
	} else {
		for i := range ring {
			e := &ring[i]
			dst[i] = e.CQEntry
			e.Buf = nil // the ring must not keep the user's buffer alive
		}
	}
	if src != nil {
		src = src[:len(ring)]
		for i := range ring {
			src[i] = ring[i].Src
		}
	}
}

// nothing returns the result of a read that takes nothing. n is the number of successes at the head: with n > 0 the
// read had no room.
func (q *Queue) nothing(n uint64, room int) error {
	atError := q.errAt == q.head
	switch {
	case n > 0 || atError && room == 0:
		return nil
	case atError:
		return core.ErrAvail
	case q.closed:
		return core.ErrBadF
	}
	return core.ErrAgain
}

// pass makes a pass. After many idle passes it frees memory that a burst needed.
func (q *Queue) pass() {
	q.streak = 0
	q.p.Pass()
	if q.head != q.tail {
		q.idle = 0
		return
	}
	if q.idle++; q.idle >= shrinkAfter && len(q.ring) > q.first {
		size := len(q.ring)
		if q.peak <= uint64(size/4) {
			size /= 2
		}
		q.resize(size)
	}
}
