package dump

import (
	"fmt"
	"time"

	"gofabric/util/rxd/wire"
)

// rxd is the format of udp;ofi_rxd: native packets, and the datagrams that gofabric peers exchange once they have
// recognized each other.
type rxd struct{}

func (rxd) Name() string { return "rxd" }

// Match accepts an RTS or CTS that ends with an extension block, or an extension datagram with the correct
// checksum.
func (rxd) Match(d Datagram, likely bool) bool {
	b := d.Bytes
	if len(b) > 0 && b[0] == wire.XMagic {
		return d.Captured == len(b) && len(runOf(b)) > 0
	}
	r, err := parseRXD(d)
	if err != nil {
		return false
	}
	if likely {
		return true
	}
	switch r.Op {
	case wire.TypeRTS.String(), wire.TypeCTS.String():
		f := r.Fields.(*rxdFields)
		return f.Ext != nil || len(b) == len(r.Header)
	}
	return false
}

func (rxd) Decode(d Datagram, payload int, emit func(Record)) {
	segments := [][]byte{d.Bytes}
	if run := runOf(d.Bytes); len(run) > 1 {
		segments = run
	}
	rest := d.Captured
	for _, b := range segments {
		one := Datagram{Bytes: b, Captured: min(len(b), rest)}
		rest -= one.Captured
		r, err := parseRXD(one)
		if err != nil {
			r = problem(time.Time{}, 0, "%v (%x)", err, b[:min(one.Captured, wire.BaseLen)])
		}
		r.Payload = r.Payload[:min(payload, len(r.Payload))]
		emit(r)
	}
}

// maxTries is the number of segment lengths that are tried.
const maxTries = 64

// runOf splits a GSO batch of extension datagrams. A capture on the sending machine has the batch as one packet,
// before the network interface cuts it into datagrams of equal size; on loopback it is not cut at all (UDP_SEGMENT,
// udp(7)). A single datagram is a batch of one. nil means that no checksum was correct.
func runOf(b []byte) [][]byte {
	if len(b) < wire.XHeaderLen || b[0] != wire.XMagic {
		return nil
	}
	seg := 0
	if wire.Verify(b) {
		seg = len(b)
	}
	var next wire.XHeader
	conn := [8]byte(b[8:])
	for at, tries := wire.XHeaderLen, 0; seg == 0 && tries < maxTries && at+wire.XHeaderLen <= len(b); at++ {
		if b[at] != wire.XMagic || [8]byte(b[at+8:]) != conn {
			continue
		}
		tries++
		if _, err := next.Parse(b[at:]); err == nil && wire.Verify(b[:at]) {
			seg = at
		}
	}
	if seg == 0 {
		return nil
	}
	var run [][]byte
	for len(b) > 0 {
		n := min(seg, len(b))
		run = append(run, b[:n])
		b = b[n:]
	}
	return run
}

// parseRXD describes a complete datagram.
func parseRXD(d Datagram) (Record, error) {
	if d.Captured > 0 && d.Bytes[0] == wire.XMagic {
		return parseExtension(d)
	}
	base, err := wire.ParseBase(d.Bytes)
	if err != nil {
		return Record{}, err
	}
	var s fmt.Stringer
	var rest []byte
	f := &rxdFields{}
	switch base.Type {
	case wire.TypeRTS:
		var p wire.RTS
		rest, err = p.Parse(d.Bytes)
		f.rts(&p)
		s = &p
	case wire.TypeCTS:
		var p wire.CTS
		rest, err = p.Parse(d.Bytes)
		f.cts(&p)
		s = &p
	case wire.TypeAck:
		var p wire.Ack
		err = p.Parse(d.Bytes)
		rest = d.Bytes[min(wire.AckLen, len(d.Bytes)):]
		f.ack(&p)
		s = &p
	case wire.TypeData, wire.TypeDataRead:
		var p wire.Data
		rest, err = p.Parse(d.Bytes)
		f.data(&p)
		s = &p
	default:
		var p wire.Op
		rest, err = p.Parse(d.Bytes)
		f.op(&p)
		s = &p
	}
	if err != nil {
		return Record{}, err
	}
	header, text := len(d.Bytes)-len(rest), s.String()
	if base.Type == wire.TypeRTS || base.Type == wire.TypeCTS {
		if e, ok := wire.ParseExt(rest); ok {
			header += wire.ExtLen
			text += " " + e.String()
			f.ext(e)
		}
	}
	return f.record(d, header, text)
}

func parseExtension(d Datagram) (Record, error) {
	if d.Captured == len(d.Bytes) && len(d.Bytes) >= wire.XHeaderLen && !wire.Verify(d.Bytes) {
		return Record{}, errChecksum
	}
	var h wire.XHeader
	rest, err := h.Parse(d.Bytes)
	if err != nil {
		return Record{}, err
	}
	f := &rxdFields{}
	f.extension(&h)
	r, err := f.record(d, len(d.Bytes)-len(rest), "x"+h.String())
	r.Offset = h.Offset
	return r, err
}
