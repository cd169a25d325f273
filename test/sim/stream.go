package sim

import (
	"gofabric/test/sim/network"
)

// streamEnd receives the network's events for its stream.
type streamEnd interface {
	readable()
	writable()
	reset()
	sends() *pipe // the other direction
}

// pipe is one direction of a byte stream: the socket buffers of sender and receiver and the data between them, with
// one limit for all.
type pipe struct {
	s         *network.Sched
	room      int
	delay     int64 // of a write, at most
	to, from  streamEnd
	buf       []byte // written, not read
	arrived   int    // bytes of buf that the receiver can read
	last      int64  // when the latest write will arrive
	blocked   bool   // the sender waits for room
	closing   bool   // nothing more will be written
	ended     bool   // the end has arrived at the receiver
	broken    bool
	deaf      bool // the receiver has closed; data that arrives causes a reset
	notified  bool // readable is scheduled
	announced bool // writable is scheduled
}

// write takes as much of b as there is room for.
func (p *pipe) write(b []byte) int {
	if p.broken || p.closing {
		return len(b) // lost, as in a kernel that has not noticed the end yet
	}
	n := min(len(b), p.room-len(p.buf))
	if n <= 0 {
		p.blocked = true
		return 0
	}
	if p.deaf {
		p.s.After(p.s.Int64N(1+p.delay), func() { reset(p.s, p, p.to.sends()) })
	}
	p.buf = append(p.buf, b[:n]...)
	p.arrive(func() { p.arrived += n })
	return n
}

// arrive schedules f at the receiver behind all earlier writes.
func (p *pipe) arrive(f func()) {
	at := p.s.Now
	if p.delay > 0 {
		at += p.s.Int64N(p.delay)
	}
	p.last = max(p.last, at)
	p.s.After(p.last-p.s.Now, func() {
		if p.broken {
			return
		}
		f()
		p.notify(0)
	})
}

// notify calls the receiver once for all that has arrived until then.
func (p *pipe) notify(delay int64) {
	if p.notified || p.broken {
		return
	}
	p.notified = true
	p.s.After(delay, func() {
		if p.notified = false; !p.broken {
			p.to.readable()
		}
	})
}

// close ends the stream behind what was written.
func (p *pipe) close() {
	if p.closing || p.broken {
		return
	}
	p.closing = true
	p.arrive(func() { p.ended = true })
}

// read moves arrived bytes to dst.
func (p *pipe) read(dst []byte) int {
	n := copy(dst, p.buf[:p.arrived])
	p.arrived -= n
	p.buf = p.buf[:copy(p.buf, p.buf[n:])]
	if n > 0 && p.blocked && !p.announced && !p.broken {
		p.announced = true
		p.s.After(0, func() {
			if p.announced, p.blocked = false, false; !p.broken {
				p.from.writable()
			}
		})
	}
	return n
}

// atEnd reports that nothing more will arrive.
func (p *pipe) atEnd() bool { return p.ended && p.arrived == 0 }

// reset breaks both directions. Each end notices at a time of its own.
func reset(s *network.Sched, a, b *pipe) {
	if a.broken {
		return
	}
	for _, p := range []*pipe{a, b} {
		p.broken, p.buf, p.arrived = true, nil, 0
		s.After(s.Int64N(1+p.delay), p.to.reset)
	}
}
