package core

// CollectiveOp is a collective operation (enum fi_collective_op, fi_collective(3)).
type CollectiveOp uint8

// The collective operations.
const (
	CollBarrier CollectiveOp = iota
	CollBroadcast
	CollAllToAll
	CollAllReduce
	CollAllGather
	CollReduceScatter
	CollReduce
	CollScatter
	CollGather
)

// CollectiveAttr is struct fi_collective_attr (fi_collective(3)). The caller sets Op and Type: Void and AtomicNoop
// if the operation has no data or does not compute. The call fills in the rest. Attr.Count is the largest number of
// elements, Attr.Size the size of one element in bytes.
type CollectiveAttr struct {
	Op         AtomicOp
	Type       Datatype
	Attr       AtomicAttr
	MaxMembers int
	Mode       uint64 // must be 0
}

// This file has the collective operations of an endpoint that was opened with CapCollective (fi_collective(3)).
// Without it calls return ErrOpNotSupp.
//
// All members of a group must call the same operations in the same order, with the same count, type, operation and
// root. Several operations may be under way. Buffers hold elements in the host's byte order. They belong to the
// provider until the completion, which the queue for transmits gets with the flag CompCollective; the counter for
// writes counts it. ErrAgain means that there is no room now. coll is the address of the group, MC.Addr. A call
// before the join has completed returns ErrOpBadState. root is a member's address in the vector.
//
// For Broadcast, AllReduce and Reduce, count is the number of elements of buf, result and the buffers of all
// members, which have equal lengths. AllToAll, AllGather, ReduceScatter, Scatter and Gather divide data among
// members: count is the number of elements of one member's part, and the whole has one part for each member, in the
// order of the set. buf and result may be the same for AllReduce and Reduce. Otherwise they must not overlap. A
// buffer that is too short is ErrInval.
//
// If a member fails, or leaves during an operation, the operation fails at every member that detects this, and so
// do all later ones. Close the group then, and join another one without that member.

// JoinCollective joins the group of the members of set (fi_join_collective(3)). All members must pass the same set
// in the same order, and the endpoint must be in it. coll is set.Addr(), the address of a group, or AddrNotAvail.
// libfabric uses coll to reach the members; here set names them. flags must be 0.
//
// When all members have called, the endpoint's event queue gets EventJoinComplete with the MC and ctx. A failure is
// an error event. The error is ErrInval if the endpoint is not a member or the set belongs to another vector.
func (e *Endpoint) JoinCollective(coll FIAddr, set *AVSet, flags JoinFlags, ctx any) (*MC, error) {
	mc := &MC{}
	return made(mc, e.d.JoinCollective(coll, set.driver(), flags, ctx, mc.stand))
}

// Barrier completes when all members have called it (fi_barrier, fi_collective(3)).
func (e *Endpoint) Barrier(coll FIAddr, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollBarrier, Plain: true, Group: coll, Ctx: ctx})
}

// Barrier2 is Barrier with flags (fi_barrier2, fi_collective(3)).
func (e *Endpoint) Barrier2(coll FIAddr, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollBarrier, Group: coll, Flags: flags, Ctx: ctx})
}

// Broadcast copies the root's buf into the buf of all members (fi_broadcast(3)).
func (e *Endpoint) Broadcast(buf []byte, count int, desc Desc, coll, root FIAddr, dt Datatype, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollBroadcast, Buf: buf, Count: count, Desc: desc, Group: coll, Root: root, Type: dt, Flags: flags, Ctx: ctx})
}

// AllToAll sends each member its part of buf. A member receives it into the sender's part of its result
// (fi_alltoall(3)).
func (e *Endpoint) AllToAll(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollAllToAll, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Type: dt,
		Flags: flags, Ctx: ctx})
}

// AllReduce combines the buffers of all members, element by element, into result at all members (fi_allreduce(3)).
func (e *Endpoint) AllReduce(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, op AtomicOp, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollAllReduce, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Type: dt,
		Oper: op, Flags: flags, Ctx: ctx})
}

// AllGather collects the buffers of all members into result at all members (fi_allgather(3)).
func (e *Endpoint) AllGather(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollAllGather, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Type: dt,
		Flags: flags, Ctx: ctx})
}

// ReduceScatter combines the buffers of all members and gives each member its part of the combination
// (fi_reduce_scatter(3)).
func (e *Endpoint) ReduceScatter(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, op AtomicOp, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollReduceScatter, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Type: dt,
		Oper: op, Flags: flags, Ctx: ctx})
}

// Reduce combines the buffers of all members into result at the root (fi_reduce(3)). Other members may pass a nil
// result.
func (e *Endpoint) Reduce(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll, root FIAddr, dt Datatype, op AtomicOp, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollReduce, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Root: root,
		Type: dt, Oper: op, Flags: flags, Ctx: ctx})
}

// Scatter gives each member its part of the root's buf (fi_scatter(3)). Other members may pass a nil buf.
func (e *Endpoint) Scatter(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll, root FIAddr, dt Datatype, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollScatter, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Root: root,
		Type: dt, Flags: flags, Ctx: ctx})
}

// Gather collects the buffers of all members into result at the root (fi_gather(3)). Other members may pass a nil
// result.
func (e *Endpoint) Gather(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll, root FIAddr, dt Datatype, flags OpFlags, ctx OpContext) error {
	return e.d.Collective(CollOp{Op: CollGather, Buf: buf, Count: count, Desc: desc, Result: result, ResultDesc: resultDesc, Group: coll, Root: root,
		Type: dt, Flags: flags, Ctx: ctx})
}
