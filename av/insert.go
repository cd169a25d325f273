package av

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"gofabric/core"
)

// This file inserts and removes addresses.

// InsertError is the error of an insertion with the flag core.InsertSyncErr that refused addresses. It has the
// Errno of each address, 0 for inserted ones.
type InsertError struct{ Errs []core.Errno }

func (e *InsertError) Error() string {
	n, first := 0, -1
	for i, err := range e.Errs {
		if err != 0 {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return "fi_av_insert: no address refused"
	}
	return fmt.Sprintf("fi_av_insert: %d of %d addresses refused, the first at position %d: %v", n, len(e.Errs), first, e.Errs[first])
}

// Unwrap returns the errors of the refused addresses, for errors.Is.
func (e *InsertError) Unwrap() []error {
	var list []error
	for _, err := range e.Errs {
		if err != 0 {
			list = append(list, err)
		}
	}
	return list
}

// errnoOf returns the error number in an error.
func errnoOf(err error) core.Errno {
	if no, ok := errors.AsType[core.Errno](err); ok {
		return no
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return core.FromSyscall(no)
	}
	return core.ErrOther
}

func (t *Table) checkInsert(op string, count int, fi []core.FIAddr, flags core.InsertFlags) error {
	ids := flags&core.InsertUserID != 0
	switch {
	case flags&^(core.InsertMore|core.InsertSyncErr|core.InsertFirewallAddr|core.InsertUserID|core.InsertAuthKey) != 0:
		return opError(op, core.ErrBadFlags, "flags are InsertMore, InsertSyncErr, InsertFirewallAddr, InsertUserID and InsertAuthKey")
	case t.shared != nil && t.shared.readOnly:
		return opError(op, core.ErrAccess, "the address vector was opened with AVRead: addresses cannot be inserted")
	case ids && t.ids.none:
		return opError(op, core.ErrBadFlags, "the address vector was opened with CapAVUserID: use SetUserID")
	case ids && fi == nil:
		return opError(op, core.ErrInval, "with InsertUserID the argument fi holds the user identifier of each address")
	case fi != nil && len(fi) < count:
		return opError(op, core.ErrInval, "fi is shorter than the list of addresses: it receives an index for each")
	}
	return t.checkInsertKeys(op, count, fi, flags)
}

// Insert adds addresses (fi_av_insert(3)). If fi is not nil, it receives the index of each address, AddrNotAvail
// for a refused one. An address is refused if it has no port, is a wildcard, or has another format. Refused
// addresses are an error only with InsertSyncErr: an *InsertError.
func (t *Table) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	const op = "fi_av_insert"
	if err := t.checkInsert(op, len(addrs), fi, flags); err != nil {
		return 0, err
	}
	if t.async() {
		addrs = slices.Clone(addrs)
		return 0, t.later(op, len(addrs), context, func() (int, error) { return t.insertAll(addrs, fi, flags|core.InsertSyncErr) })
	}
	return t.insertAll(addrs, fi, flags)
}

// batchLen is the number of addresses that are inserted or removed under one lock of a shared vector.
const batchLen = 128

// inserted is the outcome for one address.
type inserted struct {
	at  core.FIAddr
	err core.Errno
}

func (t *Table) insertAll(addrs []core.Addr, fi []core.FIAddr, flags core.InsertFlags) (int, error) {
	var errs []core.Errno
	if flags&core.InsertSyncErr != 0 {
		errs = make([]core.Errno, len(addrs))
	}
	n := 0
	var out [batchLen]inserted
	var broken error
	for at := 0; at < len(addrs); at += batchLen {
		part := addrs[at:min(at+batchLen, len(addrs))]
		var ids []core.FIAddr
		if flags&core.InsertUserID != 0 {
			ids = fi[at : at+len(part)]
		}
		if err := t.insertBatch(part, ids, out[:]); err != nil {
			broken = err
		}
		for j := range part {
			if fi != nil {
				fi[at+j] = out[j].at
			}
			if out[j].err == 0 {
				if n++; flags&core.InsertFirewallAddr != 0 {
					t.hide(out[j].at)
				}
			} else if errs != nil {
				errs[at+j] = out[j].err
			}
		}
	}
	switch {
	case errs != nil && n < len(addrs):
		return n, &InsertError{errs}
	case broken != nil:
		return n, opError("fi_av_insert", broken, "")
	}
	return n, nil
}

// insertBatch adds some addresses, with identifiers if ids is not nil. An error concerns the vector as a whole.
func (t *Table) insertBatch(addrs []core.Addr, ids []core.FIAddr, out []inserted) error {
	t.change.Lock()
	defer t.change.Unlock()
	if t.shared != nil {
		defer t.tell()
		return t.insertShared(addrs, ids, out)
	}
	for j := range addrs {
		i, fresh, err := t.insertOne(addrs, ids, j)
		if out[j] = (inserted{core.FIAddr(i), err}); err != 0 {
			out[j].at = core.AddrNotAvail
		}
		if !fresh {
			continue
		}
		ap, _ := t.known(core.FIAddr(i))
		for _, f := range t.onInsert.list {
			(*f)(core.FIAddr(i), core.Addr{Format: formatOf(ap.Addr()), IP: ap})
		}
	}
	return nil
}

