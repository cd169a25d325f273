//go:build linux

package main

/*
#include <stdlib.h>
#include "gf.h"
*/
import "C"

import (
	"context"
	"sync"
	"unsafe"

	"gofabric/core"
)

// This file has event queues (fi_eq(3)).

type eventQueue struct {
	*core.EventQueue
	api  core.Version
	wait core.WaitObj

	mu      sync.Mutex
	errData unsafe.Pointer // C memory, until the next error
}

func (q *eventQueue) closed() { C.free(q.errData) }

func (q *eventQueue) waitObj() core.WaitObj { return q.wait }

// request is a connection request. fi_info.handle of its event points to it until it is accepted or rejected.
type request struct{ info *core.Info }

// noObject is the object of core for objects that have none there.
type noObject struct{ _ byte }

func (*noObject) Close() error { return nil }

//export goEQOpen
func goEQOpen(id C.uint64_t, attr *C.struct_fi_eq_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	f := must[*fabric](id)
	refuse(out == nil)
	var a core.EQAttr
	if attr != nil {
		refuse(attr.wait_obj < 0)
		a = core.EQAttr{Size: fromSize(attr.size), Flags: core.EQFlags(attr.flags), WaitObj: core.WaitObj(attr.wait_obj)}
		a.WaitSet = waitSetAt(attr.wait_set, a.WaitObj)
	}
	eq, err := f.OpenEQ(a)
	fail(err)
	return open(eq, &eventQueue{EventQueue: eq, api: f.api, wait: effective(a.WaitObj)}, C.FI_CLASS_EQ, context, out)
}

//export goEQRead
func goEQRead(id C.uint64_t, event *C.uint32_t, buf unsafe.Pointer, n C.size_t, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*eventQueue](id)
	refuse(event == nil)
	return q.read(context.Background(), false, event, buf, n, core.EQFlags(flags))
}

//export goEQSRead
func goEQSRead(id C.uint64_t, event *C.uint32_t, buf unsafe.Pointer, n C.size_t, timeout C.int, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*eventQueue](id)
	refuse(event == nil)
	ctx, cancel := deadline(timeout)
	defer cancel()
	return q.read(ctx, true, event, buf, n, core.EQFlags(flags))
}

// read takes an event. With wait it waits for one until ctx ends. A buffer that is too short for the event's
// structure leaves the event in the queue (FI_ETOOSMALL). The private data behind the structure, and an event of
// the program, are truncated: programs pass no room for data that they do not need.
func (q *eventQueue) read(ctx context.Context, wait bool, event *C.uint32_t, buf unsafe.Pointer, n C.size_t, flags core.EQFlags) C.ssize_t {
	var ev core.EQEvent
	var err error
	if wait {
		err = q.SRead(ctx, &ev, flags|core.EQPeek)
	} else {
		err = q.Read(&ev, flags|core.EQPeek)
	}
	if err != nil {
		return C.ssize_t(status(err))
	}
	if buf == nil {
		n = 0
	}
	if eventSize(&ev) > int(n) {
		return C.ssize_t(status(core.ErrTooSmall))
	}
	if flags&core.EQPeek == 0 {
		if err := q.Read(&ev, flags); err != nil { // another reader was faster
			return C.ssize_t(status(err))
		}
		if eventSize(&ev) > int(n) {
			return C.ssize_t(status(core.ErrTooSmall))
		}
	}
	*event = C.uint32_t(ev.Type)
	room := unsafe.Slice((*byte)(buf), int(n))
	if w, ok := ev.Context.(written); ok {
		return C.ssize_t(copy(room, w))
	}
	if err := fillEvent(&ev, buf, flags&core.EQPeek != 0); err != nil {
		return C.ssize_t(status(err))
	}
	size := eventSize(&ev)
	return C.ssize_t(size + copy(room[size:], ev.CMData))
}

// written is an event of the program (fi_eq_write(3)): bytes of which only the program knows the format.
type written []byte

func isCM(t core.EQEventType) bool {
	return t == core.EventConnReq || t == core.EventConnected || t == core.EventShutdown
}

