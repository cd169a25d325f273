//go:build linux

package xdp

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// queue is one queue of an interface. Its two directions have a lock each.
type queue struct {
	i  *Interface
	n  int // its number on the interface; index in the umem and in Port.backlogs
	s  *socket
	u  *umem
	rx uint32 // first chunk for receiving; those for transmitting follow them
	tx uint32

	in struct {
		sync.Mutex
		chunks     []rxChunk // one for each chunk for receiving
		out        int       // chunks that the kernel does not have: held by ports, and in their backlogs
		key        key       // destination of the last packet
		to         *Port
		table      *map[key]*Port // table of key and to
		count      received
		prefetched byte // byte that prefetch has read: the compiler must not remove the load
	}
	outq struct {
		sync.Mutex
		free    chunkStack
		holders []*Port // port that writes into each chunk for transmitting
		bad     uint64
	}
}

// rxChunk is the state of a chunk for receiving.
type rxChunk struct {
	holder    *Port // the port that has it, perhaps in its backlog; nil: the kernel
	inBacklog bool
	desc      unix.XDPDesc
	next      uint32 // next chunk in the backlog
}

// received counts packets that a queue did not deliver.
type received struct{ unclaimed, overflow, invalid uint64 }

// backlog has the packets of a port that another port's Receive has found: a list of chunks.
type backlog struct {
	head, tail uint32
	n          atomic.Int32 // number of descriptors
}

// newQueue returns the n-th queue of the interface. It gives all chunks for receiving to the kernel, before the first
// packet can come.
func newQueue(i *Interface, s *socket, n int) *queue {
	q := &queue{i: i, n: n, s: s, u: i.u, rx: uint32(n) * i.u.perQueue}
	q.tx = q.rx + uint32(i.c.RxFrames)
	q.in.chunks = make([]rxChunk, i.c.RxFrames)
	q.outq.free = newChunkStack(q.tx, uint32(i.c.TxFrames))
	q.outq.holders = make([]*Port, i.c.TxFrames)
	for c := q.rx; c < q.tx; c++ {
		s.fill.put(q.u.address(c))
	}
	s.fill.publish()
	return q
}

// empty reports whether there is nothing for p in this queue. It takes no lock.
func (q *queue) empty(p *Port) bool { return p.backlogs[q.n].n.Load() == 0 && q.s.rx.empty() }

// receive fills f with whole packets for p. If another goroutine receives from the queue now, it finds p's packets.
func (q *queue) receive(p *Port, f []Frame) int {
	if !q.in.TryLock() {
		return 0
	}
	n := q.fromBacklog(p, f)
	n += q.fromRing(p, f[n:])
	q.in.Unlock()
	return n
}

// fromBacklog takes packets out of p's backlog. Locked.
func (q *queue) fromBacklog(p *Port, f []Frame) (n int) {
	b := &p.backlogs[q.n]
	for b.n.Load() > 0 {
		parts, c := 1, b.head
		for q.rxChunk(c).desc.Options&unix.XDP_PKT_CONTD != 0 {
			parts++
			c = q.rxChunk(c).next
		}
		if parts > len(f)-n {
			break
		}
		for range parts {
			c := b.head
			b.head = q.rxChunk(c).next
			q.deliver(p, c, &f[n])
			n++
		}
		b.n.Add(int32(-parts))
	}
	return n
}

// rxChunk returns the state of a chunk for receiving.
func (q *queue) rxChunk(chunk uint32) *rxChunk { return &q.in.chunks[chunk-q.rx] }

// deliver gives a chunk to p.
func (q *queue) deliver(p *Port, chunk uint32, f *Frame) {
	c := q.rxChunk(chunk)
	c.holder, c.inBacklog = p, false
	f.Data, f.More, f.chunk = q.u.slice(c.desc), c.desc.Options&unix.XDP_PKT_CONTD != 0, chunk
}

