package dump

import (
	"errors"
	"time"

	"gofabric/internal/xnet/wire"
)

// xnet is the format of the tcp provider: a connection management message in each direction, then frames.
type xnet struct{}

func (xnet) Name() string { return "xnet" }

func (xnet) Match(b []byte) Verdict {
	_, _, err := wire.ParseCM(b)
	switch {
	case err == nil:
		return Yes
	case errors.Is(err, wire.ErrShort):
		return More
	}
	return No
}

func (xnet) Connection(payload int) [2]func(emit func(Record)) Decoder {
	c := &xnetConn{payload: payload}
	open := func(emit func(Record)) Decoder { return &xnetStream{conn: c, emit: emit} }
	return [2]func(emit func(Record)) Decoder{open, open}
}

// xnetConn is the common state of the directions: the byte order of headers, which is big-endian if one end is.
type xnetConn struct {
	order   wire.Order
	rxm     rxmOn
	payload int
}

// xnetStream decodes one direction.
type xnetStream struct {
	conn   *xnetConn
	emit   func(Record)
	opened bool   // the CM message has been seen
	keyed  bool   // this direction sent a request with an authorization key
	broken bool   // damaged: nothing more is decoded
	lost   bool   // a gap in the capture hides where the next frame begins
	buf    []byte // of an incomplete header
	offset uint64 // of the next byte

	frame   *Record // whose payload is not complete
	missing uint64  // bytes of it that have not come
	want    int     // bytes of it that Payload is to have
	packet  bool    // it is a packet of ofi_rxm
}

func (s *xnetStream) Data(t time.Time, b []byte) {
	if s.lost && !s.broken {
		if !s.startsFrame(b) {
			s.offset += uint64(len(b))
			return
		}
		s.lost = false
	}
	for len(b) > 0 && !s.broken {
		if s.frame != nil {
			n := int(min(uint64(len(b)), s.missing))
			s.payload(b[:n], n)
			b = b[n:]
			continue
		}
		b = s.header(t, b)
	}
}

// startsFrame reports whether b, the beginning of a packet, looks like a header: 16 bytes whose version, operation,
// lengths and size agree.
func (s *xnetStream) startsFrame(b []byte) bool {
	var h wire.Header
	_, err := h.Decode(b, s.conn.order)
	return err == nil
}

// payload takes n bytes of payload. b is the captured part.
func (s *xnetStream) payload(b []byte, n int) {
	s.offset += uint64(n)
	s.missing -= uint64(n)
	if s.want > 0 {
		take := min(s.want, len(b))
		s.frame.Payload = append(s.frame.Payload, b[:take]...)
		s.want -= take
		if take < n {
			s.want = 0 // the rest is not contiguous, or not needed
		}
		if s.want == 0 {
			s.complete()
		}
	}
	if s.missing == 0 {
		s.frame = nil
	}
}

// complete reports the frame whose payload is complete.
func (s *xnetStream) complete() {
	if s.packet {
		describe(s.frame, s.conn.payload)
	}
	s.emit(*s.frame)
}

// header takes bytes up to the end of a header, and returns the rest.
func (s *xnetStream) header(t time.Time, b []byte) []byte {
	before := len(s.buf)
	limit := wire.MaxHeader
	if !s.opened {
		limit = wire.CMHeaderLen + wire.MaxCMData
	}
	s.buf = append(s.buf, b[:min(len(b), limit-before)]...)
	n, err := s.decode(t)
	switch {
	case err == nil:
		s.offset += uint64(n)
		s.buf = s.buf[:0]
		return b[n-before:]
	case errors.Is(err, wire.ErrShort) && len(s.buf) < limit:
		return nil
	}
	head := s.buf[:min(len(s.buf), wire.BaseLen)]
	s.breakOff(problem(t, s.offset, "%v at byte %d (%x); the rest of this direction is not decoded", err, s.offset, head))
	return nil
}

// decode decodes the beginning of s.buf.
func (s *xnetStream) decode(t time.Time) (int, error) {
	if !s.opened {
		cm, n, err := wire.ParseCM(s.buf)
		if err != nil {
			return 0, err
		}
		switch {
		case cm.Type == wire.CMConnReq && cm.Features&wire.FeatureAuth != 0:
			s.keyed = true // a proof of the key follows
		case cm.Type == wire.CMAuth && !s.keyed: // the answer follows
		default:
			s.opened = true
		}
		if cm.SwapNeeded {
			s.conn.order = wire.Big
		}
		s.conn.rxm.cm(&cm)
		s.emit(cmRecord(t, s.offset, s.buf[:n], cm))
		return n, nil
	}
	if _, err := wire.PeekHeaderLen(s.buf); err != nil {
		return 0, err
	}
	var h wire.Header
	n, err := h.Decode(s.buf, s.conn.order)
	if err != nil {
		return 0, err
	}
	r := headerRecord(t, s.offset, s.buf[:n], &h)
	if s.missing = h.PayloadLen(); s.missing == 0 {
		s.emit(r)
		return n, nil
	}
	s.frame = &r
	s.want = int(min(uint64(s.conn.payload), s.missing))
	if s.packet = s.conn.rxm.carries(&h); s.packet {
		s.want = int(s.missing)
	}
	if s.want == 0 {
		s.emit(r)
	}
	return n, nil
}

func (s *xnetStream) Gap(t time.Time, n int) {
	if s.broken {
		return
	}
	if s.frame != nil && uint64(n) <= s.missing {
		s.payload(nil, n) // only payload is lost
		return
	}
	if s.lost {
		s.offset += uint64(n)
		return
	}
	if !s.opened {
		s.breakOff(problem(t, s.offset, "%d bytes from byte %d on are not in the capture, the connection's opening among them; this direction is not decoded", n, s.offset))
		return
	}
	s.abandon(problem(t, s.offset, "%d bytes from byte %d on are not in the capture; decoding resumes at the next packet that begins with a header", n, s.offset))
	s.lost = true
	s.offset += uint64(n)
}

func (s *xnetStream) End(t time.Time) {
	switch {
	case s.broken:
	case s.frame != nil:
		s.breakOff(problem(t, s.offset, "ends %d bytes before the end of a frame's payload", s.missing))
	case len(s.buf) > 0:
		s.breakOff(problem(t, s.offset, "ends within a header, after %d bytes of it", len(s.buf)))
	}
}

// breakOff ends decoding and reports r.
func (s *xnetStream) breakOff(r Record) {
	s.abandon(r)
	s.broken = true
}

// abandon reports r, and before it the frame whose payload is incomplete.
func (s *xnetStream) abandon(r Record) {
	if s.frame != nil && s.want > 0 {
		s.complete()
	}
	s.frame, s.buf, s.want, s.missing = nil, nil, 0, 0
	s.emit(r)
}
