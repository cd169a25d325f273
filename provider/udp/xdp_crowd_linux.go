package udp

import "gofabric/internal/xdp"

// expressLinks are a domain's AF_XDP links, by interface. The first of each interface hears of what comes there; when it receives, it finds what is for the
// others, and each of them is told of its own. So a domain has one way from an AF_XDP socket to its poller, however many endpoints there are: the kernel
// allows 50 (xdp.Port.Follow).
type expressLinks struct {
	by map[*xdp.Interface][]*xdpLink
}

// join adds a link.
func (x *expressLinks) join(l *xdpLink) error {
	if len(x.by[l.iface]) > 0 {
		if err := l.port.Follow(true); err != nil {
			return err
		}
	}
	if x.by == nil {
		x.by = map[*xdp.Interface][]*xdpLink{}
	}
	x.by[l.iface] = append(x.by[l.iface], l)
	return nil
}

// leave takes a link out, if it is there, and makes another one the first if it was that.
func (x *expressLinks) leave(l *xdpLink) {
	all := x.by[l.iface]
	for i, o := range all {
		if o != l {
			continue
		}
		l.port.Follow(true) // its place among the ways is free
		all = append(all[:i], all[i+1:]...)
		if len(all) == 0 {
			delete(x.by, l.iface)
			return
		}
		x.by[l.iface] = all
		if i == 0 && !all[0].gone {
			all[0].port.Follow(false) // it can be: one has just left
		}
		return
	}
}
