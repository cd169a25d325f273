package sim

import "gofabric/test/sim/rma"

// rxmLink is one direction of a connection below rxm. It determines when frames arrive: late, a few at a time.
type rxmLink struct {
	w        *rxmWorld
	from, to *rxmSide
	room     int
	delay    int64
	last     int64
	arrived  int
	held     bool // the receiver does not accept the next frame now
	blocked  bool // the sender waits for room
	waking   bool
	busy     bool
}

// full reports that there is no room for an operation. There is always room for answers.
func (l *rxmLink) full() bool {
	if l.from.Broken || len(l.from.Out) < l.room {
		return false
	}
	l.blocked = true
	return true
}

// queued schedules the arrival of a frame, and the end of the loan of its payload. The frame is lost if the connection
// has broken, as in a kernel that has not noticed yet.
func (l *rxmLink) queued(f *rma.Frame) {
	s := l.w.s
	if !l.from.Broken {
		l.last = max(l.last, s.Now+s.Int64N(1+l.delay))
		s.After(l.last-s.Now, func() {
			if !l.from.Broken {
				l.arrived++
				l.run()
			}
		})
	}
	if f.Lent {
		s.After(s.Int64N(50_000), func() {
			l.from.Release(f)
			l.from.node.after()
		})
	}
}

// resume continues with frames that were held back.
func (l *rxmLink) resume() {
	if l.held {
		l.held = false
		l.w.s.After(0, l.run)
	}
}

// run delivers the frames that have arrived.
func (l *rxmLink) run() {
	for !l.busy && l.arrived > 0 && !l.held && !l.from.Broken {
		l.busy = true
		took := l.from.Deliver(0)
		l.busy = false
		if l.from.Broken {
			return
		}
		if !took {
			l.held = true
			return
		}
		l.arrived--
		if l.blocked && !l.waking {
			l.waking = true
			l.w.s.After(l.w.s.Int64N(1000), func() {
				l.blocked, l.waking = false, false
				l.from.Pump()
			})
		}
		l.to.node.after()
	}
}

// cut breaks both directions. Each end notices at a time of its own.
func (s *rxmSide) cut() {
	if s.Broken {
		return
	}
	s.Break()
	for _, l := range []*rxmLink{s.out, s.in} {
		l.arrived = 0
		s.w.s.After(s.w.s.Int64N(1+l.delay), l.to.lost)
	}
}
