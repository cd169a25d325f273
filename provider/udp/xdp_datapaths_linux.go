package udp

import "gofabric/internal/xdp"

// xdpDatapaths are a domain's AF_XDP datapaths, by interface. Only the first datapath of each interface watches the
// AF_XDP sockets. When it receives packets of the others, it notifies them. So a domain needs one of the some 50
// epoll paths that the kernel allows (xdp.Port.SetPassive), whatever the number of its endpoints.
type xdpDatapaths struct {
	by map[*xdp.Interface][]*xdpDatapath
}

// join adds a datapath.
func (x *xdpDatapaths) join(l *xdpDatapath) error {
	if len(x.by[l.iface]) > 0 {
		if err := l.port.SetPassive(true); err != nil {
			return err
		}
	}
	if x.by == nil {
		x.by = map[*xdp.Interface][]*xdpDatapath{}
	}
	x.by[l.iface] = append(x.by[l.iface], l)
	return nil
}

// leave removes a datapath, if it is in the list. If it was the first, the next one watches the sockets.
func (x *xdpDatapaths) leave(l *xdpDatapath) {
	all := x.by[l.iface]
	for i, o := range all {
		if o != l {
			continue
		}
		l.port.SetPassive(true) // frees its epoll path
		all = append(all[:i], all[i+1:]...)
		if len(all) == 0 {
			delete(x.by, l.iface)
			return
		}
		x.by[l.iface] = all
		if i == 0 && !all[0].ended {
			all[0].port.SetPassive(false) // this succeeds, as a path has just become free
		}
		return
	}
}
