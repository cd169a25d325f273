// Package dump finds the conversations of fabrics in packet captures and describes their frames, one Record each.
//
// A wire format that runs over TCP is a Format: it recognises a stream by its first bytes and decodes both directions of a connection. Formats that
// are layered on another one, as ofi_rxm on xnet, take that format's payload. They are listed in formats. A format over UDP is a PacketFormat: it
// recognises a conversation by a datagram that nothing else is likely to send, and decodes datagrams. They are listed in packetFormats.
package dump

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"gofabric/cmd/internal/capture"
)

// Record is a frame, or a problem, in a capture.
type Record struct {
	Time     time.Time
	Src, Dst netip.AddrPort
	Proto    string // of the wire format
	Op       string // the operation; "" for a problem
	Text     string // the rest of the line
	Problem  bool
	Offset   uint64 // of the frame in its direction of the connection
	Header   []byte // as on the wire
	Payload  []byte // the first bytes of the payload, Options.Payload at most
	Fields   any    // of the header, to be encoded as JSON
}

// Format is a wire format over TCP.
type Format interface {
	Name() string
	// Match tells from the first bytes of a stream whether it is of this format.
	Match(b []byte) Verdict
	// Connection returns a connection's decoders of its two directions. Each decoder is called with the direction's whole stream. payload is how
	// many bytes of each frame's payload are wanted.
	Connection(payload int) [2]func(emit func(Record)) Decoder
}

// Decoder decodes one direction of a connection; see capture.Sink.
type Decoder = capture.Sink

// Verdict is the answer of Match.
type Verdict uint8

// The verdicts.
const (
	No Verdict = iota
	Yes
	More // bytes are needed
)

var formats = []Format{xnet{}}

// maxMatch is how many bytes are kept of a stream whose format is not known yet.
const maxMatch = 1024

// Options say what to report.
type Options struct {
	Ports   []uint16 // only connections with one of these ports at either end; empty means all
	Payload int      // bytes of payload to report of each frame
}

// Summary is what a capture held.
type Summary struct {
	Packets     int   // all
	Undecodable int   // frames that are damaged or of an unknown kind of link
	Cause       error // of the last of them
	Connections int   // of a known format
	Unknown     int   // directions of TCP connections that are of no known format, or whose beginning is missing
	Datagrams   int   // of UDP conversations that are of no known format, or not known yet
	Frames      int
	Problems    int
	Ignored     int // packets beyond the limit of connections
}

// Run reads a capture and calls emit for each record, in the order in which frames were complete. The error says where reading had to stop; what
// came before it has been reported.
func Run(r io.Reader, o Options, emit func(Record)) (Summary, error) {
	d := &dumper{options: o, emit: emit, conns: map[[2]netip.AddrPort]*connection{}, talks: map[[2]netip.AddrPort]PacketFormat{}}
	a := capture.Assembler{Open: d.open}
	in, err := capture.NewReader(r)
	if err != nil {
		return d.sum, err
	}
	var p capture.Packet
	for {
		if p, err = in.Next(); err != nil {
			break
		}
		d.sum.Packets++
		if !d.wanted(&p) {
			continue
		}
		if p.Proto == capture.UDP {
			d.datagram(&p)
		} else {
			a.Packet(&p)
		}
	}
	d.sum.Ignored += a.Flush()
	d.sum.Undecodable, d.sum.Cause = in.Undecodable()
	d.sum.Packets += d.sum.Undecodable
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return d.sum, err
}

// dumper is one Run.
type dumper struct {
	options Options
	emit    func(Record)
	sum     Summary
	conns   map[[2]netip.AddrPort]*connection
	talks   map[[2]netip.AddrPort]PacketFormat // conversations over UDP
}

// connection is what the two directions of a connection share, once one of them is recognised.
type connection struct {
	format   Format
	decoders [2]func(emit func(Record)) Decoder
	opened   int // directions
}

func (d *dumper) wanted(p *capture.Packet) bool {
	ports := d.options.Ports
	return len(ports) == 0 || slices.Contains(ports, p.Src.Port()) || slices.Contains(ports, p.Dst.Port())
}

func (d *dumper) open(src, dst netip.AddrPort, whole bool) capture.Sink {
	return &direction{dumper: d, src: src, dst: dst, whole: whole}
}

// report completes a record of a direction and passes it on.
func (d *dumper) report(r Record) {
	if r.Problem {
		d.sum.Problems++
	} else {
		d.sum.Frames++
	}
	d.emit(r)
}

// direction is one direction of a connection: a stream of unknown format, until its first bytes tell.
type direction struct {
	*dumper
	src, dst netip.AddrPort
	whole    bool // the capture has its beginning
	first    []byte
	decoder  Decoder
	unknown  bool
}

func (s *direction) Data(t time.Time, b []byte) {
	if s.unknown {
		return
	}
	if s.decoder != nil {
		s.decoder.Data(t, b)
		return
	}
	s.first = append(s.first, b[:min(len(b), maxMatch)]...)
	more := false
	for _, f := range formats {
		switch f.Match(s.first) {
		case Yes:
			s.start(f)
			s.decoder.Data(t, s.first)
			if rest := b[min(len(b), maxMatch):]; len(rest) > 0 {
				s.decoder.Data(t, rest)
			}
			s.first = nil
			return
		case More:
			more = true
		}
	}
	if !more || len(s.first) > maxMatch {
		s.giveUp()
	}
}

func (s *direction) Gap(t time.Time, n int) {
	if s.decoder != nil {
		s.decoder.Gap(t, n)
		return
	}
	s.giveUp()
}

func (s *direction) End(t time.Time) {
	if s.decoder != nil {
		s.decoder.End(t)
		return
	}
	s.giveUp()
}

func (s *direction) giveUp() {
	if !s.unknown {
		s.unknown = true
		s.sum.Unknown++
		s.first = nil
	}
}

// pair is the key of what two ends share, and which of them src is.
func pair(src, dst netip.AddrPort) (key [2]netip.AddrPort, i int) {
	if dst.Compare(src) < 0 {
		return [2]netip.AddrPort{dst, src}, 1
	}
	return [2]netip.AddrPort{src, dst}, 0
}

// start begins decoding, with the state of the other direction if that is of the same format.
func (s *direction) start(f Format) {
	key, i := pair(s.src, s.dst)
	c := s.conns[key]
	if c == nil || c.opened == 2 || c.format.Name() != f.Name() {
		c = &connection{format: f, decoders: f.Connection(s.options.Payload)}
		s.conns[key] = c
		s.sum.Connections++
	}
	c.opened++
	src, dst := s.src, s.dst
	s.decoder = c.decoders[i](func(r Record) {
		r.Src, r.Dst, r.Proto = src, dst, f.Name()
		s.report(r)
	})
}

// problem is a Record of something wrong at an offset of a stream.
func problem(t time.Time, offset uint64, format string, args ...any) Record {
	return Record{Time: t, Problem: true, Offset: offset, Text: fmt.Sprintf(format, args...)}
}
