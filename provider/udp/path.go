package udp

import (
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
	ipv4MinMTU  = 576  // what any host takes (RFC 791)
	ipv6MinMTU  = 1280 // what any link takes (RFC 8200)
	pathsMax    = 1024
	pathAge     = 10 * time.Second
	narrowFor   = 20 * time.Minute // asked after; the system itself forgets what it was told after ten (route(7), mtu_expires)
)

// paths remembers how large datagrams may be, by destination.
type paths struct {
	known  map[netip.Addr]path
	narrow map[netip.AddrPort]narrowed
	timer  *progress.Handle // asks after those, once there was one
	every  time.Duration    // 0: pathAge
}

// narrowed is a path that took less than before: when it takes more again is not reported (RFC 1191, 6.3; RFC 8201, 4).
type narrowed struct {
	was   int // when it was wide
	until mono.Time
}

type path struct {
	largest int
	at      mono.Time
}

// forget makes the next question be asked anew: the path has changed.
func (t *paths) forget(a netip.Addr) { delete(t.known, a) }

// tooLong notes that a datagram to dest was too long for the way.
func (p *port) tooLong() {
	was := p.paths.known[p.dest.Addr()].largest
	p.paths.forget(p.dest.Addr())
	p.reports = true // the system has put it into the error queue, whose entries take room from what is received (ip(7), IP_RECVERR)
	if n, ok := p.r.(datagram.Narrower); ok {
		n.Narrowed(p.dest)
		p.askAfter(p.dest, was)
	}
}

// askAfter has a narrowed path asked after now and then, until it is as wide as it was.
func (p *port) askAfter(dest netip.AddrPort, was int) {
	t := &p.paths
	if t.narrow == nil {
		t.narrow = map[netip.AddrPort]narrowed{}
		t.timer = p.d.prog.Timer(p.askNarrow)
		if t.every == 0 {
			t.every = pathAge
		}
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

// askNarrow asks after all narrowed paths.
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

// close ends asking.
func (t *paths) close() {
	if t.timer != nil {
		t.timer.Remove()
	}
}

// MaxDatagram implements datagram.Port. The system is asked once for a destination in pathAge, and after a datagram was too long.
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

// askPath connects a socket of its own, which sends nothing: only connected ones are told.
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
