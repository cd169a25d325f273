// This file tests the parser of the incoming stream, without a connection.

package engine

import (
	"bytes"
	"testing"

	"gofabric/internal/xnet/wire"
)

// TestInboundHeaders parses headers that come in pieces of each length, with payload between them.
func TestInboundHeaders(t *testing.T) {
	var stream []byte
	headers := []wire.Header{
		{Op: wire.OpMsg},
		{Op: wire.OpTag, Flags: wire.FlagCQData, Tag: 7, CQData: 8},
		{Op: wire.OpWrite, IovCnt: MaxIOV, IOV: [MaxIOV]wire.RMAIov{{Len: 1}, {Len: 2}, {Len: 3}, {Len: 4}}},
		{Op: wire.OpMsg, OpData: wire.OpDataAck},
	}
	payload := []uint64{5000, 1, 10, 0}
	for i := range headers {
		headers[i].SetPayload(payload[i])
		stream = append(headers[i].Append(stream, wire.Little), pattern(i, int(payload[i]))...)
	}
	var p inboundPool
	for cut := 1; cut <= 200; cut++ {
		var in inbound
		var got []byte // the payload in progress
		n := 0
		for rest := stream; len(rest) > 0; {
			b := rest[:min(cut, len(rest))]
			rest = rest[len(b):]
			for len(b) > 0 {
				if l := in.now; l != nil {
					k := min(uint64(len(b)), l.left)
					l.absorb(b[:k])
					b = b[k:]
					if l.left -= k; l.left == 0 {
						same(t, "payload", got, pattern(n-1, len(got)))
						in.now = nil
						p.putPayload(l)
					}
					continue
				}
				if m := in.missing(true); m < 1 || len(in.part()) > 0 && m > wire.MaxHeader {
					t.Fatalf("cut %d: %d bytes are missing of %d", cut, m, len(in.part()))
				}
				p.hdr = wire.Header{} // decoding does not change fields that the operation does not have
				took, whole, err := in.header(&p, b)
				if err != nil {
					t.Fatal(err)
				}
				b = b[took:]
				if !whole {
					continue
				}
				if h, w := &p.hdr, headers[n]; h.Op != w.Op || h.Tag != w.Tag || h.CQData != w.CQData ||
					h.IOV != w.IOV || h.PayloadLen() != payload[n] {
					t.Fatalf("cut %d: header %d is %v", cut, n, *h)
				}
				if payload[n] > 0 {
					l := in.expect(&p, inRecv, payload[n])
					got = make([]byte, payload[n])
					l.segs[0], l.segs[1], l.n = got[:1], got[1:], 2
				}
				n++
			}
		}
		if n != len(headers) || !in.idle() || !in.between() {
			t.Fatalf("cut %d: %d headers, idle %v", cut, n, in.idle())
		}
	}
}

// TestInboundHolds keeps bytes that come during a stall, and gives the memory back.
func TestInboundHolds(t *testing.T) {
	var p inboundPool
	in := inbound{stall: stallReplies}
	in.keepPart(&p, []byte("par"))
	in.hold(&p, []byte("held "), false)
	in.hold(&p, []byte("bytes"), false)
	if in.idle() || string(in.part()) != "par" {
		t.Fatalf("idle %v with %q", in.idle(), in.part())
	}
	if b := in.takeHeld(&p); !bytes.Equal(b, []byte("held bytes")) || in.kept == nil {
		t.Fatalf("%q was held", b)
	}
	in.dropPart(&p)
	if in.kept != nil || p.kepts == nil || in.takeHeld(&p) != nil {
		t.Fatal("an empty place is kept")
	}
	if in.stall = flowing; !in.idle() {
		t.Fatal("not idle")
	}
}

// TestInboundTarget checks that only long payload is received in place, and never more than payload or room.
func TestInboundTarget(t *testing.T) {
	var p inboundPool
	var in inbound
	if in.target() != nil {
		t.Fatal("there is a target for a header")
	}
	l := in.expect(&p, inRecv, 3*directMin)
	l.segs[0], l.segs[1], l.n = make([]byte, directMin), make([]byte, directMin+7), 2
	if n := len(in.target()); n != directMin {
		t.Fatalf("%d bytes of the first buffer", n)
	}
	if l.direct(directMin) || len(in.target()) != directMin+7 {
		t.Fatalf("%d bytes of the second buffer", len(in.target()))
	}
	if in.stall = stallRefused; in.target() != nil {
		t.Fatal("there is a target during a stall")
	}
	in.stall = flowing
	if l.direct(8) || in.target() != nil {
		t.Fatal("there is a target for a few bytes")
	}
	l.absorb(make([]byte, directMin)) // more than the room: the message is truncated
	if l.i != l.n {
		t.Fatalf("%d of %d buffers are full", l.i, l.n)
	}
}
