package av

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"strconv"

	"gofabric/core"
)

// This file inserts addresses by name, and ranges of addresses.

// InsertSvc resolves and inserts one address (fi_av_insertsvc(3)). In a vector that was opened with AVEvent the
// index is not known when it returns.
func (t *Table) InsertSvc(node, service string, flags core.InsertFlags, context ...any) (core.FIAddr, error) {
	const op = "fi_av_insertsvc"
	if flags&(core.InsertUserID|core.InsertAuthKey) != 0 {
		return core.AddrNotAvail, opError(op, core.ErrInval, "this call brings no identifier and no key: use InsertSym")
	}
	if t.async() {
		_, err := t.insertSym(op, node, 1, service, 1, nil, flags, context)
		return core.AddrNotAvail, err
	}
	var fi [1]core.FIAddr
	n, err := t.insertSym(op, node, 1, service, 1, fi[:], flags|core.InsertSyncErr, nil)
	if n == 1 {
		return fi[0], nil
	}
	return core.AddrNotAvail, err
}

// InsertSym inserts nodecnt times svccnt addresses, node by node (fi_av_insertsym(3)). An IP address counts up as a
// number. A host name counts up in the number at its end, which keeps its leading zeros: node08 follows node07. A
// service counts up as a port number. If one address is not found, none is inserted.
func (t *Table) InsertSym(node string, nodecnt int, service string, svccnt int, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	return t.insertSym("fi_av_insertsym", node, nodecnt, service, svccnt, fi, flags, context)
}

func (t *Table) insertSym(op, node string, nodecnt int, service string, svccnt int, fi []core.FIAddr, flags core.InsertFlags, context []any) (int, error) {
	if nodecnt < 0 || svccnt < 0 {
		return 0, opError(op, core.ErrInval, "a count is negative")
	}
	hi, total := bits.Mul64(uint64(nodecnt), uint64(svccnt))
	if hi != 0 || total > maxSym {
		return 0, opError(op, core.ErrInval, "nodes times services is more than one call can insert")
	}
	if err := t.checkInsert(op, int(total), fi, flags); err != nil {
		return 0, err
	}
	insert := func(flags core.InsertFlags) (int, error) {
		addrs, err := t.symmetric(op, node, nodecnt, service, svccnt)
		if err != nil {
			for i := range min(len(fi), int(total)) {
				fi[i] = core.AddrNotAvail
			}
			return 0, err
		}
		return t.insertAll(addrs, fi, flags)
	}
	if t.async() {
		return 0, t.later(op, int(total), context, func() (int, error) { return insert(flags | core.InsertSyncErr) })
	}
	return insert(flags)
}

// maxSym is the largest number of addresses in a symmetric insertion.
const maxSym = 1 << 24

// symmetric lists the addresses of a symmetric insertion.
func (t *Table) symmetric(op, node string, nodecnt int, service string, svccnt int) ([]core.Addr, error) {
	if svccnt == 0 {
		return nil, nil
	}
	addrs := make([]core.Addr, 0, nodecnt*svccnt)
	for n := range nodecnt {
		ap, err := t.symNode(node, n, service, svccnt > 1)
		if err == nil && int(ap.Port())+svccnt-1 > math.MaxUint16 {
			err = fmt.Errorf("%d services from port %d on: %w", svccnt, ap.Port(), core.ErrInval)
		}
		if err != nil {
			return nil, &core.OpError{Op: op, Peer: node + ":" + service, Err: err}
		}
		for s := range svccnt {
			addrs = append(addrs, core.Addr{Format: formatOf(ap.Addr()), IP: netip.AddrPortFrom(ap.Addr(), ap.Port()+uint16(s))})
		}
	}
	return addrs, nil
}

// symNode returns the address of the n-th node after node.
func (t *Table) symNode(node string, n int, service string, numeric bool) (netip.AddrPort, error) {
	port, portErr := strconv.ParseUint(service, 10, 16)
	if portErr != nil && numeric {
		return netip.AddrPort{}, fmt.Errorf("service %q is not a port number, so it cannot count up: %w", service, core.ErrInval)
	}
	if ip, err := netip.ParseAddr(node); err == nil {
		ip, ok := plus(ip, uint64(n))
		if !ok {
			return netip.AddrPort{}, fmt.Errorf("the address space ends before %s plus %d: %w", node, n, core.ErrInval)
		}
		if portErr == nil {
			return netip.AddrPortFrom(ip, uint16(port)), nil
		}
		node = ip.String()
	} else if node, err = countUp(node, uint64(n)); err != nil {
		return netip.AddrPort{}, err
	}
	return t.resolveOne(node, service)
}

// resolveOne returns the first address that has the table's format.
func (t *Table) resolveOne(node, service string) (netip.AddrPort, error) {
	if t.resolve == nil {
		return netip.AddrPort{}, fmt.Errorf("%q needs a resolver: %w", node, core.ErrNoSys)
	}
	list, err := t.resolve(node, service)
	if err != nil {
		if _, ok := errors.AsType[core.Errno](err); !ok {
			err = fmt.Errorf("%w: %w", core.ErrNoData, err)
		}
		return netip.AddrPort{}, err
	}
	for _, ap := range list {
		if _, err := t.check(core.Addr{IP: ap}); err == 0 {
			return ap, nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("%s has no usable address of this endpoint's family among %v: %w", node, list, core.ErrAddrNotAvail)
}

// plus adds n to an address. It returns false on overflow.
func plus(ip netip.Addr, n uint64) (netip.Addr, bool) {
	if ip.Is4() {
		b := ip.As4()
		sum := uint64(binary.BigEndian.Uint32(b[:])) + n
		if sum > math.MaxUint32 {
			return ip, false
		}
		binary.BigEndian.PutUint32(b[:], uint32(sum))
		return netip.AddrFrom4(b), true
	}
	b := ip.As16()
	lo, carry := bits.Add64(binary.BigEndian.Uint64(b[8:]), n, 0)
	hi, carry := bits.Add64(binary.BigEndian.Uint64(b[:8]), 0, carry)
	binary.BigEndian.PutUint64(b[8:], lo)
	binary.BigEndian.PutUint64(b[:8], hi)
	return netip.AddrFrom16(b).WithZone(ip.Zone()), carry == 0
}

// countUp adds n to the number at the end of a host name and keeps its width.
func countUp(name string, n uint64) (string, error) {
	if n == 0 {
		return name, nil
	}
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	first, err := strconv.ParseUint(name[i:], 10, 64)
	if err != nil || first > math.MaxUint64-n {
		return "", fmt.Errorf("host name %q does not end in a number that can count up: %w", name, core.ErrInval)
	}
	return fmt.Sprintf("%s%0*d", name[:i], len(name)-i, first+n), nil
}
