// Path MTU. A port learns from the kernel how long a datagram may be on a path, as the kernel learns it from ICMP
// (RFC 1191, RFC 8201). Layers make their datagrams as long as that, and nothing on the path fragments them.

package udp

import (
	"cmp"
	"net/netip"
	"syscall"
	"time"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

const (
	ipv4Headers = 20 + 8
	ipv6Headers = 40 + 8
	ipv4MinMTU  = 576  // any host accepts it (RFC 791)
	ipv6MinMTU  = 1280 // any link carries it (RFC 8200)
	pathsMax    = 1024
	pathAge     = 10 * time.Second
	narrowFor   = 20 * time.Minute // queried for so long; the kernel's entry expires after 10 (route(7), mtu_expires)
)

// paths keeps the longest datagrams of paths, by destination.
type paths struct {
	known  map[netip.Addr]path
	narrow map[netip.AddrPort]narrowed
	timer  *progress.Handle // queries narrowed paths, once there was one
	every  time.Duration    // 0 means pathAge
}

// narrowed is a path whose MTU has shrunk. The network does not report when it grows again (RFC 1191 section 6.3;
// RFC 8201 section 4).
type narrowed struct {
	was   int // longest datagram before it shrank
	until mono.Time
}

type path struct {
	largest int
	at      mono.Time
}

// forget makes the next call of MaxDatagram query the system, as the path has changed.
func (t *paths) forget(a netip.Addr) { delete(t.known, a) }

// tooLong notes that a datagram to dest was too long for the path.
func (p *port) tooLong() {
	was := p.paths.known[p.dest.Addr()].largest
	p.paths.forget(p.dest.Addr())
	p.reports = true // the error queue takes room in the receive buffer (ip(7), IP_RECVERR)
	if n, ok := p.r.(datagram.Narrower); ok {
		n.Narrowed(p.dest)
		p.askAfter(p.dest, was)
	}
}

// askAfter queries a narrowed path from time to time, until it takes as much as before.
func (p *port) askAfter(dest netip.AddrPort, was int) {
	t := &p.paths
	if t.narrow == nil {
		t.narrow = map[netip.AddrPort]narrowed{}
		t.timer = p.d.prog.Timer(p.askNarrow)
		t.every = cmp.Or(t.every, pathAge)
	}
	if old, ok := t.narrow[dest]; ok {
		was = max(was, old.was)
	} else if len(t.narrow) >= pathsMax {
		return
	}
	now := mono.Now()
	t.narrow[dest] = narrowed{was, now.Add(narrowFor)}
	if len(t.narrow) == 1 {
		t.timer.SetDeadline(now.Add(t.every))
	}
}

// askNarrow queries all narrowed paths.
func (p *port) askNarrow(now mono.Time) {
	t := &p.paths
	for dest, n := range t.narrow {
		had := t.known[dest.Addr()].largest
		t.forget(dest.Addr())
		has := p.MaxDatagram(dest)
		if has > had {
			p.r.(datagram.Narrower).Narrowed(dest)
		}
		if has >= n.was || n.until.Before(now) {
			delete(t.narrow, dest)
		}
	}
	if len(t.narrow) > 0 {
		t.timer.SetDeadline(now.Add(t.every))
	}
}

// close ends the queries.
func (t *paths) close() {
	if t.timer != nil {
		t.timer.Remove()
	}
}

// MaxDatagram implements datagram.Port. It queries the system once per destination in pathAge, and again after a
// datagram was too long.
func (p *port) MaxDatagram(dest netip.AddrPort) int {
	now := mono.Now()
	if k, ok := p.paths.known[dest.Addr()]; ok && now.Sub(k.at) < pathAge {
		return k.largest
	}
	n := p.askPath(dest)
	if p.paths.known == nil || len(p.paths.known) >= pathsMax {
		p.paths.known = map[netip.Addr]path{}
	}
	p.paths.known[dest.Addr()] = path{n, now}
	return n
}

// askPath queries the path MTU with a socket of its own, which sends nothing: the system reports it for connected
// sockets only.
func (p *port) askPath(dest netip.AddrPort) int {
	a := dest.Addr().Unmap()
	family, headers, mtu := syscall.AF_INET, ipv4Headers, ipv4MinMTU
	if a.Is6() {
		family, headers, mtu = syscall.AF_INET6, ipv6Headers, ipv6MinMTU
	}
	if fd, err := netx.DatagramSocket(family); err == nil {
		if l := p.local.Addr(); !l.IsUnspecified() && netx.Family(l) == family {
			netx.Bind(fd, netip.AddrPortFrom(l, 0))
		}
		netx.SetFragment(fd, family, false)
		if netx.Connect(fd, netip.AddrPortFrom(a, max(dest.Port(), 1))) == nil {
			if n, err := netx.PathMTU(fd, family); err == nil && n > headers {
				mtu = n
			}
		}
		netx.Close(fd)
	}
	return min(mtu-headers, netx.MaxDatagram)
}
