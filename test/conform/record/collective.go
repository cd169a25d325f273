package record

import "gofabric/core"

// A group's address is the stack's own, and members stand in the address vector: only sets must be replaced.

func (d *domain) QueryCollective(op core.CollectiveOp, attr *core.CollectiveAttr, flags core.Flags) error {
	return d.r.with("fi_query_collective", flags, func(flags core.Flags) error { return d.Domain.QueryCollective(op, attr, flags) })
}

func (e *endpoint) JoinCollective(coll core.FIAddr, set core.AVSet, flags core.Flags, ctx any) (core.MC, error) {
	if e.r.Lacks("fi_join_collective") {
		return nil, core.ErrNoSys
	}
	below, err := e.Endpoint.JoinCollective(coll, bare(set), flags, ctx)
	e.r.call("fi_join_collective", err)
	if err != nil {
		return nil, err
	}
	return stands(e.f, below, &group{MC: below, f: e.f, r: e.r}), nil
}

func (e *endpoint) Barrier(coll core.FIAddr, ctx core.Context) error {
	return e.r.do("fi_barrier", func() error { return e.Endpoint.Barrier(coll, ctx) })
}

func (e *endpoint) Barrier2(coll core.FIAddr, flags core.Flags, ctx core.Context) error {
	return e.r.with("fi_barrier2", flags, func(flags core.Flags) error { return e.Endpoint.Barrier2(coll, flags, ctx) })
}

func (e *endpoint) Broadcast(buf []byte, count int, desc core.Desc, coll, root core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	return e.r.with("fi_broadcast", flags, func(flags core.Flags) error {
		return e.Endpoint.Broadcast(buf, count, desc, coll, root, dt, flags, ctx)
	})
}

func (e *endpoint) AllToAll(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	return e.r.with("fi_alltoall", flags, func(flags core.Flags) error {
		return e.Endpoint.AllToAll(buf, count, desc, result, rdesc, coll, dt, flags, ctx)
	})
}

func (e *endpoint) AllReduce(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, op core.AtomicOp,
	flags core.Flags, ctx core.Context) error {
	return e.r.with("fi_allreduce", flags, func(flags core.Flags) error {
		return e.Endpoint.AllReduce(buf, count, desc, result, rdesc, coll, dt, op, flags, ctx)
	})
}

func (e *endpoint) AllGather(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	return e.r.with("fi_allgather", flags, func(flags core.Flags) error {
		return e.Endpoint.AllGather(buf, count, desc, result, rdesc, coll, dt, flags, ctx)
	})
}

func (e *endpoint) ReduceScatter(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, op core.AtomicOp,
	flags core.Flags, ctx core.Context) error {
	return e.r.with("fi_reduce_scatter", flags, func(flags core.Flags) error {
		return e.Endpoint.ReduceScatter(buf, count, desc, result, rdesc, coll, dt, op, flags, ctx)
	})
}

func (e *endpoint) Reduce(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll, root core.FIAddr, dt core.Datatype, op core.AtomicOp,
	flags core.Flags, ctx core.Context) error {
	return e.r.with("fi_reduce", flags, func(flags core.Flags) error {
		return e.Endpoint.Reduce(buf, count, desc, result, rdesc, coll, root, dt, op, flags, ctx)
	})
}

func (e *endpoint) Scatter(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll, root core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	return e.r.with("fi_scatter", flags, func(flags core.Flags) error {
		return e.Endpoint.Scatter(buf, count, desc, result, rdesc, coll, root, dt, flags, ctx)
	})
}

func (e *endpoint) Gather(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll, root core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	return e.r.with("fi_gather", flags, func(flags core.Flags) error {
		return e.Endpoint.Gather(buf, count, desc, result, rdesc, coll, root, dt, flags, ctx)
	})
}
