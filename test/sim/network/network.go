package network

import "net/netip"

// Network carries datagrams between hosts, which are numbers.
type Network struct {
	*Sched
	Link Link // for all pairs of hosts without a Route

	// Down loses every datagram.
	Down bool
	// Fragile reports whether a datagram may be damaged. If it is nil, each may. (Packets that rely on UDP's checksum
	// may not.)
	Fragile func(b []byte) bool
	// Tap sees each datagram when it is sent. The bytes are borrowed.
	Tap func(from, to int, b []byte)

	hosts  []func(*Datagram)
	routes map[[2]int]*Link
	cut    map[[2]int]int64 // by from and to: datagrams are lost until then
	free   []*Datagram
	lives  int    // how often Clear was called
	whole  []byte // scratch
}

// Datagram is a datagram that has arrived. The receiver owns it until Free.
type Datagram struct {
	From, To int
	B        []byte

	n      *Network
	life   int
	arrive func() // bound to the datagram, which is reused
}

// New makes a network without hosts.
func New(s *Sched) *Network {
	return &Network{Sched: s, routes: map[[2]int]*Link{}, cut: map[[2]int]int64{}}
}

// Addr returns the address of a host, for engines that know their peers by address.
func Addr(host int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(host >> 8), byte(host)}), uint16(1000+host))
}

// Host returns the host with the address a. It may not exist.
func Host(a netip.AddrPort) int { return int(a.Port()) - 1000 }

// Attach makes f the receiver of a host's datagrams instead of an earlier receiver, also for datagrams on their way.
// With nil the datagrams are lost.
func (n *Network) Attach(host int, f func(*Datagram)) {
	for len(n.hosts) <= host {
		n.hosts = append(n.hosts, nil)
	}
	n.hosts[host] = f
}

// Route sends the datagrams from one host to another over l.
func (n *Network) Route(from, to int, l *Link) { n.routes[[2]int{from, to}] = l }

// Cut loses the datagrams from one host to another for the next d nanoseconds.
func (n *Network) Cut(from, to int, d int64) { n.cut[[2]int{from, to}] = n.Now + d }

// Clear loses all datagrams on their way.
func (n *Network) Clear() { n.lives++ }

// Send sends a datagram. Head and parts are borrowed.
func (n *Network) Send(from, to int, head []byte, parts [][]byte) {
	b := append(n.whole[:0], head...)
	for _, p := range parts {
		b = append(b, p...)
	}
	n.whole = b
	if n.Tap != nil {
		n.Tap(from, to, b)
	}
	l := &n.Link
	if len(n.routes) > 0 {
		if r := n.routes[[2]int{from, to}]; r != nil {
			l = r
		}
	}
	l.Sent++
	if n.Down || n.Now < n.cut[[2]int{from, to}] {
		l.Lost++
		return
	}
	after, ok := l.enter(n.Sched, len(b))
	if !ok {
		l.Full++
		return
	}
	if n.Float64() < l.Loss || l.Longest > 0 && len(b) > l.Longest {
		l.Lost++
		return
	}
	times := 1
	if n.Float64() < l.Dup {
		times = 2
	}
	for i := range times {
		d := n.datagram(from, to, b)
		if n.Float64() < l.Corrupt && len(b) > 0 && (n.Fragile == nil || n.Fragile(b)) {
			d.B[n.IntN(len(b))] ^= 1 << n.IntN(8)
		}
		n.After(after+l.late(n.Sched, i > 0), d.arrive)
	}
}

func (n *Network) datagram(from, to int, b []byte) *Datagram {
	var d *Datagram
	if k := len(n.free); k > 0 {
		d = n.free[k-1]
		n.free = n.free[:k-1]
	} else {
		d = &Datagram{n: n}
		d.arrive = d.deliver
	}
	d.From, d.To, d.life = from, to, n.lives
	d.B = append(d.B[:0], b...)
	return d
}

func (d *Datagram) deliver() {
	n := d.n
	if d.life == n.lives && d.To >= 0 && d.To < len(n.hosts) && n.hosts[d.To] != nil {
		n.hosts[d.To](d)
		return
	}
	d.Free()
}

// Free returns the datagram. It clears the first bytes, so that a use after Free is noticed.
func (d *Datagram) Free() {
	clear(d.B[:min(len(d.B), 64)])
	d.n.free = append(d.n.free, d)
}
