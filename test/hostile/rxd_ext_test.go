//go:build linux

package hostile

// Malformed extension datagrams of a peer that has completed the handshake. Checksum and connection id are right,
// other fields are not.

import (
	"math"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
	rxdwire "gofabric/util/rxd/wire"
)

type (
	xheader = rxdwire.XHeader
	span    = rxdwire.Range
)

// tell sends a valid tagged message in the stream and waits until it is received.
func (r *attacker) tell(tag uint64) {
	r.t.Helper()
	buf := make([]byte, 100)
	const ctx = 4
	had := r.c.done[ctx]
	check(r.t, r.c.ep.TRecv(buf, 0, core.AddrUnspec, tag, 0, ctx))
	h := wire.Header{Op: wire.OpTag, Tag: tag}
	h.SetPayload(100)
	r.stream(append(h.Append(nil, wire.Little), conform.Pattern(100, 6)...))
	r.c.until(func() string { return "a hostile peer's valid message is not received" },
		func() bool { return r.c.done[ctx] > had })
	conform.CheckPattern(r.t, "hostile peer's message", buf, 100, 6)
}

// badX are datagrams that no gofabric peer would send.
var badX = []struct {
	name string
	do   func(r *attacker)
}{
	{"acknowledgement of what was not sent", func(r *attacker) {
		for _, a := range []uint64{1 << 20, 1 << 40, 1 << 63, math.MaxUint64} {
			r.x(xheader{Ack: a, Offset: r.off}, nil)
			r.x(xheader{Type: rxdwire.XAck, Ack: a, Offset: r.off, Window: math.MaxUint32}, nil)
		}
	}},
	{"SACK blocks of what was not sent", func(r *attacker) {
		h := xheader{Type: rxdwire.XAck, Offset: r.off, NSACK: rxdwire.MaxSACK}
		for i := range h.SACK {
			h.SACK[i] = span{Start: uint64(i) << 58, End: math.MaxUint64 - uint64(i)}
		}
		r.x(h, nil)
	}},
	{"SACK blocks that are empty, inverted, too many", func(r *attacker) {
		r.x(xheader{Type: rxdwire.XAck, NSACK: 2,
			SACK: [rxdwire.MaxSACK]span{{Start: 5, End: 5}, {Start: 9, End: 3}}}, nil)
		for _, n := range []byte{0, 17, 255} {
			b := seal(xheader{Type: rxdwire.XAck, ConnID: r.id, NSACK: 1,
				SACK: [rxdwire.MaxSACK]span{{Start: 5, End: 9}}}, nil)
			b[44] = n
			clear(b[4:8])
			rxdwire.PutChecksum(b)
			r.send(b)
		}
	}},
	{"offsets at the end of the number range", func(r *attacker) {
		for _, o := range []uint64{math.MaxUint64, math.MaxUint64 - 100, 1 << 63, r.off + 1<<20, r.off + 1<<20 - 1} {
			r.x(xheader{Offset: o, Window: 1}, r.noise(1000))
		}
	}},
	{"unknown types", func(r *attacker) {
		for _, typ := range []rxdwire.XType{5, 6, 127, 255} {
			r.x(xheader{Type: typ, Offset: r.off}, r.noise(10))
		}
	}},
	{"windows that open and close", func(r *attacker) {
		for i := range uint32(100) {
			r.x(xheader{Type: rxdwire.XAck, Offset: r.off, Window: i % 3 * math.MaxUint32 / 2, Time: i << 25}, nil)
		}
	}},
	{"impossible timestamps", func(r *attacker) {
		for i := range uint32(200) {
			r.x(xheader{Type: rxdwire.XProbe, Offset: r.off, Time: r.rng.Uint32(),
				Echo: r.rng.Uint32(), AckDelay: uint16(i * 331)}, nil)
		}
	}},
	{"flags of all kinds", func(r *attacker) {
		for f := range 1 << 16 {
			if f&int(rxdwire.FlagXSACK|rxdwire.FlagXFin) == 0 && f%97 == 0 {
				r.x(xheader{Type: rxdwire.XAck, Flags: rxdwire.XFlags(f), Offset: r.off}, nil)
			}
		}
	}},
	{"single bytes with holes between them", func(r *attacker) {
		for i := range uint64(4000) {
			r.x(xheader{Offset: r.off + 7 + i*241}, []byte{1})
			if i%100 == 0 {
				r.c.pumpAll()
			}
		}
	}},
	{"random blocks, overlapping and with holes", func(r *attacker) {
		for i := range 2000 {
			r.x(xheader{Offset: r.off + 1 + r.rng.Uint64N(1<<20)}, r.noise(1+r.rng.IntN(1400)))
			if i%100 == 0 {
				r.c.pumpAll()
			}
		}
	}},
	{"an end before the start of the stream",
		func(r *attacker) { r.x(xheader{Flags: rxdwire.FlagXFin, Offset: 3}, nil) }},
	{"an end far away", func(r *attacker) { r.x(xheader{Flags: rxdwire.FlagXFin, Offset: math.MaxUint64}, nil) }},
	{"reset", func(r *attacker) { r.x(xheader{Type: rxdwire.XReset}, nil) }},
	{"another handshake", func(r *attacker) {
		x := r.ext()
		x.ConnID++
		r.rts(x)
		x.Cookie = 12345
		r.rts(x)
		x.Epoch++
		r.rts(x)
	}},
	{"handshakes with empty fields", func(r *attacker) {
		for i := range 4 {
			x := r.ext()
			switch i {
			case 0:
				x.ConnID = 0
			case 1:
				x.MaxDatagram = 1
			case 2:
				x.Window = 0
			case 3:
				x = rxdwire.Ext{}
			}
			r.rts(x)
		}
	}},
}

