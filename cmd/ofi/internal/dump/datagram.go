package dump

import (
	"gofabric/cmd/internal/capture"
)

// PacketFormat is a wire format over UDP.
type PacketFormat interface {
	Name() string
	// Match reports whether a datagram has this format beyond reasonable doubt. Bytes that were not captured are
	// zero. likely relaxes the test: the user has named the port.
	Match(d Datagram, likely bool) bool
	// Decode describes a datagram of a conversation of this format. payload is the number of bytes of each payload
	// to report.
	Decode(d Datagram, payload int, emit func(Record))
}

// Datagram is a captured datagram.
type Datagram struct {
	Bytes    []byte // those that were not captured are zero
	Captured int
}

var packetFormats = []PacketFormat{rxd{}}

// Limits of conversations and datagrams.
const (
	maxTalks    = 1 << 16
	maxDatagram = 65535
)

// datagram decodes a datagram if its conversation is known, or if Match recognizes it.
func (d *dumper) datagram(p *capture.Packet) {
	if len(p.Payload) > maxDatagram {
		d.sum.Datagrams++
		return
	}
	g := Datagram{Bytes: p.Payload, Captured: len(p.Payload)}
	if missing := min(p.Missing, maxDatagram-g.Captured); missing > 0 {
		g.Bytes = append(g.Bytes[:g.Captured:g.Captured], make([]byte, missing)...)
	}
	key, _ := pair(p.Src, p.Dst)
	f := d.talks[key]
	if f == nil {
		if f = d.recognise(g); f == nil {
			d.sum.Datagrams++
			return
		}
		if len(d.talks) >= maxTalks {
			d.sum.Ignored++
			return
		}
		d.talks[key] = f
		d.sum.Connections++
	}
	f.Decode(g, d.options.Payload, func(r Record) {
		r.Time, r.Src, r.Dst, r.Proto = p.Time, p.Src, p.Dst, f.Name()
		d.report(r)
	})
}

func (d *dumper) recognise(g Datagram) PacketFormat {
	for _, f := range packetFormats {
		if f.Match(g, len(d.options.Ports) > 0) {
			return f
		}
	}
	return nil
}
