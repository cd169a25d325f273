package capture

import (
	"net/netip"
	"slices"
	"time"
)

// Limits of an Assembler's memory.
const (
	maxStreams       = 1 << 16  // directions of connections
	maxHeldSegments  = 4096     // per direction, waiting for earlier ones
	maxHeldBytes     = 4 << 20  // likewise
	maxHeldBytesEver = 64 << 20 // of all directions
)

// Sink receives one direction of a TCP connection. Data is only valid during the call.
type Sink interface {
	// Data is the next bytes, and when they came.
	Data(t time.Time, b []byte)
	// Gap says that n bytes are not in the capture: cut off by its length limit, or lost.
	Gap(t time.Time, n int)
	// End says that nothing more follows: closed, reset, or the end of the capture.
	End(t time.Time)
}

// Assembler puts the segments of TCP connections in order. It drops repetitions, and holds early segments, within
// limits, until the earlier bytes have come.
type Assembler struct {
	// Open is called for each direction when its first byte is seen. whole tells that this is the first byte there was.
	Open func(src, dst netip.AddrPort, whole bool) Sink

	streams map[[2]netip.AddrPort]*stream
	order   []*stream // as first seen
	held    int       // bytes
	refused int       // packets of streams beyond maxStreams
}

// stream is one direction.
type stream struct {
	key    [2]netip.AddrPort
	sink   Sink // nil until the first byte
	syn    bool
	closed bool
	first  uint32 // sequence number of the SYN
	next   uint32 // sequence number after what was delivered
	hasFin bool
	fin    uint32 // sequence number after the last byte
	held   []segment
	bytes  int // in held
	last   time.Time
}

// segment is data, and how much behind it was not captured.
type segment struct {
	seq     uint32
	data    []byte
	missing int
	t       time.Time
}

// ahead is how far a lies ahead of b in the sequence space; negative if behind.
func ahead(a, b uint32) int { return int(int32(a - b)) }

// Packet takes a packet; those that are not TCP are ignored. It may keep the payload.
func (a *Assembler) Packet(p *Packet) {
	if p.Proto != TCP {
		return
	}
	s := a.lookup(p)
	if s == nil {
		return
	}
	s.last = p.Time
	seq := p.Seq
	if p.SYN {
		seq++
	}
	if p.FIN && !s.hasFin {
		s.hasFin, s.fin = true, seq+uint32(len(p.Payload)+p.Missing)
	}
	if n := len(p.Payload) + p.Missing; n > 0 && !s.closed {
		a.insert(s, segment{seq: seq, data: p.Payload, missing: p.Missing, t: p.Time})
	}
	if p.RST || s.hasFin && ahead(s.next, s.fin) >= 0 {
		a.end(s)
	}
}

// lookup finds the packet's stream or begins one.
func (a *Assembler) lookup(p *Packet) *stream {
	key := [2]netip.AddrPort{p.Src, p.Dst}
	s := a.streams[key]
	if s != nil && p.SYN && (!s.syn || s.first != p.Seq) {
		a.end(s) // the ports are used again
		*s = stream{key: key, syn: true, first: p.Seq, next: p.Seq + 1}
		return s
	}
	if s != nil {
		return s
	}
	if !p.SYN && len(p.Payload) == 0 {
		return nil
	}
	if len(a.order) >= maxStreams {
		a.refused++
		return nil
	}
	s = &stream{key: key, syn: p.SYN, first: p.Seq, next: p.Seq}
	if p.SYN {
		s.next++
	}
	if a.streams == nil {
		a.streams = map[[2]netip.AddrPort]*stream{}
	}
	a.streams[key] = s
	a.order = append(a.order, s)
	return s
}

// insert delivers a segment, or keeps it for later.
func (a *Assembler) insert(s *stream, seg segment) {
	if ahead(seg.seq, s.next) <= 0 {
		a.deliver(s, seg)
		a.drain(s)
		return
	}
	i, _ := slices.BinarySearchFunc(s.held, seg.seq, func(h segment, seq uint32) int { return ahead(h.seq, seq) })
	s.held = slices.Insert(s.held, i, seg)
	s.bytes += len(seg.data)
	a.held += len(seg.data)
	for len(s.held) > maxHeldSegments || s.bytes > maxHeldBytes || a.held > maxHeldBytesEver && len(s.held) > 0 {
		a.skip(s)
	}
}

// deliver passes on the new bytes of a segment that does not lie ahead.
func (a *Assembler) deliver(s *stream, seg segment) {
	old := -ahead(seg.seq, s.next)
	if old < len(seg.data) {
		s.open(a)
		s.sink.Data(seg.t, seg.data[old:])
		s.next += uint32(len(seg.data) - old)
		old = len(seg.data)
	}
	if lost := len(seg.data) + seg.missing - old; lost > 0 {
		s.open(a)
		s.sink.Gap(seg.t, lost)
		s.next += uint32(lost)
	}
}

func (s *stream) open(a *Assembler) {
	if s.sink == nil {
		s.sink = a.Open(s.key[0], s.key[1], s.syn)
	}
}

// drain delivers the waiting segments that are next now.
func (a *Assembler) drain(s *stream) {
	for len(s.held) > 0 && ahead(s.held[0].seq, s.next) <= 0 {
		a.deliver(s, a.pop(s))
	}
	if len(s.held) == 0 {
		s.held = nil
	}
}

func (a *Assembler) pop(s *stream) segment {
	seg := s.held[0]
	s.held[0] = segment{}
	s.held = s.held[1:]
	s.bytes -= len(seg.data)
	a.held -= len(seg.data)
	return seg
}

// skip gives up on the bytes before the first segment that waits.
func (a *Assembler) skip(s *stream) {
	s.open(a)
	n := ahead(s.held[0].seq, s.next)
	s.sink.Gap(s.held[0].t, n)
	s.next += uint32(n)
	a.drain(s)
}

func (a *Assembler) end(s *stream) {
	if s.closed {
		return
	}
	for len(s.held) > 0 {
		a.skip(s)
	}
	s.closed = true
	if s.sink != nil {
		s.sink.End(s.last)
	}
}

// Flush ends all streams, in the order in which they began. It returns how many packets were ignored because there
// were too many connections.
func (a *Assembler) Flush() (ignored int) {
	for _, s := range a.order {
		a.end(s)
	}
	return a.refused
}
