//go:build linux

package main

/*
#include <stdlib.h>
#include <string.h>
#include "gf.h"
*/
import "C"

import (
	"context"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"gofabric/core"
)

// This file has completion queues and counters (fi_cq(3), fi_cntr(3)).

// queue is a completion queue. Its C side has a ring of completions that were read ahead.
type queue struct {
	*core.CompletionQueue
	c    *C.struct_gf_cq
	api  core.Version
	wait core.WaitObj

	mu      sync.Mutex
	entries [C.GF_RING]core.CQEntry // for the read under way; guarded by the lock of C's ring
	src     [C.GF_RING]core.FIAddr
	errData unsafe.Pointer // C memory: err_data of the last error, for programs that pass no buffer
	text    *C.char        // of the last fi_cq_strerror without a buffer
	last    core.CQErrEntry
}

func (q *queue) closed() {
	C.free(q.errData)
	C.free(unsafe.Pointer(q.text))
}

func (q *queue) waitObj() core.WaitObj { return q.wait }

// ahead reports whether the ring has completions that the program has not read.
func (q *queue) ahead() bool { return q.c.head != q.c.tail }

//export goCQOpen
func goCQOpen(id C.uint64_t, attr *C.struct_fi_cq_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(out == nil)
	var a core.CQAttr
	if attr != nil {
		refuse(attr.wait_cond < 0 || attr.wait_cond > 1 || attr.format < 0 || attr.format > C.int(core.CQFormatTagged) || attr.wait_obj < 0)
		a = core.CQAttr{Size: fromSize(attr.size), Flags: core.CQFlags(attr.flags), Format: core.CQFormat(attr.format), WaitObj: core.WaitObj(attr.wait_obj)}
		a.WaitSet = waitSetAt(attr.wait_set, a.WaitObj)
	}
	if a.Format == core.CQFormatUnspec {
		a.Format = core.CQFormatContext
	}
	cq, err := d.OpenCQ(a)
	fail(err)
	q := &queue{CompletionQueue: cq, api: d.f.api, wait: effective(a.WaitObj)}
	if rc = open(cq, q, C.FI_CLASS_CQ, context, out); rc == 0 {
		q.c = (*C.struct_gf_cq)(*out)
		q.c.format = C.int(a.Format)
		if attr != nil {
			attr.format = C.int(a.Format)
		}
	}
	return rc
}

// waitSetAt returns the wait set of an attribute, nil for other wait objects.
func waitSetAt(p *C.struct_fid_wait, w core.WaitObj) (set *core.WaitSet) {
	if o := objectAt(unsafe.Pointer(p)); o != nil && w == core.WaitSetObj {
		set, _ = o.core.(*core.WaitSet)
	}
	return set
}

// effective returns the wait object that the queue gets.
func effective(w core.WaitObj) core.WaitObj {
	if w == core.WaitUnspec {
		return core.WaitFD
	}
	return w
}

// give writes completions to C's ring.
func give(ring *C.struct_gf_comp, entries []core.CQEntry, src []core.FIAddr) {
	out := unsafe.Slice(ring, len(entries))
	for i := range entries {
		e := &entries[i]
		out[i] = C.struct_gf_comp{context: C.uint64_t(e.Ctx), flags: C.uint64_t(e.Flags), len: C.uint64_t(e.Len),
			buf: C.uint64_t(uintptr(unsafe.Pointer(unsafe.SliceData(e.Buf)))), data: C.uint64_t(e.Data), tag: C.uint64_t(e.Tag), src: C.uint64_t(src[i])}
	}
}

//export goCQFill
func goCQFill(id C.uint64_t, ring *C.struct_gf_comp, room C.size_t) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*queue](id)
	n, err := q.ReadFrom(q.entries[:room], q.src[:room])
	if err != nil {
		return C.ssize_t(status(err))
	}
	give(ring, q.entries[:n], q.src[:n])
	return C.ssize_t(n)
}

//export goCQWait
func goCQWait(id C.uint64_t, out *C.struct_gf_comp, room C.size_t, timeout C.int) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*queue](id)
	w := waits.Get().(*wait)
	defer waits.Put(w)
	ctx, cancel := deadline(timeout)
	defer cancel()
	n, err := q.SReadFrom(ctx, w.entries[:room], w.src[:room])
	if err != nil {
		return C.ssize_t(status(err))
	}
	give(out, w.entries[:n], w.src[:n])
	return C.ssize_t(n)
}

// wait is the memory of a blocking read. A queue may have several such reads.
type wait struct {
	entries [C.GF_RING]core.CQEntry
	src     [C.GF_RING]core.FIAddr
}

var waits = sync.Pool{New: func() any { return new(wait) }}

//export goCQSignal
func goCQSignal(id C.uint64_t) (rc C.int) {
	defer guard(&rc)
	q := must[*queue](id)
	return C.int(status(q.Signal()))
}

