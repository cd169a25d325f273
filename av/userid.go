package av

import (
	"sync/atomic"

	"gofabric/core"
)

// This file has the identifiers that completions report as the source in place of an index (fi_av(3), "USER
// IDENTIFIERS FOR ADDRESSES").

// userIDs has the identifier of each index. Readers take no lock. Writers hold Table.mu.
type userIDs struct {
	none bool                            // the vector was opened with AVUserID: an index without identifier reports AddrNotAvail, not itself
	list atomic.Pointer[[]atomic.Uint64] // nil until the first identifier
}

// of returns the identifier of fi.
func (u *userIDs) of(fi core.FIAddr) core.FIAddr {
	l := u.list.Load()
	if l == nil || uint64(fi) >= uint64(len(*l)) {
		return u.unset(fi)
	}
	return core.FIAddr((*l)[fi].Load())
}

// unset returns the source that completions report for an index without identifier.
func (u *userIDs) unset(fi core.FIAddr) core.FIAddr {
	if u.none {
		return core.AddrNotAvail
	}
	return fi
}

// room makes the list long enough for fi.
func (u *userIDs) room(fi core.FIAddr) []atomic.Uint64 {
	l := u.list.Load()
	if l != nil && uint64(fi) < uint64(len(*l)) {
		return *l
	}
	fresh := make([]atomic.Uint64, max(64, 2*uint64(fi)))
	n := 0
	if l != nil {
		n = len(*l)
		for i := range *l {
			fresh[i].Store((*l)[i].Load())
		}
	}
	for i := n; i < len(fresh); i++ {
		fresh[i].Store(uint64(u.unset(core.FIAddr(i))))
	}
	u.list.Store(&fresh)
	return fresh
}

// UserID returns the source that completions report in place of fi: its identifier; AddrNotAvail if the vector has
// identifiers and fi has none; else fi. It takes no lock.
func (t *Table) UserID(fi core.FIAddr) core.FIAddr {
	if fi == core.AddrNotAvail {
		return fi
	}
	return t.ids.of(fi)
}

// SetUserID sets the identifier of fi (fi_av_set_user_id(3)). The vector must have been opened with AVUserID.
func (t *Table) SetUserID(fi, id core.FIAddr, flags core.InsertFlags) error {
	const op = "fi_av_set_user_id"
	switch {
	case flags != 0:
		return opError(op, core.ErrBadFlags, "the flags must be 0")
	case !t.ids.none:
		return opError(op, core.ErrInval, "open the address vector with CapAVUserID")
	}
	if _, ok := t.AddrPort(fi); !ok {
		return opError(op, core.ErrInval, "no address has this index")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.get(fi) == nil {
		return opError(op, core.ErrInval, "no address has this index")
	}
	t.ids.room(fi)[fi].Store(uint64(id))
	return nil
}

// setID stores the identifier from an insertion. t.mu is held.
func (t *Table) setID(fi, id core.FIAddr) { t.ids.room(fi)[fi].Store(uint64(id)) }

// clearID removes the identifier of a removed index. t.mu is held.
func (t *Table) clearID(fi core.FIAddr) {
	if l := t.ids.list.Load(); l != nil && uint64(fi) < uint64(len(*l)) {
		(*l)[fi].Store(uint64(t.ids.unset(fi)))
	}
}
