package engine

// A transport over datagrams sends bytes before it can release them, because it may have to send them again. It has
// a cursor of its own in the queue.
//
// handOut returns the next bytes for such a transport: see Conn.Next.
func (q *outQueue) handOut(p *stagePool, list [][]byte, maxBytes int) ([][]byte, int) {
	p.open.q = nil
	// Everything handed out is released: start at the head.
	if q.ahead == 0 {
		q.cur, q.off = q.head, 0
	}
	n, joint := 0, 0
	// Neighbours in a chunk become one slice, though they are separate segments: ch is the chunk of the last slice,
	// which ends in it at joint.
	var ch *chunk // of the last slice, which ends in it at joint
	for q.cur < len(q.segs) && n < maxBytes {
		s := &q.segs[q.cur]
		b := s.b[q.off:]
		if len(b) == 0 {
			if q.cur+1 == len(q.segs) {
				break // the next message may join this segment
			}
			q.cur, q.off = q.cur+1, 0
			continue
		}
		b = b[:min(len(b), maxBytes-n)]
		start := s.end - len(s.b) + q.off
		switch last := len(list) - 1; {
		case ch != nil && ch == s.ch && joint == start:
			list[last] = list[last][:len(list[last])+len(b)]
		case len(list) == cap(list):
			q.ahead += n
			return list, n
		default:
			list = append(list, b)
		}
		ch, joint = s.ch, start+len(b)
		// It cannot be withdrawn any more.
		if s.op != nil {
			s.op.started = true
		}
		q.off += len(b)
		n += len(b)
	}
	q.ahead += n
	return list, n
}

// fixCursor puts the cursor into the last segment after those behind it were removed, since that segment may still
// grow.
func (q *outQueue) fixCursor() {
	if q.ahead > 0 && q.cur == len(q.segs) {
		q.cur--
		q.off = len(q.segs[q.cur].b)
	}
}
