//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import "gofabric/core"

// goCollective is every collective operation (fi_collective(3)). Lengths follow from the count and the number of
// members.
//
//export goCollective
func goCollective(id C.uint64_t, c *C.struct_gf_coll) (rc C.ssize_t) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(e.ep == nil)
	return C.ssize_t(status(collective(e, c)))
}

func collective(e *endpoint, c *C.struct_gf_coll) error {
	ep := e.ep
	coll, root, flags, ctx := core.FIAddr(c.coll), core.FIAddr(c.root), core.OpFlags(c.flags), core.OpContext(c.context)
	if c.what == C.GF_BARRIER {
		return ep.Barrier2(coll, flags, ctx)
	}
	dt, op, n := core.Datatype(c.datatype), core.AtomicOp(c.op), fromSize(c.count)
	w := width(dt)
	if w == 0 || n > (1<<48)/w {
		return core.ErrInval
	}
	all := 1
	switch c.what {
	case C.GF_ALLTOALL, C.GF_ALLGATHER, C.GF_REDUCE_SCATTER, C.GF_SCATTER, C.GF_GATHER:
		if all = e.members(coll); all == 0 {
			return core.ErrInval
		}
	}
	one, whole := C.size_t(n*w), C.size_t(n*w*all)
	d, rd := core.Desc(c.desc), core.Desc(c.result_desc)
	switch c.what {
	case C.GF_BROADCAST:
		return ep.Broadcast(memory(c.buf, one), n, d, coll, root, dt, flags, ctx)
	case C.GF_ALLTOALL:
		return ep.AllToAll(memory(c.buf, whole), n, d, memory(c.result, whole), rd, coll, dt, flags, ctx)
	case C.GF_ALLREDUCE:
		return ep.AllReduce(memory(c.buf, one), n, d, memory(c.result, one), rd, coll, dt, op, flags, ctx)
	case C.GF_ALLGATHER:
		return ep.AllGather(memory(c.buf, one), n, d, memory(c.result, whole), rd, coll, dt, flags, ctx)
	case C.GF_REDUCE_SCATTER:
		return ep.ReduceScatter(memory(c.buf, whole), n, d, memory(c.result, one), rd, coll, dt, op, flags, ctx)
	case C.GF_REDUCE:
		return ep.Reduce(memory(c.buf, one), n, d, memory(c.result, one), rd, coll, root, dt, op, flags, ctx)
	case C.GF_SCATTER:
		return ep.Scatter(memory(c.buf, whole), n, d, memory(c.result, one), rd, coll, root, dt, flags, ctx)
	case C.GF_GATHER:
		return ep.Gather(memory(c.buf, one), n, d, memory(c.result, whole), rd, coll, root, dt, flags, ctx)
	}
	return core.ErrNoSys
}