// insertOne inserts the j-th address.
func (t *Table) insertOne(addrs []core.Addr, ids []core.FIAddr, j int) (i uint32, fresh bool, err core.Errno) {
	ap, err := t.check(addrs[j])
	if err != 0 {
		return 0, false, err
	}
	var id *core.FIAddr
	if ids != nil {
		id = &ids[j]
	}
	return t.store(ap, id)
}

func formatOf(ip netip.Addr) core.AddrFormat {
	if ip.Is4() {
		return core.FormatSockaddrIn
	}
	return core.FormatSockaddrIn6
}

// check checks that a has the table's format and is an address that a datagram or connection request can go to.
func (t *Table) check(a core.Addr) (netip.AddrPort, core.Errno) {
	if a.Format == core.FormatStr {
		p, err := core.ParseAddr(a.Str)
		if err != nil {
			return netip.AddrPort{}, core.ErrInval
		}
		a = p
	}
	ip := a.IP.Addr()
	switch a.Format {
	case core.FormatUnspec, core.FormatSockaddr, core.FormatSockaddrIP:
	case core.FormatSockaddrIn:
		if !ip.Is4() {
			return a.IP, core.ErrInval
		}
	case core.FormatSockaddrIn6:
		if !ip.Is6() {
			return a.IP, core.ErrInval
		}
	default:
		return a.IP, core.ErrInval
	}
	switch {
	case !ip.IsValid(), ip.Unmap().IsUnspecified(), a.IP.Port() == 0:
		return a.IP, core.ErrAddrNotAvail
	case t.format == core.FormatSockaddrIn && !ip.Is4(), t.format == core.FormatSockaddrIn6 && !ip.Is6():
		return a.IP, core.ErrInval
	}
	return a.IP, 0
}

// store gives an address an index, or counts another use of its index.
func (t *Table) store(ap netip.AddrPort, id *core.FIAddr) (i uint32, fresh bool, err core.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, false, core.ErrBadF
	}
	k, ok := t.keyOf(ap)
	if !ok {
		k.zone = t.zones.number(ap.Addr().Zone())
	}
	if i, ok = t.index.find(t, k); ok {
		t.at(i).uses++
		t.identify(i, id)
		return i, false, 0
	}
	if i, ok = t.free.takeLowest(); !ok {
		if t.next == t.limit {
			return 0, false, core.ErrNoMem
		}
		i = t.next
		t.next++
		if int(i>>chunkBits) == len(t.chunks) {
			t.chunks = append(t.chunks, new([chunkLen]entry))
		}
	}
	*t.at(i) = entry{hi: k.hi, lo: k.lo, zone: k.zone, uses: 1, port: k.port, is4: ap.Addr().Is4()}
	t.index.add(t, k, i)
	t.identify(i, id)
	return i, true, 0
}

func (t *Table) identify(i uint32, id *core.FIAddr) {
	if id != nil {
		t.setID(core.FIAddr(i), *id)
	}
}

// Remove removes addresses, the last first (fi_av_remove(3)). An address that was inserted several times stays
// until it was removed as often. The error is ErrInval if an index is not in use; the others are removed
// nevertheless.
func (t *Table) Remove(fi []core.FIAddr, flags core.InsertFlags) error {
	const op = "fi_av_remove"
	switch {
	case flags == core.InsertAuthKey:
		return t.removeKeys(op, fi)
	case flags != 0:
		return opError(op, core.ErrInval, "the only flag is InsertAuthKey")
	case t.shared != nil && t.shared.readOnly:
		return opError(op, core.ErrAccess, "the address vector was opened with AVRead: addresses cannot be inserted")
	}
	var err error
	for end := len(fi); end > 0; end -= batchLen {
		known, broken := t.removeBatch(fi[max(end-batchLen, 0):end])
		if broken != nil {
			return opError(op, broken, "")
		}
		if !known {
			err = core.ErrInval
		}
	}
	return err
}

// removeBatch removes some addresses. known says whether all indices were in use. An error concerns the vector as a
// whole.
func (t *Table) removeBatch(fi []core.FIAddr) (known bool, err error) {
	t.change.Lock()
	defer t.change.Unlock()
	if t.shared != nil {
		defer t.tell()
		return t.removeShared(fi)
	}
	all := true
	for _, i := range slices.Backward(fi) {
		known, gone := t.drop(i)
		all = all && known
		if !gone {
			continue
		}
		for _, f := range t.onRemove.list {
			(*f)(i)
		}
	}
	return all, nil
}

func (t *Table) drop(fi core.FIAddr) (known, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(fi)
	if e == nil {
		return false, false
	}
	if e.uses--; e.uses > 0 {
		return true, false
	}
	k := e.key()
	t.index.remove(t, k, uint32(fi))
	*e = entry{}
	t.vacated.Add(1)
	t.free.add(uint32(fi))
	t.clearID(fi)
	return true, true
}
