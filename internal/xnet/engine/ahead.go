package engine

// handOut hands out the next bytes for a transport that keeps them until they are acknowledged: see Conn.Next.
func (q *outQueue) handOut(p *stagePool, list [][]byte, maxBytes int) ([][]byte, int) {
	p.open.q = nil
	if q.ahead == 0 {
		q.cur, q.off = q.head, 0
	}
	n, joint := 0, 0
	var ch *chunk // of the last slice, which ends in it at joint
	for q.cur < len(q.segs) && n < maxBytes {
		s := &q.segs[q.cur]
		b := s.b[q.off:]
		if len(b) == 0 {
			if q.cur+1 == len(q.segs) {
				break // the next message may still join this segment
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
		if s.op != nil {
			s.op.started = true
		}
		q.off += len(b)
		n += len(b)
	}
	q.ahead += n
	return list, n
}

// settle puts the cursor, after the segments behind it were removed, where the last one may grow under it.
func (q *outQueue) settle() {
	if q.ahead > 0 && q.cur == len(q.segs) {
		q.cur--
		q.off = len(q.segs[q.cur].b)
	}
}
