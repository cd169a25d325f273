package link

import (
	"time"

	"gofabric/internal/mono"
)

// line is a cable of limited rate with its queue: for each waiting frame it has the time at which it leaves.
type line struct {
	busy  float64 // end of the last transmission in nanoseconds; fractions make the rate of many small frames exact
	ring  []queuedEnd
	head  int // index of the first waiting frame
	bytes int // bytes in the queue
}

type queuedEnd struct {
	at   mono.Time
	size int
}

// leave removes the frames that have left by now.
func (l *line) leave(now mono.Time) {
	for l.head < len(l.ring) && l.ring[l.head].at <= now {
		l.bytes -= l.ring[l.head].size
		l.head++
	}
	if l.head == len(l.ring) {
		l.ring, l.head = l.ring[:0], 0
	}
}

// waiting returns the number of waiting frames. It includes the frame in transmission.
func (l *line) waiting() int { return len(l.ring) - l.head }

// enter adds a frame to the queue and returns when its last bit leaves.
func (l *line) enter(now mono.Time, size int, rate float64) mono.Time {
	l.busy = max(l.busy, float64(now)) + float64(size)*8*float64(time.Second)/rate
	at := mono.Time(l.busy)
	if len(l.ring) == cap(l.ring) && l.head >= len(l.ring)/2 { // move the frames to the front instead of growing
		n := copy(l.ring, l.ring[l.head:])
		l.ring, l.head = l.ring[:n], 0
	}
	l.ring = append(l.ring, queuedEnd{at, size})
	l.bytes += size
	return at
}

// isBusy reports whether a frame waits.
func (l *line) isBusy(now mono.Time) bool { return l.busy > float64(now) }

// again rescales the times of waiting frames: their remaining time is multiplied by ratio.
func (l *line) again(now mono.Time, ratio float64, at func(mono.Time) mono.Time) {
	l.busy = float64(now) + (l.busy-float64(now))*ratio
	for i := l.head; i < len(l.ring); i++ {
		l.ring[i].at = at(l.ring[i].at)
	}
}