//export goCQReadErr
func goCQReadErr(id C.uint64_t, out *C.struct_fi_cq_err_entry, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*queue](id)
	refuse(out == nil)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ahead() {
		return -C.FI_EAGAIN // the error follows the completions that were read ahead
	}
	var e core.CQErrEntry
	if err := q.ReadErr(&e); err != nil {
		return C.ssize_t(status(err))
	}
	q.last = e
	out.op_context, out.flags, out.len = pointer(e.Ctx), C.uint64_t(e.Flags), C.size_t(e.Len)
	out.buf, out.data, out.tag = unsafe.Pointer(unsafe.SliceData(e.Buf)), C.uint64_t(e.Data), C.uint64_t(e.Tag)
	out.olen, out.err, out.prov_errno = C.size_t(e.OLen), C.int(e.Err), C.int(e.ProvErrno)
	var data []byte
	if e.Err == core.ErrAddrNotAvail {
		data = encodeAddr(e.Peer)
	}
	q.giveErrData(out, data)
	if q.api >= core.V(1, 20) {
		out.src_addr = C.fi_addr_t(e.SrcAddr)
	}
	return 1
}

// giveErrData writes err_data: since API 1.5 into the program's buffer if it passes one, otherwise into memory that
// is valid until the next error (fi_cq(3)).
func (q *queue) giveErrData(out *C.struct_fi_cq_err_entry, data []byte) {
	if q.api >= core.V(1, 5) && out.err_data != nil && out.err_data_size > 0 {
		n := copy(unsafe.Slice((*byte)(out.err_data), int(out.err_data_size)), data)
		out.err_data_size = C.size_t(n)
		return
	}
	C.free(q.errData)
	q.errData = nil
	if len(data) > 0 {
		q.errData = C.CBytes(data)
	}
	out.err_data = q.errData
	if q.api >= core.V(1, 5) {
		out.err_data_size = C.size_t(len(data))
	}
}

// pointer returns an operation's context as C passed it.
func pointer(c core.OpContext) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&c)) }

//export goStrError
func goStrError(id C.uint64_t, provErrno C.int, buf *C.char, n C.size_t) *C.char {
	o := find(id)
	if o == nil {
		return goErrText(provErrno)
	}
	text := ""
	q, isCQ := o.of.(*queue)
	switch {
	case isCQ && q.last.ProvErrno == int(provErrno) && q.last.Detail != "":
		text = q.last.Detail
	default:
		if s, ok := o.core.(interface{ StrError(int) string }); ok {
			text = s.StrError(int(provErrno))
		}
	}
	if buf != nil && n > 0 {
		giveText(text, buf, n)
		return buf
	}
	if !isCQ {
		return goErrText(provErrno)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	C.free(unsafe.Pointer(q.text))
	q.text = C.CString(text)
	return q.text
}

// giveText copies a text with its NUL to the program's buffer. It truncates a text that is too long.
func giveText(text string, buf *C.char, n C.size_t) {
	out := unsafe.Slice((*byte)(unsafe.Pointer(buf)), int(n))
	out[copy(out[:n-1], text)] = 0
}

// counter is a counter (fi_cntr(3)).
type counter struct {
	*core.Counter
	wait core.WaitObj
}

func (c *counter) waitObj() core.WaitObj { return c.wait }

//export goCntrOpen
func goCntrOpen(id C.uint64_t, attr *C.struct_fi_cntr_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(out == nil)
	var a core.CntrAttr
	if attr != nil {
		refuse(attr.events < 0 || attr.wait_obj < 0)
		a = core.CntrAttr{Events: core.CntrEvents(attr.events), WaitObj: core.WaitObj(attr.wait_obj), Flags: core.CntrFlags(attr.flags)}
		a.WaitSet = waitSetAt(attr.wait_set, a.WaitObj)
	}
	c, err := d.OpenCounter(a)
	fail(err)
	return open(c, &counter{c, effective(a.WaitObj)}, C.FI_CLASS_CNTR, context, out)
}

//export goCntrRead
func goCntrRead(id C.uint64_t) (n C.uint64_t) {
	defer guard(&n)
	if c := lookup[*counter](id); c != nil {
		return C.uint64_t(c.Value())
	}
	return 0
}

//export goCntrReadErr
func goCntrReadErr(id C.uint64_t) (n C.uint64_t) {
	defer guard(&n)
	if c := lookup[*counter](id); c != nil {
		return C.uint64_t(c.ErrValue())
	}
	return 0
}

//export goCntrChange
func goCntrChange(id C.uint64_t, what C.int, v C.uint64_t) (rc C.int) {
	defer guard(&rc)
	c := must[*counter](id)
	f := [...]func(uint64) error{c.Add, c.Set, c.AddErr, c.SetErr}[what]
	return C.int(status(f(uint64(v))))
}

//export goCntrWait
func goCntrWait(id C.uint64_t, threshold C.uint64_t, timeout C.int) (rc C.int) {
	defer guard(&rc)
	c := must[*counter](id)
	ctx, cancel := deadline(timeout)
	defer cancel()
	err := c.Wait(ctx, uint64(threshold))
	if err == core.ErrNoSys {
		err = c.watch(ctx, uint64(threshold))
	}
	return C.int(status(err))
}

// watch waits on a counter without a wait object by reads. Programs do this, although fi_cntr(3) does not define
// it.
func (c *counter) watch(ctx context.Context, threshold uint64) error {
	const spins = 1000 // then other threads get the processor between reads
	errs := c.ErrValue()
	for i := 0; c.Value() < threshold; i++ {
		switch {
		case c.ErrValue() != errs:
			return core.ErrAvail
		case i < spins:
			runtime.Gosched()
			continue
		}
		select {
		case <-ctx.Done():
			return core.ErrTimedOut
		case <-time.After(20 * time.Microsecond):
		}
	}
	return nil
}