// badStreams are bytes in the stream that are not transfers, or that name memory which the peer may not access.
func badStreams() map[string][]byte {
	const gib4 = 4 << 30
	return map[string][]byte{
		"version 2":                   base(2, opMsg, 0, 0, 0, 16, 24),
		"noise":                       conform.Pattern(5000, 3),
		"operation 255":               base(3, 255, 0, 0, 0, 16, 24),
		"header of 255 bytes":         append(base(3, opMsg, 0, 0, 0, 255, 300), make([]byte, 300)...),
		"size 0":                      base(3, opMsg, 0, 0, 0, 16, 0),
		"size of all ones":            base(3, opMsg, 0, 0, 0, 16, math.MaxUint64),
		"2^60 bytes, 5000 of them":    append(words(base(3, opTag, 0, 0, 0, 24, 1<<60), 5), make([]byte, 5000)...),
		"4 GiB write to a forged key": words(base(3, opWrite, 0, 0, 1, 40, gib4+40), 0, gib4, 12345),
		"write to a read-only region": append(words(base(3, opWrite, 0, 0, 1, 40, 48), 0, 8, memKey),
			make([]byte, 8)...),
		"write with 5 segments":      words(base(3, opWrite, 0, 0, 5, 136, 136), make([]uint64, 15)...),
		"read of a forged key":       words(base(3, opReadReq, 0, 0, 1, 40, 40), 0, 8, 54321),
		"read of 2^40 bytes":         words(base(3, opReadReq, 0, 0, 1, 40, 40), 0, 1<<40, memKey),
		"read that wraps around":     words(base(3, opReadReq, 0, 0, 1, 40, 40), math.MaxUint64-3, 8, memKey),
		"answer to no read":          append(base(3, opReadRsp, 0, 0, 0, 16, 24), make([]byte, 8)...),
		"acknowledgement of nothing": base(3, opMsg, 0, ack, 0, 16, 16),
		"clear to send of nothing":   base(3, opCTS, 0, 7, 0, 16, 16),
		"data of no rendezvous":      append(base(3, opData, 0, 7, 0, 16, 24), make([]byte, 8)...),
		"atomic on a read-only region": append(words(base(3, 8, 10<<8, 7, 1, 40, 48), 0, 8, memKey),
			make([]byte, 8)...),
		"atomic that is none": append(words(base(3, 9, 0xff<<8, 0xff, 1, 40, 48), 0, 8, memKey),
			make([]byte, 8)...),
		"fetching atomic of a forged key": append(words(base(3, 9, 0, 7, 1, 40, 48), 0, 8, 999), make([]byte, 8)...),
	}
}

func TestRXDExtension(t *testing.T) {
	c := openVictim(t)
	before := heap()
	for _, k := range badX {
		for _, busy := range []bool{false, true} { // the endpoint under attack sends to the hostile peer, too
			r := c.newAttacker(20).asGofabric()
			r.tell(1 << 21)
			const ctx = 6
			had := c.done[ctx] + len(c.lost)
			if busy {
				check(t, c.ep.TSend(make([]byte, 300_000), 0, c.insert(core.IPAddr(r.at)), 1, ctx))
			}
			k.do(r)
			c.serve()
			k.do(r)
			if c.serve(); t.Failed() {
				t.Fatal(k.name)
			}
			r.x(xheader{Type: rxdwire.XReset}, nil) // before the socket closes
			if busy {
				c.until(func() string { return k.name + ": the send to a bad peer never completes" },
					func() bool { return c.done[ctx]+len(c.lost) > had })
			}
			r.conn.Close()
		}
		c.serve()
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("heap grew from %d to %d KiB", before>>10, after>>10)
	}
}

func TestRXDStream(t *testing.T) {
	c := openVictim(t)
	for name, b := range badStreams() {
		r := c.newAttacker(21).asGofabric()
		r.tell(1 << 21)
		r.stream(b)
		if c.serve(); t.Failed() {
			t.Fatal(name)
		}
		conform.CheckPattern(t, "registered memory", c.mem, secret, 8)
		if _, goes := map[string]bool{"2^60 bytes, 5000 of them": true}[name]; !goes {
			r.receive("reset after "+name, func(b []byte) bool {
				var h xheader
				_, err := h.Parse(b)
				return err == nil && rxdwire.Verify(b) && h.Type == rxdwire.XReset
			})
		}
		r.conn.Close()
	}
	c.serve()
}

// TestRXDBudgetOfPeers has many peers leave holes in all of their windows. The memory for all of them is bounded, and
// honest peers have room.
func TestRXDBudgetOfPeers(t *testing.T) {
	c := openVictim(t)
	before := heap()
	const fullPeers = 40
	for i := range fullPeers {
		r := c.newAttacker(uint64(30 + i)).asGofabric()
		for off := uint64(1); off < 1<<20; off += 16 << 10 {
			r.x(xheader{Offset: off}, []byte{1})
		}
		c.serve()
	}
	if after := heap(); after > before+fullPeers*(1<<20+64<<10) {
		t.Errorf("heap grew from %d to %d KiB", before>>10, after>>10)
	}
}
