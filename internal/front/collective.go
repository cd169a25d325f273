package front

import (
	"gofabric/core"
	"gofabric/internal/atomics"
	coll "gofabric/internal/coll/engine"
)

// The calls of collective operations (core.Collective, fi_collective(3)).

// collFlags are the flags that these calls take.
const collFlags = core.Completion | core.InjectComplete | core.TransmitComplete | core.DeliveryComplete | core.More

// collective is one call: what all of them have in common.
type collective struct {
	kind    coll.Kind
	group   core.FIAddr
	root    core.FIAddr
	rooted  bool
	in, out []byte
	count   int
	dt      core.Datatype
	op      core.AtomicOp
	flags   core.Flags
	ctx     core.Context
}

// post starts an operation.
func (e *Endpoint) post(a *collective) error {
	if a.flags&^collFlags != 0 {
		return core.ErrBadFlags
	}
	e.prog.Lock()
	err := e.postLocked(a)
	if err == core.ErrAgain {
		e.prog.Pass() // an application that only retries must get somewhere
	}
	e.prog.Unlock()
	return err
}

func (e *Endpoint) postLocked(a *collective) error {
	k := e.coll
	if k == nil {
		return core.ErrOpNotSupp
	}
	if !e.enabled {
		return core.ErrOpBadState
	}
	g := k.at(a.group)
	switch {
	case g == nil:
		return core.ErrInval
	case g.err != nil:
		return Errno(g.err)
	case g.joining != nil:
		return core.ErrOpBadState // EventJoinComplete has not come
	case g.allowed != 0 && g.allowed&setFlags[a.kind] == 0:
		return core.ErrOpNotSupp // the set is not for it (fi_av_set(3))
	case k.active >= max(e.info.Tx.Size, 1):
		return core.ErrAgain
	}
	args := &k.args
	if err := g.fill(args, a); err != nil {
		return err
	}
	o := g.newOp()
	o.ctx, o.silent = a.ctx, e.SilentTx(a.flags)
	o.start(args)
	args.In, args.Out = nil, nil
	return nil
}

// setFlags is what the set of a group must be for.
var setFlags = [...]core.Flags{
	coll.Barrier: core.BarrierSet, coll.Broadcast: core.BroadcastSet, coll.AllToAll: core.AllToAllSet, coll.AllReduce: core.AllReduceSet, coll.AllGather: core.AllGatherSet,
	coll.ReduceScatter: core.ReduceScatterSet, coll.Reduce: core.ReduceSet, coll.Scatter: core.ScatterSet, coll.Gather: core.GatherSet,
}

// reduces says whether an operation computes.
func reduces(kind coll.Kind) bool {
	return kind == coll.AllReduce || kind == coll.ReduceScatter || kind == coll.Reduce
}

// elements finds out about a type and an operation; op counts only where it is computed with.
func elements(kind coll.Kind, dt core.Datatype, op core.AtomicOp) (t atomics.Datatype, o atomics.Op, err error) {
	if !reduces(kind) {
		op = core.AtomicWrite // any type can be moved
	} else if op > core.AtomicBXor {
		return 0, 0, core.ErrOpNotSupp
	}
	t, o, ok := atomics.Of(atomics.Base, uint16(dt), uint16(op))
	if !ok {
		return 0, 0, core.ErrOpNotSupp
	}
	return t, o, nil
}

// fill makes the engine's arguments of a call, and checks the buffers.
func (g *group) fill(args *coll.Args, a *collective) error {
	n := len(g.members)
	*args = coll.Args{Kind: a.kind, Members: n, Rank: g.rank}
	if a.kind == coll.Barrier {
		return nil
	}
	var err error
	if args.Type, args.Op, err = elements(a.kind, a.dt, a.op); err != nil {
		return err
	}
	size := atomics.Size(args.Type)
	if a.count < 0 || a.count > core.MaxSize/size/n {
		return core.ErrInval
	}
	if a.rooted {
		if args.Root = g.rankOf(a.root); args.Root < 0 {
			return core.ErrInval
		}
	}
	args.Block = a.count * size
	in, out := args.Block, args.Block
	switch a.kind {
	case coll.AllToAll:
		in, out = in*n, out*n
	case coll.ReduceScatter, coll.Scatter:
		in *= n
	case coll.AllGather, coll.Gather:
		out *= n
	case coll.Broadcast:
		in = 0
	}
	if root := g.rank == args.Root; a.rooted && !root {
		switch a.kind {
		case coll.Scatter:
			in = 0
		case coll.Reduce, coll.Gather:
			out = 0
		}
	}
	if len(a.in) < in || len(a.out) < out {
		return core.ErrInval
	}
	args.In, args.Out = a.in[:in], a.out[:out]
	return nil
}

