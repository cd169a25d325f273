// Send applies the decisions of a Link to a datagram or to each datagram of a run.

package impair

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/mono"
)

// Out is the network under a Link.
type Out interface {
	// Send transmits now, as datagram.Port.Send does. core.ErrAgain means that nothing was sent.
	Send(dest netip.AddrPort, parts [][]byte, seg int) error
	// Delay delivers a copy of a datagram later, with the bit flip inverted (Queue.Add). It returns nil if there is
	// no room. gen is an argument of Reschedule.
	Delay(at mono.Time, dest netip.AddrPort, parts [][]byte, flip int) (it *Item, gen uint32)
	// Reschedule makes a datagram of Delay arrive earlier (Queue.Reschedule).
	Reschedule(it *Item, gen uint32, at mono.Time)
}

// Send sends a datagram or a run of datagrams (datagram.Port.Send). It decides about each datagram of a run
// separately. Neighbours that pass unharmed stay a run. now is only needed if Timed reports true.
//
// Send returns core.ErrAgain only if nothing was sent; it is then as if it had not been called. Once a part was
// sent, datagrams that out does not take are kept, and arrive as soon as it does. Any other error of out is
// returned after the rest was sent.
func (l *Link) Send(now mono.Time, out Out, dest netip.AddrPort, parts [][]byte, seg int) error {
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	if seg <= 0 || seg >= total {
		seg = total
	}
	if !l.active {
		err := out.Send(dest, parts, runSeg(seg, total))
		if err == nil {
			l.state.stats.Sent += uint64(count(total, seg))
		}
		return err
	}
	r := run{l: l, out: out, now: now, dest: dest, parts: parts, seg: seg, before: l.state}
	for off, n := 0, count(total, seg); n > 0; n-- {
		end := min(off+seg, total)
		v := l.decide(now, end-off)
		if v.clean() {
			r.end = end
		} else {
			if !r.flush() {
				return core.ErrAgain
			}
			if !r.applyFaults(&v, off, end) {
				return core.ErrAgain
			}
			r.from, r.end = end, end
		}
		r.next++
		off = end
	}
	if !r.flush() {
		return core.ErrAgain
	}
	return r.err
}

// count returns the number of datagrams of a run.
func count(total, seg int) int {
	if total == 0 {
		return 1
	}
	return (total + seg - 1) / seg
}

// runSeg returns the segment size for a port: 0 for one datagram.
func runSeg(seg, total int) int {
	if seg >= total {
		return 0
	}
	return seg
}

// run is the state of one Send.
type run struct {
	l      *Link
	out    Out
	now    mono.Time
	dest   netip.AddrPort
	parts  [][]byte
	seg    int
	before state // restored when nothing was sent

	next      int  // index of the datagram that is decided next
	done      int  // datagrams that are finished
	from, end int  // bytes of unharmed datagrams that were not passed yet
	left      bool // a datagram was sent or kept
	blocked   bool
	err       error
}

// flush passes the unharmed datagrams. It returns false if the whole Send must fail with ErrAgain.
func (r *run) flush() bool {
	n := r.next - r.done
	r.done = r.next
	if n == 0 {
		return true
	}
	ok := r.pass(r.piece(r.from, r.end), runSeg(r.seg, r.end-r.from))
	if !ok && !r.left {
		return r.undo()
	}
	if !ok {
		for off := r.from; n > 0; n-- {
			end := min(off+r.seg, r.end)
			r.keep(r.now, r.piece(off, end), -1)
			off = end
		}
	}
	r.left = true
	r.l.overtake(r.out, r.now, count(r.end-r.from, r.seg))
	return true
}

// undo restores the state before the Send.
func (r *run) undo() bool {
	r.l.state = r.before
	return false
}

// pass returns false when out takes no more.
func (r *run) pass(parts [][]byte, seg int) bool {
	if r.blocked {
		return false
	}
	switch err := r.out.Send(r.dest, parts, seg); err {
	case nil:
	case core.ErrAgain:
		r.blocked = true
		return false
	default:
		r.err = err
	}
	return true
}

func (r *run) keep(at mono.Time, parts [][]byte, flip int) (*Item, uint32) {
	it, gen := r.out.Delay(at, r.dest, parts, flip)
	if it == nil {
		r.l.state.stats.Overflows++
	}
	return it, gen
}

// applyFaults handles a datagram that does not pass unharmed at once. It returns false if the whole Send must fail with
// ErrAgain.
func (r *run) applyFaults(v *decision, off, end int) bool {
	l := r.l
	r.done++
	parts := r.piece(off, end)
	switch {
	case v.lost:
		r.left = true // it counts as sent, and is lost
		return true
	case v.hold:
		if it, gen := r.keep(max(v.at, r.now).Add(holdMax), parts, v.flip); it != nil {
			l.held = append(l.held, hold{it, gen, v.left})
		}
		if v.duplicate {
			r.keep(max(v.at, r.now), parts, -1)
		}
	case v.at != 0:
		r.keep(v.at, parts, v.flip)
		if v.duplicate {
			r.keep(v.at, parts, -1)
		}
		l.overtake(r.out, v.at, 1)
	default:
		first := parts
		if v.flip >= 0 {
			first = l.flipped(parts, v.flip)
		}
		if !r.pass(first, 0) {
			if !r.left {
				return r.undo()
			}
			r.keep(r.now, first, -1)
		}
		if v.duplicate && !r.pass(parts, 0) {
			r.keep(r.now, parts, -1)
		}
		l.overtake(r.out, r.now, 1)
	}
	r.left = true
	return true
}

// piece returns bytes of the run as parts, which are valid until the next call.
func (r *run) piece(from, to int) [][]byte {
	cut := r.l.cut[:0]
	for _, p := range r.parts {
		n := len(p)
		if from < n && to > 0 {
			cut = append(cut, p[max(from, 0):min(to, n)])
		}
		from, to = from-n, to-n
	}
	r.l.cut = cut
	return cut
}

// flipped returns a copy of a datagram with one bit inverted, valid until the next call.
func (l *Link) flipped(parts [][]byte, bit int) [][]byte {
	l.scratch = l.scratch[:0]
	for _, p := range parts {
		l.scratch = append(l.scratch, p...)
	}
	l.scratch[bit/8] ^= 1 << (bit % 8)
	l.one[0] = l.scratch
	return l.one[:]
}

// overtake counts n datagrams, which arrive at the given time, as overtaking those that are held back.
func (l *Link) overtake(out Out, at mono.Time, n int) {
	kept := l.held[:0]
	for _, h := range l.held {
		if h.left -= n; h.left > 0 {
			kept = append(kept, h)
		} else {
			out.Reschedule(h.it, h.gen, at)
		}
	}
	clear(l.held[len(kept):])
	l.held = kept
}
