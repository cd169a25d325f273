package udp

import (
	"net/netip"
	"time"

	"gofabric/internal/mono"
)

// express sends what is to be one datagram of total bytes, or with seg several of them, if it can: nothing of it has left otherwise.
func (l *xdpLink) express(dest netip.AddrPort, parts [][]byte, total, seg int) bool {
	count := 1
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	} else {
		seg = total
	}
	q := l.peer(dest)
	// Whether it leaves alone must be known before it is where it waits for others, and can only be asked for while none does.
	alone := count == 1 && l.single != nil && l.wants == 0 && l.late == 0 && !l.g.Staged() && q != nil && seg <= q.most && !l.gone
	now := alone && l.g.Post(l.d.prog, l, false)
	if now && l.expressSingle(q, parts, total) {
		return true
	}
	if q != nil && seg > q.most && seg <= q.long && !l.gone && (count == 1 || l.link.segments() == 1) && l.expressLong(q, parts, total, seg) {
		return true
	}
	if q == nil || l.gone || seg > q.most || count > len(l.out) || count > 1 && total > shortRun && l.link.segments() > 1 {
		l.bySocket += uint64(count)
		return false
	}
	if n := l.port.Reserve(l.out[:count]); n < count {
		l.port.Discard(l.out[:n])
		l.starved++
		return false
	}
	from := cursor{parts: parts}
	for i := range count {
		f := &l.out[i]
		n := from.read(f.Data[q.h.Len():][:min(seg, total)])
		total -= n
		l.id++
		f.Data = f.Data[:q.h.Put(f.Data, f.Data[q.h.Len():][:n], l.id)]
	}
	if l.port.Submit(l.out[:count]) != 0 {
		l.port.Discard(l.out[:count])
		return false
	}
	l.sent += uint64(count)
	if !alone {
		l.submitted(count)
	} else if l.wants++; now {
		l.flush()
	}
	return true
}

// expressSingle sends a datagram that leaves at once, by itself, if it can.
func (l *xdpLink) expressSingle(q *xdpPeer, parts [][]byte, total int) bool {
	from := cursor{parts: parts}
	n := from.read(l.single[q.h.Len():][:total])
	l.id++
	if l.port.SendSingle(l.single[:q.h.Put(l.single, l.single[q.h.Len():][:n], l.id)]) != 0 {
		return false
	}
	l.sent++
	return true
}

// submitted has the frames that were just submitted leave, at once or with those that follow.
func (l *xdpLink) submitted(frames int) {
	l.wants += frames
	if l.g.Post(l.d.prog, l, false) || l.wants >= kickMost {
		l.flush()
		l.g.Emptied(l.d.prog) // the system's work for so many is not the application's absence
	}
}

// Flush implements progress.Flusher.
func (l *xdpLink) Flush() {
	l.g.Left(0)
	l.flush()
}

// flush makes the system send what was submitted. What it has no room for, or has no interface for at the moment, it gets again: such datagrams are late, not
// lost.
func (l *xdpLink) flush() {
	n := l.wants
	l.wants = 0
	if n == 0 || l.late > 0 || l.port.Flush() == 0 {
		return
	}
	l.retry(lateMin)
}

// retry flushes after a time, until it works.
func (l *xdpLink) retry(after time.Duration) {
	l.late = after
	l.d.prog.After(mono.Now().Add(after), func(mono.Time) {
		if l.late = 0; l.port != nil && l.port.Flush() != 0 {
			l.retry(min(2*after, lateMax))
		}
	})
}

// cursor reads parts one after the other.
type cursor struct {
	parts [][]byte
	off   int
}

// read fills b and returns how much there was.
func (c *cursor) read(b []byte) (n int) {
	for n < len(b) && len(c.parts) > 0 {
		k := copy(b[n:], c.parts[0][c.off:])
		n += k
		if c.off += k; c.off == len(c.parts[0]) {
			c.parts, c.off = c.parts[1:], 0
		}
	}
	return n
}
