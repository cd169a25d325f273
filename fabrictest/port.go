package fabrictest

import (
	"math/rand/v2"
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

// drainMax is the largest number of datagrams or GSO batches in one delivery. A receiver that sends to itself must
// not keep the domain's lock for ever.
const drainMax = 256

// port is an endpoint's place on the network. Its domain's lock guards everything except the inbox.
type port struct {
	d     *domain
	node  *Node
	local netip.AddrPort
	up    datagram.Receiver
	h     *progress.Handle
	in    inbox
	out   delivery
	rng   rand.PCG
	stats datagram.Stats

	owed     bool // Writable
	draining bool
	closed   bool
}

var _ datagram.Port = (*port)(nil)

func openPort(d *domain, info *core.Info, r datagram.Receiver) (*port, error) {
	n := d.n
	var want uint16
	if info != nil && info.SrcAddr.IP.IsValid() {
		if a := info.SrcAddr.IP.Addr(); !a.IsUnspecified() && a.Unmap() != n.addr {
			return nil, names.Error("fi_endpoint", info.SrcAddr.String(), endpoint.NoPeer, core.ErrAddrNotAvail, "the address of "+n.Name()+" is "+n.addr.String())
		}
		want = info.SrcAddr.IP.Port()
	}
	p := &port{d: d, node: n, up: r, in: inbox{q: impair.Queue{Max: n.f.cfg.Buffer}}}
	p.out.from = p
	prog := d.Progress()
	prog.Lock()
	defer prog.Unlock()
	p.h = prog.RegisterVirtual(p)
	p.in.h = p.h
	if err := n.f.bind(p, want); err != nil {
		p.h.Remove()
		return nil, names.Error("fi_endpoint", n.addr.String(), endpoint.NoPeer, err, "another endpoint has the port")
	}
	p.rng.Seed(n.f.cfg.Seed, uint64(n.index)<<32|uint64(p.local.Port()))
	d.Ref()
	return p, nil
}

func (p *port) Local() netip.AddrPort          { return p.local }
func (p *port) MaxDatagram(netip.AddrPort) int { return p.node.f.cfg.MTU }
func (p *port) MaxSegments() int               { return p.node.f.cfg.Runs }

func (p *port) Stats() datagram.Stats {
	s := p.stats
	s.Overflows = p.in.overflowed()
	return s
}

// Send passes datagrams to the link.
func (p *port) Send(dest netip.AddrPort, parts [][]byte, seg int) error {
	if p.closed {
		return core.ErrBadF
	}
	total := 0
	for _, b := range parts {
		total += len(b)
	}
	size, n := total, 1
	if seg > 0 && seg < total {
		size, n = seg, (total+seg-1)/seg
	}
	c := &p.node.f.cfg
	if size > c.MTU || n > c.Runs || total > maxRun {
		p.stats.SendErrors += uint64(n)
		return core.ErrMsgSize
	}
	if c.Busy > 0 && float64(p.rng.Uint64()>>11)/(1<<53) < c.Busy {
		p.owed = true
		p.h.Notify()
		return core.ErrAgain
	}
	p.stats.SentDatagrams += uint64(n)
	p.stats.SentBytes += uint64(total)
	if p.in.gone() {
		return nil // the node has crashed
	}
	to, link := p.node.f.route(p.node, netip.AddrPortFrom(dest.Addr().Unmap(), dest.Port()))
	if to == nil {
		return nil // no port has this address, and the sender gets no error
	}
	return link.send(p, to, dest, parts, seg)
}

// Poll, Ready and Expired deliver the datagrams that have arrived.
func (p *port) Poll()             { p.drain() }
func (p *port) Ready(bool, bool)  { p.drain() }
func (p *port) Expired(mono.Time) { p.drain() }
func (p *port) Lost(err error)    { p.up.Lost(err) }

func (p *port) drain() {
	if p.draining || p.closed {
		return // a receiver that polls during a delivery gets nothing
	}
	p.draining = true
	now, n := mono.Now(), 0
	for n < drainMax {
		it := p.in.take(now)
		if it == nil {
			break
		}
		n++
		p.received(it)
		p.in.recycle(it)
		if p.closed {
			return
		}
	}
	p.draining = false
	if p.owed {
		p.owed = false
		p.up.Writable()
	}
	if n > 0 && !p.closed {
		p.up.Drained()
	}
	if !p.closed {
		p.h.SetDeadline(p.in.next())
		if n == drainMax {
			p.h.Notify()
		}
	}
}

func (p *port) received(it *impair.Item) {
	seg, n := it.Seg, 1
	if seg <= 0 || seg >= len(it.B) {
		seg = len(it.B)
	} else {
		n = (len(it.B) + seg - 1) / seg
	}
	p.stats.ReceivedDatagrams += uint64(n)
	p.stats.ReceivedBytes += uint64(len(it.B))
	p.up.Received(it.Addr, it.B, seg)
}

// Close takes the port off the network. Datagrams that it has sent still arrive.
func (p *port) Close() error {
	if p.closed {
		return core.ErrBadF
	}
	p.closed = true
	p.node.f.unbind(p)
	p.in.close()
	p.h.Remove()
	p.d.Unref()
	return nil
}
