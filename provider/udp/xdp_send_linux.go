package udp

import (
	"net/netip"
	"time"

	"gofabric/internal/mono"
)

// sendXDP implements bypassDatapath. It sends one datagram of total bytes, or with seg several, or nothing.
func (l *xdpDatapath) sendXDP(dest netip.AddrPort, parts [][]byte, total, seg int) bool {
	count := 1
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	} else {
		seg = total
	}
	q := l.peer(dest)
	// The decision to send a datagram at once must be made before it is in the ring, and while no other frame waits
	// there.
	single := count == 1 && l.packet != nil && l.unflushed == 0 && l.retryAfter == 0 && !l.batch.Waiting() && q != nil && seg <= q.maxFrame && !l.ended
	now := single && l.batch.Posted(l.d.prog.Batch(), l, &frameLimits, 0, false, false)
	if now && l.sendPacket(q, parts, total) {
		return true
	}
	if q != nil && seg > q.maxFrame && seg <= q.maxPacket && !l.ended && (count == 1 || l.datapath.segments() == 1) && l.sendMultiBuffer(q, parts, total, seg) {
		return true
	}
	if q == nil || l.ended || seg > q.maxFrame || count > len(l.txFrames) || count > 1 && total > shortRun && l.datapath.segments() > 1 {
		l.bySocket += uint64(count)
		return false
	}
	if n := l.port.Reserve(l.txFrames[:count]); n < count {
		l.port.Discard(l.txFrames[:n])
		l.noFrames++
		return false
	}
	from := cursor{parts: parts}
	for i := range count {
		f := &l.txFrames[i]
		n := from.read(f.Data[q.h.Len():][:min(seg, total)])
		total -= n
		l.id++
		f.Data = f.Data[:q.h.Put(f.Data, f.Data[q.h.Len():][:n], l.id)]
	}
	if l.port.Submit(l.txFrames[:count]) != 0 {
		l.port.Discard(l.txFrames[:count])
		return false
	}
	l.sent += uint64(count)
	if !single {
		l.submitted(count)
	} else if l.unflushed++; now {
		l.flush()
	}
	return true
}

// sendPacket sends a single datagram at once by the packet socket, if it can.
func (l *xdpDatapath) sendPacket(q *xdpPeer, parts [][]byte, total int) bool {
	from := cursor{parts: parts}
	n := from.read(l.packet[q.h.Len():][:total])
	l.id++
	if l.port.SendPacket(l.packet[:q.h.Put(l.packet, l.packet[q.h.Len():][:n], l.id)]) != 0 {
		return false
	}
	l.sent++
	return true
}

// submitted transmits the frames that were just submitted, now or with those that follow.
func (l *xdpDatapath) submitted(frames int) {
	l.unflushed += frames
	if l.batch.Posted(l.d.prog.Batch(), l, &frameLimits, l.unflushed, false, false) {
		l.flush()
		l.batch.Transmitted(l.d.prog.Batch()) // the system call's time is no pause of the application
	}
}

// Flush implements batch.Flusher.
func (l *xdpDatapath) Flush() {
	l.batch.Flushed()
	l.flush()
}

// flush makes the kernel send the submitted frames. Frames for which it has no room, or no interface at the moment,
// are flushed again later. Such datagrams are late, not lost.
func (l *xdpDatapath) flush() {
	n := l.unflushed
	l.unflushed = 0
	if n == 0 || l.retryAfter > 0 || l.port.Flush() == 0 {
		return
	}
	l.retry(retryMin)
}

// retry flushes after a time, and again until it succeeds.
func (l *xdpDatapath) retry(after time.Duration) {
	l.retryAfter = after
	l.d.prog.After(mono.Now().Add(after), func(mono.Time) {
		if l.retryAfter = 0; l.port != nil && l.port.Flush() != 0 {
			l.retry(min(2*after, retryMax))
		}
	})
}

// cursor reads parts one after the other.
type cursor struct {
	parts [][]byte
	off   int
}

// read fills b and returns the number of bytes read.
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
