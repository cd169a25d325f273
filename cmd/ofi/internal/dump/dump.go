// Package dump finds the conversations of fabrics in packet captures and describes each frame as a Record.
//
// A wire format over TCP is a Format: it recognizes a stream by its first bytes and decodes both directions of a
// connection. The list is formats. A format on top of another one, as ofi_rxm over xnet, decodes that format's
// payload. A format over UDP is a PacketFormat: it recognizes a conversation by a datagram that other protocols are
// unlikely to send, and decodes datagrams. The list is packetFormats.
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

// Record is a frame or a problem in a capture.
type Record struct {
	Time     time.Time
	Src, Dst netip.AddrPort
	Proto    string // of the wire format
	Op       string // the operation; "" for a problem
	Text     string // the rest of the line
	Problem  bool
	Offset   uint64 // of the frame in its direction of the connection
	Header   []byte // as in the packet
	Payload  []byte // the first bytes of the payload, Options.Payload at most
	Fields   any    // of the header, to be encoded as JSON
}

// Format is a wire format over TCP.
type Format interface {
	Name() string
	// Match decides from the first bytes of a stream whether it has this format.
	Match(b []byte) Verdict
	// Connection returns the decoders of a connection's two directions. Each decoder receives the direction's whole
	// stream. payload is the number of bytes of each frame's payload to report.
	Connection(payload int) [2]func(emit func(Record)) Decoder
}

// Decoder decodes one direction of a connection; see capture.Sink.
type Decoder = capture.Sink

// Verdict is the result of Match.
type Verdict uint8

// The verdicts.
const (
	No Verdict = iota
	Yes
	More // bytes are needed
)

var formats = []Format{xnet{}}

// maxMatch is the number of bytes that are kept of a stream of unknown format.
const maxMatch = 1024

// Options select what is reported.
type Options struct {
	Ports   []uint16 // only connections with one of these ports at either end; empty means all
	Payload int      // bytes of payload to report of each frame
}

// Summary counts the contents of a capture.
type Summary struct {
	Packets     int   // all
	Undecodable int   // frames that are damaged or of an unknown kind of link
	Cause       error // the reason for the last of them
	Connections int   // of a known format
	Unknown     int   // directions of TCP connections of unknown format, or without their beginning
	Datagrams   int   // of UDP conversations whose format is unknown, or was unknown then
	Frames      int
	Problems    int
	Ignored     int // packets beyond the limit of connections
}

// Run reads a capture and calls emit for each record, in the order in which frames were complete. The error is the
// reason why reading stopped early. Everything before that was reported.
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

// dumper is the state of a Run.
type dumper struct {
	options Options
	emit    func(Record)
	sum     Summary
	conns   map[[2]netip.AddrPort]*connection
	talks   map[[2]netip.AddrPort]PacketFormat // conversations over UDP
}

// connection is the state of both directions of a connection, after one of them was recognized.
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

// report completes a record of a direction and calls emit.
func (d *dumper) report(r Record) {
	if r.Problem {
		d.sum.Problems++
	} else {
		d.sum.Frames++
	}
	d.emit(r)
}

// direction is one direction of a connection: a stream whose format its first bytes reveal.
type direction struct {
	*dumper
	src, dst netip.AddrPort
	whole    bool // the capture contains its beginning
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

// pair returns the key of a conversation, and which end of it src is.
func pair(src, dst netip.AddrPort) (key [2]netip.AddrPort, i int) {
	if dst.Compare(src) < 0 {
		return [2]netip.AddrPort{dst, src}, 1
	}
	return [2]netip.AddrPort{src, dst}, 0
}

// start begins to decode, with the state of the other direction if it has the same format.
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

// problem returns a Record of an error at an offset of a stream.
func problem(t time.Time, offset uint64, format string, args ...any) Record {
	return Record{Time: t, Problem: true, Offset: offset, Text: fmt.Sprintf(format, args...)}
}
