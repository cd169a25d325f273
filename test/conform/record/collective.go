package record

import "gofabric/core"

// A group's address is the stack's own, and members stand in the address vector: only sets must be replaced.

func (d *domain) QueryCollective(op core.CollectiveOp, attr *core.CollectiveAttr, flags core.Flags) error {
	return d.r.flags("fi_query_collective", flags, d.Domain.QueryCollective(op, attr, flags))
}

func (e *endpoint) JoinCollective(coll core.FIAddr, set core.AVSet, flags core.Flags, ctx any) (core.MC, error) {
	below, err := e.Endpoint.JoinCollective(coll, bare(set), flags, ctx)
	e.r.call("fi_join_collective", err)
	if err != nil {
		return nil, err
	}
	return stands(e.f, below, &group{MC: below, f: e.f, r: e.r}), nil
}

func (e *endpoint) Barrier(coll core.FIAddr, ctx core.Context) error {
	return e.r.call("fi_barrier", e.Endpoint.Barrier(coll, ctx))
}

func (e *endpoint) Barrier2(coll core.FIAddr, flags core.Flags, ctx core.Context) error {
	return e.r.flags("fi_barrier2", flags, e.Endpoint.Barrier2(coll, flags, ctx))
}

func (e *endpoint) Broadcast(buf []byte, count int, desc core.Desc, coll, root core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	err := e.Endpoint.Broadcast(buf, count, desc, coll, root, dt, flags, ctx)
	return e.r.flags("fi_broadcast", flags, err)
}

func (e *endpoint) AllToAll(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	err := e.Endpoint.AllToAll(buf, count, desc, result, rdesc, coll, dt, flags, ctx)
	return e.r.flags("fi_alltoall", flags, err)
}

func (e *endpoint) AllReduce(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, op core.AtomicOp,
	flags core.Flags, ctx core.Context) error {
	err := e.Endpoint.AllReduce(buf, count, desc, result, rdesc, coll, dt, op, flags, ctx)
	return e.r.flags("fi_allreduce", flags, err)
}

func (e *endpoint) AllGather(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	err := e.Endpoint.AllGather(buf, count, desc, result, rdesc, coll, dt, flags, ctx)
	return e.r.flags("fi_allgather", flags, err)
}

func (e *endpoint) ReduceScatter(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll core.FIAddr, dt core.Datatype, op core.AtomicOp,
	flags core.Flags, ctx core.Context) error {
	err := e.Endpoint.ReduceScatter(buf, count, desc, result, rdesc, coll, dt, op, flags, ctx)
	return e.r.flags("fi_reduce_scatter", flags, err)
}

func (e *endpoint) Reduce(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll, root core.FIAddr, dt core.Datatype, op core.AtomicOp,
	flags core.Flags, ctx core.Context) error {
	err := e.Endpoint.Reduce(buf, count, desc, result, rdesc, coll, root, dt, op, flags, ctx)
	return e.r.flags("fi_reduce", flags, err)
}

func (e *endpoint) Scatter(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll, root core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	err := e.Endpoint.Scatter(buf, count, desc, result, rdesc, coll, root, dt, flags, ctx)
	return e.r.flags("fi_scatter", flags, err)
}

func (e *endpoint) Gather(buf []byte, count int, desc core.Desc, result []byte, rdesc core.Desc, coll, root core.FIAddr, dt core.Datatype, flags core.Flags,
	ctx core.Context) error {
	err := e.Endpoint.Gather(buf, count, desc, result, rdesc, coll, root, dt, flags, ctx)
	return e.r.flags("fi_gather", flags, err)
}
