package av

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// This file has sets of a vector's addresses (fi_av_set(3)).

// setBit marks the collective addresses of sets. No vector has such an index.
const setBit = 1 << 63

// Set is an ordered set of indices. It implements core.AVSetDriver.
type Set struct {
	t    *Table
	attr core.AVSetAttr
	addr core.FIAddr
	refs atomic.Int32

	mu      sync.Mutex
	members []core.FIAddr
	place   map[core.FIAddr]struct{} // the members, for a fast look-up
	closed  bool
}

// setNumber numbers the sets of the process.
var setNumber atomic.Uint64

const setFlags = core.AVSetUniverse | core.AVSetCollectives

// OpenSet opens a set of the vector's addresses (fi_av_set(3)). The vector cannot be closed before the set.
func (t *Table) OpenSet(attr core.AVSetAttr) (core.AVSetDriver, error) {
	const op = "fi_av_set"
	unset := attr.StartAddr == attr.EndAddr && (attr.StartAddr == 0 || attr.StartAddr == core.AddrNotAvail)
	switch {
	case attr.Flags&^setFlags != 0:
		return nil, opError(op, core.ErrBadFlags, "flags are AVSetUniverse and those of the collectives for which the set is used")
	case len(attr.CommKey) > 0:
		return nil, opError(op, core.ErrOpNotSupp, "communication keys are not supported: leave CommKey empty")
	case attr.Count < 0:
		return nil, opError(op, core.ErrInval, "the count is negative")
	case attr.Stride == 0 && !unset:
		return nil, opError(op, core.ErrInval, "a range needs a stride of 1 or more")
	case attr.Stride > 0 && (attr.StartAddr > attr.EndAddr || attr.EndAddr == core.AddrNotAvail):
		return nil, opError(op, core.ErrInval, "the range ends before it starts, or has no end: for a set that starts empty pass stride 0")
	case attr.Stride > 0 && attr.Flags&core.AVSetUniverse != 0:
		return nil, opError(op, core.ErrInval, "pass either AVSetUniverse or a range, not both")
	}
	s := &Set{t: t, attr: attr, addr: core.FIAddr(setBit | setNumber.Add(1)), place: map[core.FIAddr]struct{}{}}
	if attr.Flags&core.AVSetUniverse != 0 {
		s.fill(0, core.AddrNotAvail, 1)
	} else if attr.Stride > 0 {
		s.fill(attr.StartAddr, attr.EndAddr, attr.Stride)
		if attr.Count > 0 && len(s.members) > attr.Count {
			return nil, opError(op, core.ErrInval, fmt.Sprintf("the range has %d addresses, more than the count of %d", len(s.members), attr.Count))
		}
	}
	if !t.refOpen() {
		return nil, core.ErrBadF
	}
	return s, nil
}

// fill adds every stride-th index from first to last that is in use.
func (s *Set) fill(first, last core.FIAddr, stride uint64) {
	s.t.follow(lockWait)
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for i := uint64(first); i <= uint64(last) && i < uint64(s.t.next); {
		if s.t.get(core.FIAddr(i)) != nil {
			s.add(core.FIAddr(i))
		}
		next := i + stride
		if next < i {
			return
		}
		i = next
	}
}

func (s *Set) add(fi core.FIAddr) {
	s.members = append(s.members, fi)
	s.place[fi] = struct{}{}
}

// Table returns the vector of the set.
func (s *Set) Table() *Table { return s.t }

// Flags returns the collectives that the set is for: all of them by default.
func (s *Set) Flags() core.AVSetFlags {
	if f := s.attr.Flags & core.AVSetCollectives; f != 0 {
		return f
	}
	return core.AVSetCollectives
}

// Addr returns the collective address of the set (fi_av_set_addr), which is not the address of a peer.
func (s *Set) Addr() core.FIAddr { return s.addr }

// Members returns the members in order. The slice belongs to the caller.
func (s *Set) Members() []core.FIAddr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.members)
}

// Insert appends an address (fi_av_set_insert).
func (s *Set) Insert(fi core.FIAddr) error {
	if _, ok := s.t.AddrPort(fi); !ok {
		return opError("fi_av_set_insert", core.ErrInval, fmt.Sprintf("%d is not an address of the address vector", fi))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	if _, ok := s.place[fi]; ok {
		return opError("fi_av_set_insert", core.ErrInval, fmt.Sprintf("%d is already a member of the set", fi))
	}
	s.add(fi)
	return nil
}

// Remove removes an address (fi_av_set_remove).
func (s *Set) Remove(fi core.FIAddr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	if _, ok := s.place[fi]; !ok {
		return opError("fi_av_set_remove", core.ErrInval, fmt.Sprintf("%d is not a member of the set", fi))
	}
	delete(s.place, fi)
	i := slices.Index(s.members, fi)
	s.members = slices.Delete(s.members, i, i+1)
	return nil
}

// other returns the members of src, which must be a set of the same vector.
func (s *Set) other(op string, src core.AVSetDriver) ([]core.FIAddr, error) {
	o, ok := src.(*Set)
	if !ok || o.t != s.t {
		return nil, opError(op, core.ErrInval, "the other set belongs to another address vector")
	}
	return o.Members(), nil
}

// Combine adds the members of src, keeps only members that src has, or removes the members that src has
// (fi_av_set_union, fi_av_set_intersect, fi_av_set_diff).
func (s *Set) Combine(how core.SetOp, src core.AVSetDriver) error {
	switch how {
	case core.SetUnion:
		return s.union(src)
	case core.SetIntersect:
		return s.keep("fi_av_set_intersect", src, true)
	}
	return s.keep("fi_av_set_diff", src, false)
}

func (s *Set) union(src core.AVSetDriver) error {
	list, err := s.other("fi_av_set_union", src)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	for _, fi := range list {
		if _, ok := s.place[fi]; !ok {
			s.add(fi)
		}
	}
	return nil
}

// keep keeps the members that are in src, or, if in is false, those that are not.
func (s *Set) keep(op string, src core.AVSetDriver, in bool) error {
	list, err := s.other(op, src)
	if err != nil {
		return err
	}
	other := make(map[core.FIAddr]struct{}, len(list))
	for _, fi := range list {
		other[fi] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	s.members = slices.DeleteFunc(s.members, func(fi core.FIAddr) bool {
		_, there := other[fi]
		if there != in {
			delete(s.place, fi)
		}
		return there != in
	})
	return nil
}

// Ref counts a user of the set, which delays Close. Unref ends it.
func (s *Set) Ref()   { s.refs.Add(1) }
func (s *Set) Unref() { s.refs.Add(-1) }

// Close frees the set (fi_close(3)). The error is ErrBusy while it is in use.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return core.ErrBadF
	case s.refs.Load() > 0:
		return opError("fi_close(av_set)", core.ErrBusy, "collective groups use the set: close them first")
	}
	s.closed, s.members, s.place = true, nil, nil
	s.t.Unref()
	return nil
}
