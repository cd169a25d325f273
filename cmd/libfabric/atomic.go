//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"unsafe"

	"gofabric/core"
)

// This file has atomic operations (fi_atomic(3)).

// width returns the size of an operand in bytes, 0 for an unknown type.
func width(dt core.Datatype) int {
	switch dt {
	case core.Int8, core.Uint8, core.Float8E4M3, core.Float8E5M2:
		return 1
	case core.Int16, core.Uint16, core.Float16, core.BFloat16:
		return 2
	case core.Int32, core.Uint32, core.Float:
		return 4
	case core.Int64, core.Uint64, core.Double, core.FloatComplex:
		return 8
	case core.DoubleComplex, core.LongDouble, core.Int128, core.Uint128:
		return 16
	case core.LongDoubleComplex:
		return 32
	}
	return 0
}

// operands appends the memory of an array of operand counts.
func operands(out [][]byte, iov *C.struct_fi_ioc, n C.size_t, width int) [][]byte {
	for _, v := range unsafe.Slice(iov, int(n)) {
		out = append(out, memory(v.addr, v.count*C.size_t(width)))
	}
	return out
}

func (a *args) fillAtomic(m *C.struct_fi_msg_atomic, flags core.OpFlags) {
	refuse(badArray(unsafe.Pointer(m.msg_iov), m.iov_count) || badArray(unsafe.Pointer(m.rma_iov), m.rma_iov_count))
	dt := core.Datatype(m.datatype)
	w := width(dt)
	if w == 0 {
		fail(core.ErrOpNotSupp)
	}
	a.iov, a.desc, a.ioc = a.iov[:0], descs(a.desc[:0], m.desc, m.iov_count), a.ioc[:0]
	if core.AtomicOp(m.op) != core.AtomicRead { // an atomic read has no operands
		a.iov = operands(a.iov, m.msg_iov, m.iov_count, w)
	}
	for _, r := range unsafe.Slice(m.rma_iov, int(m.rma_iov_count)) {
		a.ioc = append(a.ioc, core.RMAIoc{Addr: uint64(r.addr), Count: fromSize(r.count), Key: uint64(r.key)})
	}
	a.atomic = core.AtomicArgs{IOV: a.iov, Desc: a.desc, Addr: core.FIAddr(m.addr), RMAIOC: a.ioc, Type: dt, Op: core.AtomicOp(m.op),
		Ctx: fromContext(m.context), Data: uint64(m.data), Trigger: a.triggered(flags, m.context)}
}

// fillFetch and fillCompare read the buffers for results and for comparisons.
func (a *args) fillFetch(f *C.struct_fi_msg_fetch) {
	refuse(badArray(unsafe.Pointer(f.msg_iov), f.iov_count))
	a.result = operands(a.result[:0], f.msg_iov, f.iov_count, width(a.atomic.Type))
	a.resultDesc = descs(a.resultDesc[:0], f.desc, f.iov_count)
}

func (a *args) fillCompare(c *C.struct_fi_msg_compare) {
	refuse(badArray(unsafe.Pointer(c.msg_iov), c.iov_count))
	a.compare = operands(a.compare[:0], c.msg_iov, c.iov_count, width(a.atomic.Type))
	a.compareDesc = descs(a.compareDesc[:0], c.desc, c.iov_count)
}

//export goAtomic
func goAtomic(id C.uint64_t, m *C.struct_fi_msg_atomic, fetch *C.struct_fi_msg_fetch, compare *C.struct_fi_msg_compare, flags C.uint64_t, plain C.int) (rc C.ssize_t) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(e.ep == nil || m == nil)
	f := core.OpFlags(flags)
	if plain != 0 {
		f = e.txFlags
	}
	a := argPool.Get().(*args)
	defer a.drop()
	a.fillAtomic(m, f)
	if fetch != nil {
		a.fillFetch(fetch)
	}
	if compare == nil {
		if fetch == nil {
			return C.ssize_t(status(e.ep.Atomic(&a.atomic, f)))
		}
		return C.ssize_t(status(e.ep.FetchAtomic(&a.atomic, a.result, a.resultDesc, f)))
	}
	a.fillCompare(compare)
	return C.ssize_t(status(e.ep.CompareAtomic(&a.atomic, a.compare, a.compareDesc, a.result, a.resultDesc, f)))
}

//export goInjectAtomic
func goInjectAtomic(id C.uint64_t, buf unsafe.Pointer, count C.size_t, dest C.fi_addr_t, addr, key C.uint64_t, dt, op C.int) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	w := width(core.Datatype(dt))
	if w == 0 || count > 1<<20 {
		return C.ssize_t(status(core.ErrOpNotSupp))
	}
	return C.ssize_t(status(ep.InjectAtomic(memory(buf, count*C.size_t(w)), core.FIAddr(dest), uint64(addr), uint64(key), core.Datatype(dt), core.AtomicOp(op))))
}

//export goAtomicValid
func goAtomicValid(id C.uint64_t, kind, dt, op C.int, count *C.size_t) (rc C.int) {
	defer guard(&rc)
	ep := transmitter(id)
	f := [...]func(core.Datatype, core.AtomicOp) (int, error){ep.AtomicValid, ep.FetchAtomicValid, ep.CompareAtomicValid}[kind]
	n, err := f(core.Datatype(dt), core.AtomicOp(op))
	if err == nil && count != nil {
		*count = toSize(n)
	}
	return C.int(status(err))
}