// rankOf finds a member by its address in the vector, -1 if it is none.
func (g *group) rankOf(fi core.FIAddr) int {
	for i, p := range g.members {
		if p != nil && p.fi == fi {
			return i
		}
	}
	if a, err := g.k.e.av.Lookup(fi); err == nil {
		if local, _ := g.k.e.ends(^uint64(0)); core.IPAddr(local) == core.IPAddr(a.IP) {
			return g.rank
		}
	}
	return -1
}

// Barrier is fi_barrier (fi_collective(3)).
func (e *Endpoint) Barrier(group core.FIAddr, ctx core.Context) error {
	return e.Barrier2(group, 0, ctx)
}

// Barrier2 is fi_barrier2 (fi_collective(3)).
func (e *Endpoint) Barrier2(group core.FIAddr, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.Barrier, group: group, flags: flags, ctx: ctx})
}

// Broadcast is fi_broadcast (fi_collective(3)).
func (e *Endpoint) Broadcast(buf []byte, count int, _ core.Desc, group, root core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.Broadcast, group: group, root: root, rooted: true, out: buf, count: count, dt: dt, flags: flags, ctx: ctx})
}

// AllToAll is fi_alltoall (fi_collective(3)).
func (e *Endpoint) AllToAll(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.AllToAll, group: group, in: buf, out: result, count: count, dt: dt, flags: flags, ctx: ctx})
}

// AllReduce is fi_allreduce (fi_collective(3)).
func (e *Endpoint) AllReduce(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group core.FIAddr, dt core.Datatype, op core.AtomicOp, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.AllReduce, group: group, in: buf, out: result, count: count, dt: dt, op: op, flags: flags, ctx: ctx})
}

// AllGather is fi_allgather (fi_collective(3)).
func (e *Endpoint) AllGather(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.AllGather, group: group, in: buf, out: result, count: count, dt: dt, flags: flags, ctx: ctx})
}

// ReduceScatter is fi_reduce_scatter (fi_collective(3)).
func (e *Endpoint) ReduceScatter(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group core.FIAddr, dt core.Datatype, op core.AtomicOp, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.ReduceScatter, group: group, in: buf, out: result, count: count, dt: dt, op: op, flags: flags, ctx: ctx})
}

// Reduce is fi_reduce (fi_collective(3)).
func (e *Endpoint) Reduce(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group, root core.FIAddr, dt core.Datatype, op core.AtomicOp, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.Reduce, group: group, root: root, rooted: true, in: buf, out: result, count: count, dt: dt, op: op, flags: flags, ctx: ctx})
}

// Scatter is fi_scatter (fi_collective(3)).
func (e *Endpoint) Scatter(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group, root core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.Scatter, group: group, root: root, rooted: true, in: buf, out: result, count: count, dt: dt, flags: flags, ctx: ctx})
}

// Gather is fi_gather (fi_collective(3)).
func (e *Endpoint) Gather(buf []byte, count int, _ core.Desc, result []byte, _ core.Desc, group, root core.FIAddr, dt core.Datatype, flags core.Flags, ctx core.Context) error {
	return e.post(&collective{kind: coll.Gather, group: group, root: root, rooted: true, in: buf, out: result, count: count, dt: dt, flags: flags, ctx: ctx})
}

// QueryCollective is fi_query_collective (fi_collective(3)): what domain's endpoints can do. ErrOpNotSupp: not this.
func (d *Domain) QueryCollective(op core.CollectiveOp, attr *core.CollectiveAttr, flags core.Flags) error {
	kind := coll.Kind(op)
	switch {
	case attr == nil || attr.Mode != 0:
		return core.ErrInval
	case flags != 0:
		return core.ErrBadFlags
	case d.info.Caps&core.CapCollective == 0 || op > core.CollGather:
		return core.ErrOpNotSupp
	}
	attr.MaxMembers, attr.Attr = coll.MaxMembers, core.AtomicAttr{}
	if kind == coll.Barrier {
		return nil
	}
	t, _, err := elements(kind, attr.Type, attr.Op)
	if err != nil {
		return err
	}
	size := atomics.Size(t)
	attr.Attr = core.AtomicAttr{Count: core.MaxSize / size, Size: size}
	return nil
}
