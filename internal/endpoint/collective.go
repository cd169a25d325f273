package endpoint

import (
	"gofabric/core"
	"gofabric/internal/atomics"
	coll "gofabric/internal/coll/schedule"
)

// The calls of collective operations (fi_collective(3)): they check arguments and start the operation.

// collFlags are the flags that these calls take.
const collFlags = core.OpCompletion | core.OpInjectComplete | core.OpTransmitComplete | core.OpDeliveryComplete | core.OpMore

// Collective starts an operation (core.CollOp).
func (e *Endpoint) Collective(a core.CollOp) error {
	if a.Flags&^collFlags != 0 {
		return core.ErrBadFlags
	}
	e.prog.Lock()
	err := e.postLocked(&a)
	if err == core.ErrAgain {
		e.prog.Pass() // so that an application that only retries makes progress
	}
	e.prog.Unlock()
	return err
}

// postLocked checks the call and starts the operation. Collectives count against the endpoint's tx size, like other
// operations. Locked.
func (e *Endpoint) postLocked(a *core.CollOp) error {
	k := e.collectives()
	if k == nil {
		return core.ErrOpNotSupp
	}
	if !e.enabled {
		return core.ErrOpBadState
	}
	g := k.at(a.Group)
	switch {
	case g == nil:
		return core.ErrInval
	case g.err != nil:
		return Errno(g.err)
	case g.joining != nil:
		return core.ErrOpBadState // EventJoinComplete has not come
	case g.allowed != 0 && g.allowed&setFlags[coll.Kind(a.Op)] == 0:
		return core.ErrOpNotSupp // the set was opened without this operation (fi_av_set(3))
	case k.active >= max(e.info.Tx.Size, 1):
		return core.ErrAgain
	}
	args := &k.args
	if err := g.fill(args, a); err != nil {
		return err
	}
	o := g.newOp()
	o.ctx, o.silent = a.Ctx, e.SilentTx(a.Flags)
	o.start(args)
	args.In, args.Out = nil, nil
	return nil
}

// setFlags is the flag that a group's set must have for each operation.
var setFlags = [...]core.AVSetFlags{
	coll.Barrier: core.AVSetBarrier, coll.Broadcast: core.AVSetBroadcast, coll.AllToAll: core.AVSetAllToAll, coll.AllReduce: core.AVSetAllReduce, coll.AllGather: core.AVSetAllGather,
	coll.ReduceScatter: core.AVSetReduceScatter, coll.Reduce: core.AVSetReduce, coll.Scatter: core.AVSetScatter, coll.Gather: core.AVSetGather,
}

// reduces reports whether an operation computes with the data.
func reduces(kind coll.Kind) bool {
	return kind == coll.AllReduce || kind == coll.ReduceScatter || kind == coll.Reduce
}

// elements maps a type and an operation to those of package atomics. op is ignored for operations that only move
// data.
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

// fill converts the arguments of a call to the engine's and checks the buffers.
func (g *group) fill(args *coll.Args, a *core.CollOp) error {
	n, kind := len(g.members), coll.Kind(a.Op)
	*args = coll.Args{Kind: kind, Members: n, Rank: g.rank}
	if kind == coll.Barrier {
		return nil
	}
	var err error
	if args.Type, args.Op, err = elements(kind, a.Type, a.Oper); err != nil {
		return err
	}
	size := atomics.Size(args.Type)
	if a.Count < 0 || a.Count > core.MaxSize/size/n {
		return core.ErrInval
	}
	rooted := kind == coll.Broadcast || kind == coll.Reduce || kind == coll.Scatter || kind == coll.Gather
	if rooted {
		if args.Root = g.rankOf(a.Root); args.Root < 0 {
			return core.ErrInval
		}
	}
	args.Block = a.Count * size
	in, out := args.Block, args.Block
	switch kind {
	case coll.AllToAll:
		in, out = in*n, out*n
	case coll.ReduceScatter, coll.Scatter:
		in *= n
	case coll.AllGather, coll.Gather:
		out *= n
	case coll.Broadcast:
		in = 0
	}
	if root := g.rank == args.Root; rooted && !root {
		switch kind {
		case coll.Scatter:
			in = 0
		case coll.Reduce, coll.Gather:
			out = 0
		}
	}
	data, result := a.Buf, a.Result
	if kind == coll.Broadcast {
		data, result = nil, a.Buf
	}
	if len(data) < in || len(result) < out {
		return core.ErrInval
	}
	args.In, args.Out = data[:in], result[:out]
	return nil
}

// rankOf returns the rank of a member by its address in the vector, -1 if it is not a member.
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

// QueryCollective is fi_query_collective (fi_collective(3)): it fills in the limits of the domain's endpoints for
// op. It returns ErrOpNotSupp for operations that they do not have.
func (d *Domain) QueryCollective(op core.CollectiveOp, attr *core.CollectiveAttr, flags uint64) error {
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
