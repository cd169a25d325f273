//go:build linux

package main

/*
#include <stdlib.h>
#include "gf.h"
*/
import "C"

import (
	"sync/atomic"
	"unsafe"

	"gofabric/core"
	"gofabric/internal/progress"
)

// This file has receives that C leaves for the next pass. A call into Go for each would cost more than the post
// itself.

// inlet is the inlet of a domain. Only a thread that holds the engine's lock takes receives from it.
type inlet struct {
	c    *C.struct_gf_inlet
	prog *progress.Engine
}

// late is a receive context to which receives can be posted that C accepted earlier. All are, except those of
// layers that check each call (FI_STRICT).
type late interface {
	RecvRoom() (room int, tagged bool)
	RecvLate(buf []byte, src core.FIAddr, tagged bool, tag, ignore uint64, ctx core.OpContext)
}

// posting returns the driver to which receives are posted.
func (e *endpoint) posting() any {
	if e.srx != nil {
		return e.srx.Driver()
	}
	return e.ep.Driver()
}

// shared returns a word that C and Go access concurrently.
func shared(p *C.uint32_t) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(p)) }

// newInlet returns the inlet of a domain, nil if its engine is not known.
func newInlet(d *core.Domain) *inlet {
	p, ok := d.Driver().(interface{ Progress() *progress.Engine })
	if !ok {
		return nil
	}
	c := C.gf_inlet_new()
	if c == nil {
		return nil // the domain works without an inlet
	}
	in := &inlet{c: c, prog: p.Progress()}
	in.prog.Lock()
	in.prog.AddInlet(in)
	in.prog.Unlock()
	return in
}

// closed is called when the domain is closed. All its receive contexts are closed then.
func (d *domain) closed() {
	if in := d.inlet; in != nil {
		in.prog.Lock()
		in.prog.DropInlet(in)
		in.prog.Unlock()
		C.free(unsafe.Pointer(in.c))
	}
}

// Shut implements progress.Inlet.
func (in *inlet) Shut(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	shared(&in.c.shut).Store(v)
}

// Take implements progress.Inlet. It drops receives for an endpoint that is closed, as Close drops all receives.
func (in *inlet) Take() {
	head, tail := uint32(in.c.head), shared(&in.c.tail).Load()
	for ; head != tail; head++ {
		p := &in.c.ring[head%C.GF_INLET]
		if e := lookup[*endpoint](p.ep); e != nil && e.late != nil {
			e.late.RecvLate(landing(p.buf, p.len), core.FIAddr(p.src), p.tagged != 0, uint64(p.tag), uint64(p.ignore), core.OpContext(p.context))
			e.taken++
			e.makeRoom()
		}
		shared(&in.c.head).Store(head + 1)
	}
}

// makeRoom stores how many receives C may accept. Locked.
func (e *endpoint) makeRoom() {
	room, tagged := e.late.RecvRoom()
	e.c.tagged = 0
	if tagged {
		e.c.tagged = 1
	}
	shared(&e.c.limit).Store(e.taken + uint32(min(room, C.GF_INLET)))
}

// mayLeave allows C, whose side of e is c, to leave receives from now on. An alias has flags of its own, but its
// endpoint's room: it has no inlet.
func (e *endpoint) mayLeave(c *C.struct_gf_ep) {
	to, ok := e.posting().(late)
	if !ok || e.d == nil || e.d.inlet == nil {
		return
	}
	in := e.d.inlet
	in.prog.Lock()
	e.c, e.late = c, to
	e.makeRoom()
	in.prog.Unlock()
	(*atomic.Pointer[C.struct_gf_inlet])(unsafe.Pointer(&c.inlet)).Store(in.c)
}

// posted returns the status of a receive that Go posted. It reduces the room that C may use.
func (e *endpoint) posted(err error) int64 {
	if err == nil {
		e.renewRoom()
	}
	return status(err)
}

// renewRoom calls makeRoom after a change that affects the room.
func (e *endpoint) renewRoom() {
	if e.d == nil || e.d.inlet == nil {
		return
	}
	e.d.inlet.prog.Lock()
	if e.late != nil {
		e.makeRoom()
	}
	e.d.inlet.prog.Unlock()
}

// leavesNoMore makes Go post all receives of e from now on. It must be called before the C side is freed.
func (e *endpoint) leavesNoMore() {
	if e.c == nil {
		return
	}
	(*atomic.Pointer[C.struct_gf_inlet])(unsafe.Pointer(&e.c.inlet)).Store(nil)
	e.settle()
}

// closed is called when e is closed.
func (e *endpoint) closed() {
	if e.c == nil {
		return
	}
	in := e.d.inlet
	in.prog.Lock()
	e.c, e.late = nil, nil
	in.prog.Unlock()
}

// settle posts the receives in the inlet before a call that depends on them.
func (e *endpoint) settle() {
	if e.d != nil {
		e.d.settle()
	}
}

func (d *domain) settle() {
	in := d.inlet
	if in == nil || shared(&in.c.head).Load() == shared(&in.c.tail).Load() {
		return
	}
	in.prog.Lock()
	in.prog.Settle()
	in.prog.Unlock()
}

// settled returns the endpoint of a number after its receives in the inlet were posted, nil if there is no such
// endpoint.
func settled(id C.uint64_t) *endpoint {
	e := lookup[*endpoint](id)
	if e != nil {
		e.settle()
	}
	return e
}

//export goSettle
func goSettle(id C.uint64_t) {
	var rc int64
	defer guard(&rc)
	settled(id)
}
