//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"gofabric/core"
)

// This file has the table of objects that C programs hold. Each has a number, which is before the object in C
// memory.

// The table grows by chunks that never move, so that look-ups need no lock.
const (
	chunkBits = 10
	chunkLen  = 1 << chunkBits
	maxChunks = 1 << 14
)

// slot is an entry of the table. A number has the slot's use count above its index, so that the number of a closed
// object finds nothing.
type slot struct {
	obj  atomic.Pointer[object]
	uses uint64
}

var table struct {
	mu     sync.Mutex
	chunks [maxChunks]atomic.Pointer[[chunkLen]slot]
	n      uint64   // number of slots
	free   []uint64 // indices
}

// object is the object of a number: the object of core, its C memory, and the state of its class.
type object struct {
	id   uint64
	fid  unsafe.Pointer // C memory: struct fid_...
	core core.Object
	of   any // *endpoint, *queue, ... by class
}

// insert adds o to the table and makes its C side. context is the application's.
func insert(o *object, class C.size_t, context unsafe.Pointer) error {
	table.mu.Lock()
	var index uint64
	if k := len(table.free); k > 0 {
		index, table.free = table.free[k-1], table.free[:k-1]
	} else {
		if table.n >= maxChunks*chunkLen {
			table.mu.Unlock()
			return core.ErrNoMem
		}
		index = table.n
		table.n++
		if index%chunkLen == 0 {
			table.chunks[index>>chunkBits].Store(new([chunkLen]slot))
		}
	}
	table.mu.Unlock()
	s := &table.chunks[index>>chunkBits].Load()[index%chunkLen]
	s.uses++
	o.id = s.uses<<32 | index
	if o.fid = C.gf_new(class, C.uint64_t(o.id), context); o.fid == nil {
		drop(o)
		return core.ErrNoMem
	}
	s.obj.Store(o)
	byCore.Store(o.core, o)
	return nil
}

// byCore finds the C side of an object of core, for events and poll sets. No fast path uses it.
var byCore sync.Map

// remove removes o from the table and frees its C side.
func remove(o *object) {
	byCore.CompareAndDelete(o.core, o)
	index := o.id & 0xffffffff
	table.chunks[index>>chunkBits].Load()[index%chunkLen].obj.Store(nil)
	C.gf_free(o.fid)
	drop(o)
}

func drop(o *object) {
	table.mu.Lock()
	table.free = append(table.free, o.id&0xffffffff)
	table.mu.Unlock()
}

// find returns the object of a number, nil if it is not open.
func find(id C.uint64_t) *object {
	index := uint64(id) & 0xffffffff
	if index >= maxChunks*chunkLen {
		return nil
	}
	chunk := table.chunks[index>>chunkBits].Load()
	if chunk == nil {
		return nil
	}
	if o := chunk[index%chunkLen].obj.Load(); o != nil && o.id == uint64(id) {
		return o
	}
	return nil
}

// lookup returns the state of a number's object, nil if it is not open or of another class.
func lookup[T any](id C.uint64_t) T {
	if o := find(id); o != nil {
		if v, ok := o.of.(T); ok {
			return v
		}
	}
	var zero T
	return zero
}

// coreOf returns the object of core with a number.
func coreOf[T any](id C.uint64_t) (T, bool) {
	var zero T
	o := find(id)
	if o == nil {
		return zero, false
	}
	v, ok := o.core.(T)
	return v, ok
}

// objectAt returns the object of a struct fid in C memory, nil for NULL or a closed object.
func objectAt(fid unsafe.Pointer) *object {
	if fid == nil {
		return nil
	}
	h := (*C.struct_gf_head)(unsafe.Add(fid, -int(unsafe.Sizeof(C.struct_gf_head{}))))
	return find(h.id)
}

// fidOf returns the struct fid of an object of core, nil if it has no C side.
func fidOf(o core.Object) unsafe.Pointer {
	if o == nil {
		return nil
	}
	if v, ok := byCore.Load(o); ok {
		return v.(*object).fid
	}
	return nil
}

// status returns an error's value in C: 0, or a negative error number.
func status(err error) int64 {
	if err == nil {
		return 0
	}
	if e, ok := err.(core.Errno); ok {
		return -int64(e)
	}
	e := core.ErrnoOf(err)
	if e != core.ErrAgain {
		warn(err)
	}
	return -int64(e)
}

// logged reports whether FI_LOG_LEVEL enables a log.
var logged = sync.OnceValue(func() bool { return os.Getenv("FI_LOG_LEVEL") != "" })

// warn prints details that C's error numbers cannot express.
func warn(err error) {
	if logged() {
		fmt.Fprintln(os.Stderr, "gofabric:", err)
	}
}

// guard turns a panic into an error of the call, because a C program cannot recover from it. Every export that
// could panic defers it.
func guard[T ~int32 | ~int64 | ~uint64](rc *T) {
	if r := recover(); r != nil {
		code := -int64(core.ErrOther)
		if f, ok := r.(failure); ok {
			code = status(f.err)
		} else {
			fmt.Fprintf(os.Stderr, "gofabric: panic: %v\n%s", r, debug.Stack())
		}
		*rc = T(code)
	}
}

// failure is the panic that ends an export early: guard returns its error.
type failure struct{ err error }

// fail ends the call if err is not nil. Calls that often fail, with FI_EAGAIN, return instead, which is faster.
func fail(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// refuse ends the call with -FI_EINVAL if an argument is invalid, such as an object that is not open.
func refuse(invalid bool) {
	if invalid {
		panic(failure{core.ErrInval})
	}
}

// must is lookup for calls that only such an object has.
func must[T any](id C.uint64_t) T {
	o := find(id)
	refuse(o == nil)
	v, ok := o.of.(T)
	refuse(!ok)
	return v
}
