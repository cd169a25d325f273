package engine

// Unsent counts the bytes that wait and that Next has not handed out.
func (c *Conn) Unsent() int { return c.out.bytes - c.out.ahead }

// Handed counts the bytes that Next has handed out and Transmitted has not released.
func (c *Conn) Handed() int { return c.out.ahead }

// Next hands out the next bytes of the stream for a transport that keeps them until they are acknowledged: at most maxBytes in slices appended to list, which
// does not grow beyond its capacity. It returns list and the number of bytes. The slices are lent, to be read only, until Transmitted has released
// them or the connection has ended (Sink.Failed, Drop); Cancel does not touch what was handed out. While something is Awaited, an acknowledgement that the
// transport brings is to be told with Transmitted before what came with it is told with Receive, for the peer answers only what has arrived.
func (c *Conn) Next(list [][]byte, maxBytes int) ([][]byte, int) {
	q := &c.out
	c.pool.run.c = nil
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