// eventSize returns the size of an event's structure, without the data behind it.
func eventSize(ev *core.EQEvent) int {
	if _, ok := ev.Context.(written); ok {
		return 0
	}
	if isCM(ev.Type) {
		return int(unsafe.Sizeof(C.struct_fi_eq_cm_entry{}))
	}
	return int(unsafe.Sizeof(C.struct_fi_eq_entry{}))
}

func fillEvent(ev *core.EQEvent, buf unsafe.Pointer, peek bool) error {
	if !isCM(ev.Type) {
		e := (*C.struct_fi_eq_entry)(buf)
		e.fid = (*C.struct_fid)(fidOf(ev.Object))
		e.context, e.data = contextOf(ev.Context), C.uint64_t(ev.Data)
		if mc, ok := ev.Object.(*core.MC); ok && e.fid != nil {
			(*C.struct_fid_mc)(unsafe.Pointer(e.fid)).fi_addr = C.fi_addr_t(mc.Addr())
		}
		return nil
	}
	e := (*C.struct_fi_eq_cm_entry)(buf)
	e.fid, e.info = (*C.struct_fid)(fidOf(ev.Object)), nil
	if o := objectAt(unsafe.Pointer(e.fid)); o != nil && ev.Type == core.EventShutdown {
		if ep, ok := o.of.(*endpoint); ok {
			ep.leavesNoMore() // from now on a receive fails in its call
		}
	}
	if ev.Info != nil && !peek {
		e.info = toInfo(ev.Info)
		if ev.Info.Handle != nil {
			o := &object{core: &noObject{}, of: &request{ev.Info}}
			if err := insert(o, C.FI_CLASS_CONNREQ, nil); err != nil {
				goFreeInfo(e.info)
				return err
			}
			e.info.handle = (*C.struct_fid)(o.fid)
		}
	}
	return nil
}

// contextOf returns the C context of an event: that of fi_av_insert or fi_join.
func contextOf(c any) unsafe.Pointer {
	if v, ok := c.(core.OpContext); ok {
		return pointer(v)
	}
	return nil
}

// fromContext returns a C context as Go stores it.
func fromContext(p unsafe.Pointer) core.OpContext { return core.OpContext(uintptr(p)) }

//export goEQReadErr
func goEQReadErr(id C.uint64_t, out *C.struct_fi_eq_err_entry, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*eventQueue](id)
	refuse(out == nil)
	q.mu.Lock()
	defer q.mu.Unlock()
	var e core.EQErrEntry
	if err := q.ReadErr(&e, core.EQFlags(flags)); err != nil {
		return C.ssize_t(status(err))
	}
	out.fid, out.context, out.data = (*C.struct_fid)(fidOf(e.Object)), contextOf(e.Context), C.uint64_t(e.Data)
	if out.fid != nil && out.context == nil {
		out.context = out.fid.context
	}
	out.err, out.prov_errno = C.int(e.Err), C.int(e.ProvErrno)
	if q.api >= core.V(1, 5) && out.err_data != nil && out.err_data_size > 0 {
		out.err_data_size = C.size_t(copy(unsafe.Slice((*byte)(out.err_data), int(out.err_data_size)), e.ErrData))
	} else {
		C.free(q.errData)
		q.errData = nil
		if len(e.ErrData) > 0 {
			q.errData = C.CBytes(e.ErrData)
		}
		out.err_data, out.err_data_size = q.errData, C.size_t(len(e.ErrData))
	}
	return C.ssize_t(unsafe.Sizeof(*out))
}

//export goEQWrite
func goEQWrite(id C.uint64_t, event C.uint32_t, buf unsafe.Pointer, n C.size_t, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	q := must[*eventQueue](id)
	refuse((buf == nil && n > 0) || n > maxWritten)
	ev := core.EQEvent{Type: core.EQEventType(event), Context: written(C.GoBytes(buf, C.int(n)))}
	fail(q.Write(ev, core.EQFlags(flags)))
	return C.ssize_t(n)
}

// maxWritten bounds an event that a program writes, in bytes.
const maxWritten = 1 << 16
