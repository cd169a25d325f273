// The send side: collects the datagrams of the engine into runs for one call each (UDP_SEGMENT), and decides when
// they leave (package batch).

package rxd

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/mono"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/session"
)

const (
	runBytes = 65507            // most bytes in one run of datagrams: as many as one datagram can hold
	smallMax = session.SmallMax // longest payload that is copied behind its header: one slice costs less than two
	flatSize = 128 << 10
)

// batchLimits are the amounts from which messages to one peer no longer wait for others.
var batchLimits = batch.Limits{Copied: 24 << 10, Lent: 1 << 20}

// outbox collects datagrams that leave in one call, and keeps a run that the port did not take.
type outbox struct {
	max   int    // most datagrams in a run
	flat  []byte // headers and small payloads of the run, and of the datagram after it
	parts [][]byte
	tail  bool // the last part is at the end of flat

	to    netip.AddrPort
	n     int // datagrams in the run
	seg   int // bytes of each but the last, which may be shorter
	bytes int
	done  bool // the last datagram was shorter, so none can follow

	blocked bool // the port takes no datagrams now
	busy    bool
	held    []byte // copy of the run that the port did not take
	heldSeg int
	item    session.Out
	payload [][]byte
}

func (o *outbox) init(segments int) {
	o.max = max(segments, 1)
	o.flat = make([]byte, 0, flatSize)
}

// fits reports whether a datagram can join the run.
func (o *outbox) fits(d *session.Out) bool {
	return o.n < o.max && !o.done && d.Ext && d.To == o.to && d.Len <= o.seg && o.bytes+d.Len <= runBytes
}

// Posted implements endpoint.Router. The message leaves now, or with others before the next pass. Locked.
func (ep *rdmEndpoint) Posted(c *xengine.Conn, more bool) *batch.Stream {
	ep.eng.Posted(c.User.(*session.Peer))
	if ep.out.blocked {
		return nil
	}
	if ep.batch.Posted(ep.prog.Batch(), (*flusher)(ep), &batchLimits, c.Unsent(), c.Lent(), more) {
		ep.transmit(mono.Now())
		ep.batch.Transmitted(ep.prog.Batch())
	}
	return &ep.batch
}

// flusher gives the endpoint the method that its batch.Scheduler calls.
type flusher rdmEndpoint

// Flush implements batch.Flusher. Locked.
func (f *flusher) Flush() {
	f.batch.Flushed()
	(*rdmEndpoint)(f).transmit(mono.Now())
}

// transmit sends the engine's datagrams until none is left or the port takes no more. Locked.
func (ep *rdmEndpoint) transmit(now mono.Time) {
	o := &ep.out
	if o.busy || ep.eng == nil { // the port may call before the engine exists
		return
	}
	o.busy = true
	for !o.blocked && ep.lost == nil {
		if cap(o.flat)-len(o.flat) < session.HeadMax+smallMax {
			o.send(ep)
			o.flat = o.flat[:0]
			continue
		}
		d := &o.item
		d.Head, d.Parts = o.flat[len(o.flat):], o.payload
		if !ep.eng.Poll(int64(now), d) {
			break
		}
		o.payload = d.Parts[:0]
		o.add(ep, d)
	}
	if !o.blocked {
		o.send(ep)
	}
	o.flat = o.flat[:0]
	if cap(o.payload) > 0 {
		clear(o.payload[:cap(o.payload)])
	}
	o.item.Head, o.item.Parts, o.item.Peer = nil, nil, nil
	o.busy = false
	ep.updateTimer()
}

// add adds a datagram to the run. If it does not fit, add sends the run first.
func (o *outbox) add(ep *rdmEndpoint, d *session.Out) {
	if o.n > 0 && !o.fits(d) {
		o.send(ep)
	}
	if o.n == 0 {
		o.to, o.seg, o.bytes, o.done = d.To, d.Len, 0, false
	}
	from := len(o.flat)
	o.flat = o.flat[:from+len(d.Head)] // Poll has written it there
	small := d.Len-len(d.Head) <= smallMax
	if small {
		for _, b := range d.Parts {
			o.flat = append(o.flat, b...)
		}
	}
	if o.tail {
		last := &o.parts[len(o.parts)-1]
		*last = (*last)[:len(*last)+len(o.flat)-from]
	} else {
		o.parts = append(o.parts, o.flat[from:])
	}
	if o.tail = small; !small {
		o.parts = append(o.parts, d.Parts...)
	}
	o.n++
	o.bytes += d.Len
	o.done = d.Len < o.seg
	if o.n == o.max || o.done || !d.Ext || d.Last {
		o.send(ep)
	}
}

// send transmits the run.
func (o *outbox) send(ep *rdmEndpoint) {
	if o.n == 0 {
		return
	}
	seg := o.seg
	if o.n == 1 {
		seg = 0
	}
	if !o.blocked { // otherwise it is lost, as datagrams may be: only one run is kept
		if err := ep.port.Send(o.to, o.parts, seg); err == core.ErrAgain {
			o.blocked = true
			o.held, o.heldSeg = o.held[:0], seg
			for _, b := range o.parts {
				o.held = append(o.held, b...)
			}
		} // other errors: lost, and counted by the port
	}
	clear(o.parts)
	o.parts, o.n, o.bytes, o.done, o.tail = o.parts[:0], 0, 0, false, false
}

// Writable implements datagram.Receiver. Locked.
func (ep *rdmEndpoint) Writable() {
	o := &ep.out
	if !o.blocked {
		return
	}
	o.blocked = false
	if len(o.held) > 0 {
		parts := [1][]byte{o.held}
		if ep.port.Send(o.to, parts[:], o.heldSeg) == core.ErrAgain {
			o.blocked = true
			return
		}
		o.held = nil
	}
	ep.transmit(mono.Now())
}

// updateTimer makes sure that the engine is called at its next deadline. A timer that fires early costs less than
// one that is set for every datagram.
func (ep *rdmEndpoint) updateTimer() {
	at := ep.eng.Deadline()
	if at == 0 || ep.timerAt != 0 && ep.timerAt <= at {
		return
	}
	ep.timerAt = at
	ep.timer.SetDeadline(mono.Time(at))
}

// expired is called by the timer. Locked.
func (ep *rdmEndpoint) expired(now mono.Time) {
	ep.timerAt = 0
	if ep.Closed() {
		return
	}
	ep.port.Poll() // with manual progress the last pass may be long ago: receive before a peer fails
	if ep.Closed() || ep.lost != nil {
		return
	}
	ep.eng.Advance(int64(now))
	ep.transmit(now)
}
