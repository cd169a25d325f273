package sim

import (
	"bytes"

	"gofabric/internal/xnet/wire"
	rxm "gofabric/util/rxm/engine"
)

// rxmFrame is what a link carries.
type rxmFrame struct {
	kind   rxmKind
	bytes  *rxmBytes
	ranges []wire.RMAIov
	write  rxm.Write
	token  uint64 // of the end that gets the answer
	n      int    // bytes written
}

// rxmBytes is payload that lies where it was lent until somebody needs it.
type rxmBytes struct {
	parts [][]byte
	b     []byte
	have  bool
}

func rxmCopied(b []byte) *rxmBytes { return &rxmBytes{b: b, have: true} }

// get copies what was lent.
func (x *rxmBytes) get() []byte {
	if !x.have {
		x.b, x.parts, x.have = bytes.Join(x.parts, nil), nil, true
	}
	return x.b
}

type rxmKind uint8

const (
	rxmMessage rxmKind = iota
	rxmRead
	rxmAnswer
	rxmWrite
	rxmAck
)

// rxmLink is one direction of a connection below rxm: frames in order, late, a few at a time.
type rxmLink struct {
	w        *rxmWorld
	from, to *rxmSide
	room     int
	delay    int64
	last     int64
	queue    []rxmFrame
	arrived  int
	held     bool // the receiver does not want the next one now
	blocked  bool // the sender waits for room
	waking   bool
	broken   bool
	busy     bool
}

// put sends a frame, and reports whether there was room. Answers find room always.
func (l *rxmLink) put(f rxmFrame, answer bool) bool {
	if l.broken {
		return true // lost, as in a kernel that has not heard yet
	}
	if !answer && len(l.queue) >= l.room {
		l.blocked = true
		return false
	}
	l.queue = append(l.queue, f)
	l.last = max(l.last, l.w.s.Now+l.w.s.Int64N(1+l.delay))
	l.w.s.After(l.last-l.w.s.Now, func() {
		if !l.broken {
			l.arrived++
			l.run()
		}
	})
	return true
}

// resume goes on with what was held back.
func (l *rxmLink) resume() {
	if l.held {
		l.held = false
		l.w.s.After(0, l.run)
	}
}

// run delivers what has arrived.
func (l *rxmLink) run() {
	for !l.busy && l.arrived > 0 && !l.held && !l.broken {
		l.busy = true
		took := l.to.receive(&l.queue[0])
		l.busy = false
		if l.broken {
			return
		}
		if !took {
			l.held = true
			return
		}
		l.queue = append(l.queue[:0:0], l.queue[1:]...)
		l.arrived--
		if l.blocked && !l.waking {
			l.waking = true
			l.w.s.After(l.w.s.Int64N(1000), func() {
				l.blocked, l.waking = false, false
				l.from.pump()
			})
		}
		l.to.node.after()
	}
}

// cut breaks both directions; each end hears of it at a time of its own.
func (s *rxmSide) cut() {
	if s.out.broken {
		return
	}
	for _, l := range []*rxmLink{s.out, s.in} {
		l.broken, l.queue, l.arrived = true, nil, 0
		to := l.to
		s.w.s.After(s.w.s.Int64N(1+l.delay), to.lost)
	}
}
