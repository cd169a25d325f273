// A port of the layer: sends pass the faults of package impair, receives pass unchanged.

package fault

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

// port is a port whose sends have faults. It is the Receiver of the port below.
type port struct {
	d      *domain
	lower  datagram.Port
	up     datagram.Receiver
	idler  datagram.Idler // up, if it implements Idler
	refuse datagram.Refusals

	link  impair.Link
	queue impair.Queue
	timer *progress.Handle
	wake  mono.Time // time that the timer is set to

	blocked bool // the port below takes no more datagrams now
	owed    bool // a layer above waits for Writable
	closed  bool
	one     [1][]byte
}

var (
	_ datagram.Port     = (*port)(nil)
	_ datagram.Joiner   = (*port)(nil)
	_ datagram.Receiver = (*port)(nil)
	_ impair.Out        = (*out)(nil)
)

// String describes the layer and the port below it to users.
func (p *port) String() string { return layerName + " over " + datagram.Describe(p.lower) }

func openPort(d *domain, info *core.Info, r datagram.Receiver) (datagram.Port, error) {
	s := d.p.s
	p := &port{d: d, up: r, queue: impair.Queue{Max: s.queue}}
	p.idler, _ = r.(datagram.Idler)
	p.refuse, _ = r.(datagram.Refusals)
	p.link.Init(s.seed, d.p.ports.Add(1), mono.Now(), s.spans)
	p.link.Set(s.faults)
	prog := d.Progress()
	prog.Lock()
	p.timer = prog.Timer(p.expired)
	prog.Unlock()
	if info != nil && info.Below() != nil {
		info = info.Lower()
	}
	lower, err := d.Lower.OpenPort(info, p)
	if err != nil {
		return nil, err
	}
	prog.Lock()
	p.lower = lower
	d.ports[p] = struct{}{}
	prog.Unlock()
	d.Ref()
	return p, nil
}

func (p *port) Local() netip.AddrPort               { return p.lower.Local() }
func (p *port) MaxDatagram(dest netip.AddrPort) int { return p.lower.MaxDatagram(dest) }
func (p *port) MaxSegments() int                    { return p.lower.MaxSegments() }
func (p *port) Stats() datagram.Stats               { return p.lower.Stats() }

// Faults returns the counters of the port. Locked.
func (p *port) Faults() Stats { return p.link.Stats() }

// Poll also sends delayed datagrams that are due.
func (p *port) Poll() {
	if p.queue.Len() > 0 {
		p.flush(mono.Now())
	}
	p.lower.Poll()
}

// Send decides about the datagrams, and transmits those that pass at once.
func (p *port) Send(dest netip.AddrPort, parts [][]byte, seg int) error {
	if p.closed {
		return core.ErrBadF
	}
	if p.blocked {
		p.owed = true
		return core.ErrAgain
	}
	var now mono.Time
	if p.link.Timed() {
		now = mono.Now()
	}
	err := p.link.Send(now, (*out)(p), dest, parts, seg)
	if err == core.ErrAgain {
		p.owed = true
		return err
	}
	if p.queue.Len() > 0 {
		p.flush(now)
	}
	return err
}

// flush transmits the datagrams that are due, and sets the timer for the rest. Locked.
func (p *port) flush(now mono.Time) {
	for !p.blocked {
		it := p.queue.Ready(now)
		if it == nil {
			break
		}
		p.one[0] = it.B
		if p.lower.Send(it.Addr, p.one[:], 0) == core.ErrAgain { // other errors mean loss, which the port below counts
			p.blocked = true
			break
		}
		p.queue.Recycle(it)
	}
	p.one[0] = nil
	next := p.queue.Next()
	if p.blocked || p.closed {
		next = mono.None
	}
	if next != p.wake {
		p.wake = next
		p.timer.SetDeadline(next)
	}
}

// expired is called by the timer.
func (p *port) expired(now mono.Time) {
	p.wake = mono.None
	if !p.closed {
		p.flush(now)
	}
}

// Close closes the port below. Delayed datagrams are lost. Locked.
func (p *port) Close() error {
	if p.closed {
		return core.ErrBadF
	}
	p.closed = true
	p.timer.Remove()
	p.queue.Clear()
	p.d.gone.Add(p.link.Stats())
	delete(p.d.ports, p)
	p.d.Unref()
	return p.lower.Close()
}

// Join and Leave implement datagram.Joiner, if the port below does.
func (p *port) Join(group netip.Addr) error {
	if j, ok := p.lower.(datagram.Joiner); ok {
		return j.Join(group)
	}
	return core.ErrNoSys
}

func (p *port) Leave(group netip.Addr) error {
	if j, ok := p.lower.(datagram.Joiner); ok {
		return j.Leave(group)
	}
	return core.ErrNoSys
}

// Received, Drained, Writable and Lost implement datagram.Receiver and call the layer above.
func (p *port) Received(from netip.AddrPort, b []byte, seg int) { p.up.Received(from, b, seg) }

// Refused implements datagram.Refusals.
func (p *port) Refused(dest netip.AddrPort, err error) {
	if p.refuse != nil {
		p.refuse.Refused(dest, err)
	}
}

// ReceiveBuffer implements datagram.Buffered.
func (p *port) ReceiveBuffer() int {
	if b, ok := p.lower.(datagram.Buffered); ok {
		return b.ReceiveBuffer()
	}
	return 0
}

// Idle implements datagram.Idler.
func (p *port) Idle() {
	if p.idler != nil {
		p.idler.Idle()
	}
}

func (p *port) Drained()       { p.up.Drained() }
func (p *port) Lost(err error) { p.up.Lost(err) }

func (p *port) Writable() {
	p.blocked = false
	if p.queue.Len() > 0 {
		p.flush(mono.Now())
	}
	if p.owed && !p.blocked {
		p.owed = false
		p.up.Writable()
	}
}

// out gives a port the methods that its Link calls.
type out port

func (o *out) Send(dest netip.AddrPort, parts [][]byte, seg int) error {
	err := o.lower.Send(dest, parts, seg)
	if err == core.ErrAgain {
		o.blocked = true
	}
	return err
}

func (o *out) Delay(at mono.Time, dest netip.AddrPort, parts [][]byte, flip int) (*impair.Item, uint32) {
	return o.queue.Add(at, dest, parts, 0, flip)
}

func (o *out) Reschedule(it *impair.Item, gen uint32, at mono.Time) { o.queue.Reschedule(it, gen, at) }