// fromRing processes packets from the kernel: p's packets go into f, others into the backlogs of their ports. Locked.
func (q *queue) fromRing(p *Port, f []Frame) (n int) {
	rx, table := &q.s.rx, q.i.table.Load()
	q.prefetch()
	refill := false
	for waiting := rx.available(uint32(len(rx.entries))); waiting > 0; {
		parts, good := q.packet(waiting)
		if parts == 0 {
			break // more of it is to come
		}
		var to *Port
		if good {
			to = q.destination(table, rx.peek(0))
		}
		switch {
		case to == p && to != nil:
			if int(parts) > len(f)-n {
				waiting = 0
				continue
			}
			for k := range parts {
				c := q.u.chunkOf(rx.peek(k).Addr)
				q.rxChunk(c).desc = rx.peek(k)
				q.deliver(p, c, &f[n])
				n++
			}
			q.in.out += int(parts)
		case to == nil || !q.enqueue(to, parts):
			q.recycle(parts)
			refill = true
			if good && to == nil {
				q.in.count.unclaimed++
			}
		}
		rx.take(parts)
		waiting -= parts
	}
	rx.release()
	if refill {
		q.refill()
	}
	return n
}

// prefetch reads the next packet. Its chunk is the oldest in the fill ring if none was dropped. The processor fetches
// it from the cache of the one that has written it, while it still waits for the descriptor. A ping-pong of two
// processors takes 8 % less time. Locked.
func (q *queue) prefetch() {
	f := &q.s.fill
	if at := f.entries[q.s.rx.next&f.mask] + headroom; at < uint64(len(q.u.mem)-cacheLine) {
		q.in.prefetched += q.u.mem[at] + q.u.mem[at+cacheLine]
	}
}

// cacheLine is the number of bytes that processors fetch together.
const cacheLine = 64

// packet returns the number of descriptors of the first packet in the ring, or 0 if some are missing. waiting is the
// number of descriptors in the ring. good means that each describes a chunk that we gave to the kernel.
func (q *queue) packet(waiting uint32) (parts uint32, good bool) {
	good = true
	for parts < waiting {
		d := q.s.rx.peek(parts)
		c := q.u.chunkOf(d.Addr)
		good = good && c >= q.rx && c < q.tx && q.u.slice(d) != nil && q.rxChunk(c).holder == nil
		parts++
		if d.Options&unix.XDP_PKT_CONTD == 0 {
			if !good || parts > framesMax {
				q.in.count.invalid++
				good = false
			}
			return parts, good
		}
	}
	return 0, false
}

// destination returns the port of a packet, or nil if there is none any more.
func (q *queue) destination(table *map[key]*Port, d unix.XDPDesc) *Port {
	k, ok := destination(q.u.slice(d))
	if !ok {
		return nil
	}
	if table != q.in.table || k != q.in.key {
		q.in.table, q.in.key, q.in.to = table, k, (*table)[k]
	}
	return q.in.to
}

// enqueue puts the first packet of the ring into a port's backlog. The backlog is bounded, because a port that does
// not receive must not starve the others.
func (q *queue) enqueue(to *Port, parts uint32) bool {
	b := &to.backlogs[q.n]
	had := int(b.n.Load())
	if size := len(q.in.chunks); had >= size/4 || q.in.out >= size/4*3 {
		q.in.count.overflow++
		to.lost.Add(1)
		return false
	}
	for k := range parts {
		d := q.s.rx.peek(k)
		chunk := q.u.chunkOf(d.Addr)
		c := q.rxChunk(chunk)
		c.holder, c.inBacklog, c.desc = to, true, d
		if had == 0 && k == 0 {
			b.head = chunk
		} else {
			q.rxChunk(b.tail).next = chunk
		}
		b.tail = chunk
	}
	q.in.out += int(parts)
	b.n.Add(int32(parts))
	to.notify()
	return true
}

// recycle gives the chunks of the first packet of the ring back to the kernel. Locked; refill publishes them.
func (q *queue) recycle(parts uint32) {
	for k := range parts {
		if c := q.u.chunkOf(q.s.rx.peek(k).Addr); c >= q.rx && c < q.tx && q.rxChunk(c).holder == nil {
			q.s.fill.put(q.u.address(c)) // there is room: the ring has a place for every chunk
		}
	}
}

// refill publishes the fill ring, and wakes the kernel if it waits for that. Only drivers with zero-copy do.
func (q *queue) refill() {
	q.s.fill.publish()
	if q.s.fill.needsWakeup() {
		sysKickReceive(q.s.fd)
	}
}

