//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"slices"
	"sync"
	"unsafe"

	"gofabric/core"
)

// pollSet is a poll set (fi_poll(3)). It first checks the completions that queues have read ahead, which the set of
// core no longer sees.
type pollSet struct {
	*core.PollSet
	mu     sync.Mutex
	queues []*object
}

//export goPollOpen
func goPollOpen(id C.uint64_t, attr *C.struct_fi_poll_attr, out *unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(out == nil)
	var a core.PollAttr
	if attr != nil {
		a.Flags = uint64(attr.flags)
	}
	p, err := d.OpenPoll(a)
	fail(err)
	return open(p, &pollSet{PollSet: p}, C.FI_CLASS_POLL, nil, out)
}

//export goPollChange
func goPollChange(id, of C.uint64_t, add C.int, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	p, o := lookup[*pollSet](id), find(of)
	refuse(p == nil || o == nil || flags != 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if add == 0 {
		p.queues = slices.DeleteFunc(p.queues, func(q *object) bool { return q == o })
		return C.int(status(p.Del(o.core)))
	}
	err := p.Add(o.core)
	if _, ok := o.of.(*queue); ok && err == nil && !slices.Contains(p.queues, o) {
		p.queues = append(p.queues, o)
	}
	return C.int(status(err))
}

//export goPollPoll
func goPollPoll(id C.uint64_t, out *unsafe.Pointer, count C.int) (rc C.int) {
	defer guard(&rc)
	p := must[*pollSet](id)
	refuse(count < 0 || (out == nil && count > 0))
	ready := make([]core.Object, int(count))
	n, err := p.Poll(ready)
	if err != nil {
		return C.int(status(err))
	}
	ready = ready[:n]
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.queues {
		if len(ready) < int(count) && q.of.(*queue).ahead() && !slices.Contains(ready, q.core) {
			ready = append(ready, q.core)
		}
	}
	contexts := unsafe.Slice(out, int(count))
	for i, o := range ready {
		contexts[i] = (*C.struct_fid)(fidOf(o)).context
	}
	return C.int(len(ready))
}
