package udp

import (
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
)

// sendMultiBuffer is sendXDP for datagrams that take several frames each, where the kernel supports such packets
// (xdp.Interface.MultiBuffer). The headers are in the first frame. seg is the length of all datagrams but the last.
func (l *xdpDatapath) sendMultiBuffer(q *xdpPeer, parts [][]byte, total, seg int) bool {
	chunk := l.iface.Chunk()
	framesOf := func(n int) int { return (q.h.Len() + n + chunk - 1) / chunk }
	need, count := 0, 0
	for left := total; left > 0; left -= seg {
		need += framesOf(min(seg, left))
		count++
	}
	if need > len(l.txFrames) {
		return false
	}
	f := l.txFrames[:need]
	if n := l.port.Reserve(f); n < need {
		l.port.Discard(f[:n])
		l.noFrames++
		return false
	}
	from := cursor{parts: parts}
	for left := total; left > 0; left -= seg {
		k := framesOf(min(seg, left))
		l.fillMultiBuffer(q, f[:k], &from, min(seg, left))
		f = f[k:]
	}
	if l.port.Submit(l.txFrames[:need]) != 0 {
		l.port.Discard(l.txFrames[:need])
		return false
	}
	l.sent += uint64(count)
	l.submitted(need)
	return true
}

// fillMultiBuffer writes a packet with n bytes of payload into the frames.
func (l *xdpDatapath) fillMultiBuffer(q *xdpPeer, f []xdp.Frame, from *cursor, n int) {
	var sum frame.Sum
	at := q.h.Len()
	for i, left := 0, n; i < len(f); i++ {
		size := min(left, len(f[i].Data)-at)
		b := f[i].Data[at:][:size]
		from.read(b)
		if q.h.Checksummed() {
			sum.Add(b)
		}
		f[i].Data, f[i].More = f[i].Data[:at+size], i+1 < len(f)
		left, at = left-size, 0
	}
	l.id++
	q.h.Seal(f[0].Data, n, &sum, l.id)
}
