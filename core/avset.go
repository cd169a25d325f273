package core

// This file has the sets of an address vector's addresses (fi_av_set(3)), which collective operations use.

// AVSetFlags are the flags of AVSetAttr (fi_av_set(3)): the set's first members, and the collectives that the set
// is for. Without a collective the set is for all of them.
type AVSetFlags uint64

// The flags of sets.
const (
	AVSetBarrier       AVSetFlags = 1 << 40 // FI_BARRIER_SET
	AVSetBroadcast     AVSetFlags = 1 << 41 // FI_BROADCAST_SET
	AVSetAllToAll      AVSetFlags = 1 << 42 // FI_ALLTOALL_SET
	AVSetAllReduce     AVSetFlags = 1 << 43 // FI_ALLREDUCE_SET
	AVSetAllGather     AVSetFlags = 1 << 44 // FI_ALLGATHER_SET
	AVSetReduceScatter AVSetFlags = 1 << 45 // FI_REDUCE_SCATTER_SET
	AVSetReduce        AVSetFlags = 1 << 46 // FI_REDUCE_SET
	AVSetScatter       AVSetFlags = 1 << 47 // FI_SCATTER_SET
	AVSetGather        AVSetFlags = 1 << 48 // FI_GATHER_SET
	AVSetUniverse      AVSetFlags = 1 << 57 // FI_UNIVERSE: the set starts with all addresses of the vector

	// AVSetCollectives has the flags of all collectives.
	AVSetCollectives = AVSetBarrier | AVSetBroadcast | AVSetAllToAll | AVSetAllReduce | AVSetAllGather | AVSetReduceScatter | AVSetReduce | AVSetScatter |
		AVSetGather
)

// AVSetAttr is struct fi_av_set_attr (fi_av_set(3)). The zero value asks for an empty set.
type AVSetAttr struct {
	Count int // expected number of members, 0 if unknown; the set may grow beyond it, but a larger initial range is an error
	// StartAddr to EndAddr, inclusive, are the first members: every Stride-th address of the range. Addresses that
	// are not in the vector are left out. Without a range, Stride is 0, and both addresses are 0 or AddrNotAvail.
	StartAddr, EndAddr FIAddr
	Stride             uint64
	CommKey            []byte // for fabrics that manage groups themselves; no stack of this module does, so it must be empty
	Flags              AVSetFlags
}

// AVSet is an ordered set of addresses of a vector, the members of collective operations (struct fid_av_set,
// fi_av_set(3)). Any number of goroutines may call its methods. An endpoint that joins during a change uses the set
// as it was before or after the change.
type AVSet struct{ d AVSetDriver }

// driver returns the set's driver, or nil if s is nil.
func (s *AVSet) driver() AVSetDriver {
	if s == nil {
		return nil
	}
	return s.d
}

// Close frees the set (fi_close(3)).
func (s *AVSet) Close() error { return s.d.Close() }

// Union appends the members of src that the set does not have (fi_av_set_union(3)). src must be a set of the same
// vector. This also holds for Intersect and Diff.
func (s *AVSet) Union(src *AVSet) error { return s.d.Combine(SetUnion, src.driver()) }

// Intersect removes the members that src does not have (fi_av_set_intersect(3)). The others keep their order.
func (s *AVSet) Intersect(src *AVSet) error { return s.d.Combine(SetIntersect, src.driver()) }

// Diff removes the members that src has (fi_av_set_diff(3)). The others keep their order.
func (s *AVSet) Diff(src *AVSet) error { return s.d.Combine(SetDiff, src.driver()) }

// Insert appends a member (fi_av_set_insert(3)). The error is ErrInval if fi is a member already or is not in the
// vector.
func (s *AVSet) Insert(fi FIAddr) error { return s.d.Insert(fi) }

// Remove removes a member (fi_av_set_remove(3)). The error is ErrInval if fi is not a member. The others keep their
// order.
func (s *AVSet) Remove(fi FIAddr) error { return s.d.Remove(fi) }

// Addr returns the collective address of the set, for Endpoint.JoinCollective (fi_av_set_addr(3)).
func (s *AVSet) Addr() FIAddr { return s.d.Addr() }

// Members returns the members in order. The slice belongs to the caller. libfabric has no such call.
func (s *AVSet) Members() []FIAddr { return s.d.Members() }
