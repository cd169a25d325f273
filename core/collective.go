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

// CollectiveAttr is struct fi_collective_attr (fi_collective(3)): Op and Type are asked about, Void and AtomicNoop where there is no data or it is not
// computed with; the rest is the answer. Attr.Count is the largest number of elements, Attr.Size the bytes of one.
type CollectiveAttr struct {
	Op         AtomicOp
	Type       Datatype
	Attr       AtomicAttr
	MaxMembers int
	Mode       uint64 // must be 0
}

// Collective is the collective operations of an endpoint opened with CapCollective (fi_collective(3)); without it calls return ErrOpNotSupp.
//
// All members of a group must call the same operations in the same order, with the same count, type, operation and root. Several may be under way. Buffers
// hold elements in the host's byte order and belong to the provider until the completion, which comes to the queue of transmits with the flag CapCollective,
// and counts where writes do. ErrAgain means "not now". coll is the address of the group, MC.Addr; calls before the join has completed return ErrOpBadState.
// root is a member's address in the vector.
//
// count is the number of elements of buf, result and every member's buffers, where all are equally long (Broadcast, AllReduce, Reduce). Where data is divided
// among members (AllToAll, AllGather, ReduceScatter, Scatter, Gather) it is the number of elements of one member's part: the whole is as many parts, in the order of
// the set. buf and result may be the same for AllReduce and Reduce; otherwise they must not overlap. Buffers that are too short are ErrInval.
//
// When a member fails, or leaves while an operation is under way, the operation fails at every member that learns of it, and so does every later one: the group
// is of no more use. Close it, and join another without that member.
type Collective interface {
	// JoinCollective joins the group of the members of set, which must be the same in the same order at all of them, and the endpoint among them
	// (fi_join_collective). coll is set.Addr(), the address of a group, or AddrNotAvail: libfabric uses it to reach the members, whom the set names here; flags is 0. The
	// endpoint needs an event queue, which gets EventJoinComplete, with the MC and ctx, when all members have called; a failure is an error event. ErrInval: the
	// endpoint is no member, or the set is of another vector.
	JoinCollective(coll FIAddr, set AVSet, flags Flags, ctx any) (MC, error)
	// Barrier completes when all members have called it (fi_barrier, fi_barrier2).
	Barrier(coll FIAddr, ctx Context) error
	Barrier2(coll FIAddr, flags Flags, ctx Context) error
	// Broadcast brings the root's buf to everybody's (fi_broadcast).
	Broadcast(buf []byte, count int, desc Desc, coll, root FIAddr, dt Datatype, flags Flags, ctx Context) error
	// AllToAll gives the part of buf that is a member's to that member, where it comes to the caller's part of result (fi_alltoall).
	AllToAll(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, flags Flags, ctx Context) error
	// AllReduce combines everybody's buf, element by element, and gives everybody the result (fi_allreduce).
	AllReduce(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, op AtomicOp, flags Flags, ctx Context) error
	// AllGather gives everybody everybody's buf (fi_allgather).
	AllGather(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, flags Flags, ctx Context) error
	// ReduceScatter combines everybody's buf, and gives every member its part of it (fi_reduce_scatter).
	ReduceScatter(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll FIAddr, dt Datatype, op AtomicOp, flags Flags, ctx Context) error
	// Reduce combines everybody's buf, and gives the result to the root; others may pass nil for result (fi_reduce).
	Reduce(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll, root FIAddr, dt Datatype, op AtomicOp, flags Flags, ctx Context) error
	// Scatter gives every member its part of the root's buf; others may pass nil for it (fi_scatter).
	Scatter(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll, root FIAddr, dt Datatype, flags Flags, ctx Context) error
	// Gather brings everybody's buf to the root; others may pass nil for result (fi_gather).
	Gather(buf []byte, count int, desc Desc, result []byte, resultDesc Desc, coll, root FIAddr, dt Datatype, flags Flags, ctx Context) error
}
