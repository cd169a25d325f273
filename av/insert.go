package av

import (
	"fmt"
	"net/netip"

	"gofabric/core"
)

// Inserting and removing addresses.

// InsertError is the error of an insertion with the flag SyncErr that refused some addresses: the Errno of each, 0 for those that were inserted.
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

func checkInsert(op string, flags core.Flags) error {
	if flags&^(core.More|SyncErr|core.CapFirewallAddr) != 0 {
		return opError(op, core.ErrBadFlags, "flags are More, SyncErr and CapFirewallAddr")
	}
	return nil
}

// Insert adds addresses (fi_av_insert(3)). fi, unless nil, receives the index of each, AddrNotAvail for a refused one: one without port, a wildcard,
// or of another format. Refused addresses are an error only with the flag SyncErr: an *InsertError.
func (t *Table) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.Flags) (int, error) {
	if err := checkInsert("fi_av_insert", flags); err != nil {
		return 0, err
	}
	if fi != nil && len(fi) < len(addrs) {
		return 0, opError("fi_av_insert", core.ErrInval, "there is no room for an index of each address")
	}
	var errs []core.Errno
	n := 0
	for i, a := range addrs {
		at, err := t.insert(a)
		if fi != nil {
			fi[i] = at
		}
		if err == 0 {
			n++
			continue
		}
		if errs == nil && flags&SyncErr != 0 {
			errs = make([]core.Errno, len(addrs))
		}
		if errs != nil {
			errs[i] = err
		}
	}
	if errs != nil {
		return n, &InsertError{errs}
	}
	return n, nil
}

// insert adds one address.
func (t *Table) insert(a core.Addr) (core.FIAddr, core.Errno) {
	ap, err := t.check(a)
	if err != 0 {
		return core.AddrNotAvail, err
	}
	t.change.Lock()
	defer t.change.Unlock()
	i, fresh, err := t.store(ap)
	if err != 0 {
		return core.AddrNotAvail, err
	}
	fi := core.FIAddr(i)
	if fresh {
		for _, f := range t.onInsert.list {
			(*f)(fi, core.Addr{Format: formatOf(ap.Addr()), IP: ap})
		}
	}
	return fi, 0
}

func formatOf(ip netip.Addr) core.AddrFormat {
	if ip.Is4() {
		return core.FormatSockaddrIn
	}
	return core.FormatSockaddrIn6
}

// check says whether a is an address that one can send to, of the table's format.
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

// store gives an address an index or counts one more use of it.
func (t *Table) store(ap netip.AddrPort) (i uint32, fresh bool, err core.Errno) {
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
		return i, false, 0
	}
	if i, ok = t.free.takeLowest(); !ok {
		if t.next == maxPeers {
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
	return i, true, 0
}

// Remove removes addresses (fi_av_remove(3)), last first; one that was inserted several times stays until removed as often. An index that is not in use is
// ErrInval; the others are removed nevertheless.
func (t *Table) Remove(fi []core.FIAddr, flags core.Flags) error {
	if flags != 0 {
		return opError("fi_av_remove", core.ErrInval, "the flags must be 0")
	}
	var err error
	for i := len(fi) - 1; i >= 0; i-- {
		if !t.remove(fi[i]) {
			err = core.ErrInval
		}
	}
	return err
}

func (t *Table) remove(fi core.FIAddr) bool {
	t.change.Lock()
	defer t.change.Unlock()
	known, gone := t.drop(fi)
	if gone {
		for _, f := range t.onRemove.list {
			(*f)(fi)
		}
	}
	return known
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
	t.free.add(uint32(fi))
	return true, true
}