// release takes frames of this queue back from p, up to the first one of another queue, and returns their number.
func (q *queue) release(p *Port, f []Frame) (n int) {
	q.in.Lock()
	for ; n < len(f) && f[n].chunk >= q.rx && f[n].chunk < q.tx; n++ {
		if c := q.rxChunk(f[n].chunk); c.holder == p && !c.inBacklog {
			c.holder = nil
			q.in.out--
			q.s.fill.put(q.u.address(f[n].chunk))
		}
		f[n].Data = nil
	}
	q.refill()
	q.in.Unlock()
	return n
}

// forget takes back all chunks that p has.
func (q *queue) forget(p *Port) {
	q.in.Lock()
	q.in.to, q.in.table = nil, nil
	for n := range q.in.chunks {
		if c := &q.in.chunks[n]; c.holder == p {
			c.holder, c.inBacklog = nil, false
			q.in.out--
			q.s.fill.put(q.u.address(q.rx + uint32(n)))
		}
	}
	p.backlogs[q.n].n.Store(0)
	q.refill()
	q.in.Unlock()
	q.outq.Lock()
	for n, h := range q.outq.holders {
		if h == p {
			q.outq.holders[n] = nil
			q.outq.free.push(q.tx + uint32(n))
		}
	}
	q.outq.Unlock()
}

// reclaimAt is the number of sent chunks that are taken back although there are free ones. So few chunks are in use,
// and they are in the cache. To use all of them in turn costs a ping-pong a tenth.
const reclaimAt = 8

// reserve gives p empty chunks for transmitting.
func (q *queue) reserve(p *Port, f []Frame) (n int) {
	q.outq.Lock()
	if len(q.outq.free.free) < len(f) || q.s.comp.available(reclaimAt) >= reclaimAt {
		q.reclaim()
	}
	for n < len(f) {
		c, ok := q.outq.free.pop()
		if !ok {
			break
		}
		q.outq.holders[c-q.tx] = p
		f[n] = Frame{Data: q.u.whole(c), chunk: c}
		n++
	}
	q.outq.Unlock()
	return n
}

// reclaim takes back chunks that have been transmitted. Locked.
func (q *queue) reclaim() {
	comp := &q.s.comp
	n := comp.available(uint32(len(comp.entries)))
	for k := range n {
		if c := q.u.chunkOf(comp.peek(k)); c >= q.tx && c-q.tx < uint32(len(q.outq.holders)) {
			q.outq.free.push(c)
		}
	}
	comp.take(n)
	comp.release()
}

// owned checks a frame that p submits or discards. Locked.
func (q *queue) owned(p *Port, f *Frame) (off uint32, ok bool) {
	if f.chunk < q.tx || f.chunk-q.tx >= uint32(len(q.outq.holders)) || q.outq.holders[f.chunk-q.tx] != p {
		return 0, false
	}
	return q.u.offset(f.chunk, f.Data)
}

// submit puts packets into the transmit ring. There is room: the ring has a place for every chunk.
func (q *queue) submit(p *Port, f []Frame) unix.Errno {
	q.outq.Lock()
	defer q.outq.Unlock()
	for n := range f {
		if _, ok := q.owned(p, &f[n]); !ok || len(f[n].Data) == 0 || f[n].More && (!q.s.multi || n+1 == len(f)) {
			q.outq.bad++
			return unix.EINVAL
		}
	}
	for n := range f {
		off, _ := q.owned(p, &f[n])
		d := unix.XDPDesc{Addr: q.u.address(f[n].chunk) + uint64(off), Len: uint32(len(f[n].Data))}
		if f[n].More {
			d.Options = unix.XDP_PKT_CONTD
		}
		q.outq.holders[f[n].chunk-q.tx] = nil
		q.s.tx.put(d)
		f[n].Data = nil
	}
	q.s.tx.publish()
	return 0
}

// discard takes back chunks that p has not used.
func (q *queue) discard(p *Port, f []Frame) {
	q.outq.Lock()
	for n := range f {
		if c := f[n].chunk; c >= q.tx && c-q.tx < uint32(len(q.outq.holders)) && q.outq.holders[c-q.tx] == p {
			q.outq.holders[c-q.tx] = nil
			q.outq.free.push(c)
		}
		f[n].Data = nil
	}
	q.outq.Unlock()
}
