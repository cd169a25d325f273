package neigh

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
)

// lookup finds or makes the entry for a destination. Its errors are comparable: sentinels or an errno.
func (t *Table) lookup(q question) (*entry, error) {
	if t.lost {
		return nil, ErrLost
	}
	to, iface, err := t.scoped(q)
	if err != nil {
		return nil, err
	}
	if q.v.src.IsValid() {
		if q.v.src.Is4() != to.Is4() {
			return nil, ErrAddress
		}
		if has, err := t.hasAddress(q.v.src); err != nil || !has {
			return nil, cmp.Or(err, ErrAddress) // IPv4's routes would report that, IPv6's do not
		}
	}
	r, err := t.route(to, q.v.src, iface)
	if err != nil {
		return nil, err
	}
	if r.Encap != nil || r.MPLSDst != nil || r.NewDst != nil {
		return nil, ErrEncap
	}
	key := entryKey{hop: hopKey{link: r.LinkIndex, addr: to}, src: q.v.src, mtu: r.MTU}
	switch {
	case r.Type == unix.RTN_LOCAL:
		return nil, ErrLocal
	case to.IsMulticast():
		key.cast = frame.Multicast
	case r.Type == unix.RTN_BROADCAST:
		key.cast = frame.Broadcast
	case r.Type != unix.RTN_UNICAST:
		return nil, unix.EHOSTUNREACH // another kind of route: blackhole and similar ones give an errno
	}
	if gw, ok := gateway(&r); ok && key.cast == frame.Unicast {
		key.hop.addr = gw
	}
	if !key.src.IsValid() {
		src, ok := netip.AddrFromSlice(r.Src)
		if !ok {
			return nil, ErrAddress
		}
		key.src = src.Unmap()
	}
	d, err := t.device(r.LinkIndex)
	if err != nil {
		return nil, err
	}
	if d.loopback {
		return nil, ErrLocal
	}
	return t.entry(key)
}

// passing reports whether the same question may later have another answer although nothing changes.
func passing(err error) bool {
	switch err {
	case ErrMany, unix.EAGAIN, unix.EINTR, unix.ENOBUFS, unix.ENOMEM, unix.EBUSY, unix.EIO:
		return true
	}
	return false
}

// errnoOf returns a comparable error for an error of the library.
func errnoOf(err error) error {
	var errno unix.Errno
	var none netlink.LinkNotFoundError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &none):
		return unix.ENODEV
	}
	return unix.EIO
}

// scoped returns a destination without its zone, and the interface through which it must be reached, 0 for any.
func (t *Table) scoped(q question) (to netip.Addr, iface int, err error) {
	to = q.to.Unmap()
	if !to.IsValid() || to.IsUnspecified() {
		return to, 0, ErrAddress
	}
	if zone := to.Zone(); zone != "" {
		iface, err = strconv.Atoi(zone)
		if err != nil {
			l, err := t.h.LinkByName(zone)
			if err != nil {
				return to, 0, errnoOf(err)
			}
			iface = l.Attrs().Index
		}
		to = to.WithZone("")
	} else if to.IsMulticast() || to.IsLinkLocalUnicast() && to.Is6() {
		iface = q.v.iface
	}
	return to, iface, nil
}

// route asks the kernel for the route of a packet (RTM_GETROUTE).
func (t *Table) route(to, src netip.Addr, iface int) (netlink.Route, error) {
	opts := netlink.RouteGetOptions{OifIndex: iface}
	if src.IsValid() {
		opts.SrcAddr = net.IP(src.AsSlice())
	}
	list, err := t.h.RouteGetWithOptions(net.IP(to.AsSlice()), &opts)
	switch {
	case err != nil:
		return netlink.Route{}, errnoOf(err)
	case len(list) == 0:
		return netlink.Route{}, unix.ENETUNREACH
	}
	return list[0], nil
}

// gateway returns the gateway of a route, if it has one. It may be of the other family (RFC 5549).
func gateway(r *netlink.Route) (netip.Addr, bool) {
	ip := r.Gw
	if via, ok := r.Via.(*netlink.Via); ok && ip == nil {
		ip = via.Addr
	}
	a, ok := netip.AddrFromSlice(ip)
	a = a.Unmap()
	return a, ok && !a.IsUnspecified()
}

// hasAddress reports whether the host has an address.
func (t *Table) hasAddress(a netip.Addr) (bool, error) {
	if err := t.findLocals(); err != nil {
		return false, err
	}
	if a.Is4() && a.IsLoopback() {
		return true, nil // all of 127.0.0.0/8
	}
	_, has := t.locals[a]
	return has, nil
}

// findLocals asks for the host's addresses if they are not known. It asks for each family separately: for both
// together the kernel holds the lock of all interfaces (rtnl_dump_all), which other processes may hold for tens of
// milliseconds, for example to attach a program.
func (t *Table) findLocals() error {
	if t.locals != nil {
		return nil
	}
	locals := map[netip.Addr]struct{}{}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		list, err := t.h.AddrList(nil, family)
		if err != nil {
			return errnoOf(err)
		}
		for i := range list {
			if ip, ok := netip.AddrFromSlice(list[i].IP); ok {
				locals[ip.Unmap()] = struct{}{}
			}
		}
	}
	t.locals = locals
	t.localsNo++
	return nil
}
