//go:build linux

package hostile

// Malformed packets of native's format, from unknown sources and from peers that have completed the handshake.

import (
	"math"
	"testing"

	"gofabric/core"
	"gofabric/internal/atomics"
	"gofabric/test/conform"
	"gofabric/util/rxd/wire"
)

// good returns valid packets of every kind.
func (r *attacker) good() map[string][]byte {
	iov := func(o wire.Op, n int) wire.Op {
		o.NRMA = n
		for i := range n {
			o.RMA[i] = wire.RMAIov{Addr: uint64(i * 8), Len: 8, Key: memKey}
		}
		return o
	}
	base := func(t wire.Type, f wire.Flags) wire.Op { return wire.Op{Base: wire.Base{Type: t, Flags: f}} }
	sar := func(o wire.Op, size, segs uint64) wire.Op {
		o.SAR = wire.SAR{Size: size, NumSegs: segs, TxID: 9}
		return o
	}
	rts, cts := wire.RTS{RTSAddr: 77, Source: r.at}, wire.CTS{RTSAddr: 1, CTSAddr: 77}
	atomic := func(t wire.Type, f wire.Flags, op atomics.Op) wire.Op {
		o := iov(base(t, f), 1)
		o.AtomDatatype, o.AtomOp = uint32(atomics.Uint64), uint32(op)
		return o
	}
	return map[string][]byte{
		"msg":               r.op(base(wire.TypeMsg, wire.FlagInline), r.noise(100)),
		"msg, long":         r.op(sar(base(wire.TypeMsg, wire.FlagCQData), 5000, 4), r.noise(1400)),
		"tagged":            r.op(base(wire.TypeTagged, wire.FlagInline|wire.FlagTag|wire.FlagCQData), r.noise(100)),
		"tagged, long":      r.op(sar(base(wire.TypeTagged, wire.FlagTag), 5000, 4), r.noise(1400)),
		"read":              r.op(sar(iov(base(wire.TypeReadReq, 0), 4), 32, 1), nil),
		"write":             r.op(iov(base(wire.TypeWrite, wire.FlagInline), 1), r.noise(8)),
		"write, 4 segments": r.op(sar(iov(base(wire.TypeWrite, wire.FlagCQData), 4), 32, 1), r.noise(32)),
		"atomic":            r.op(atomic(wire.TypeAtomic, wire.FlagInline, atomics.Sum), r.noise(8)),
		"atomic fetch":      r.op(sar(atomic(wire.TypeAtomicFetch, 0, atomics.Read), 8, 1), nil),
		"atomic compare":    r.op(sar(atomic(wire.TypeAtomicCompare, 0, atomics.CSwap), 8, 1), r.noise(16)),
		"ack":               r.ack(0, 128),
		"data":              r.data(wire.TypeData, r.seq, 0, 9, r.noise(1000)),
		"data read":         r.data(wire.TypeDataRead, r.seq, 0, 9, r.noise(1000)),
		"rts":               rts.Append(nil),
		"rts, block":        r.ext().Append(rts.Append(nil)),
		"cts":               cts.Append(nil),
		"cts, block":        r.ext().Append(cts.Append(nil)),
		"extension": seal(wire.XHeader{Type: wire.XData, ConnID: 5, NSACK: 3,
			SACK: [wire.MaxSACK]wire.Range{{Start: 1, End: 2}, {Start: 3, End: 4}, {Start: 5, End: 6}}}, r.noise(64)),
	}
}

// TestRXDUnknownPeer sends every packet without a handshake: whole, truncated at every length, and with forged indices
// and numbers. It also sends noise.
func TestRXDUnknownPeer(t *testing.T) {
	c := openVictim(t)
	r := c.newAttacker(1)
	before := heap()
	for name, pkt := range r.good() {
		for n := range len(pkt) + 1 {
			r.send(pkt[:n])
			if n%100 == 0 {
				c.pumpAll()
			}
		}
		c.serve()
		for range 20 {
			b := append([]byte(nil), pkt...)
			for range 1 + r.rng.IntN(4) {
				b[r.rng.IntN(len(b))] = byte(r.rng.Uint32())
			}
			r.send(b)
		}
		if c.serve(); t.Failed() {
			t.Fatal(name)
		}
	}
	for typ := range 256 {
		for _, peer := range []uint32{0, 1, 2, 77, math.MaxUint32, r.rng.Uint32()} {
			b := wire.Base{Type: wire.Type(typ), Flags: wire.Flags(r.rng.Uint32()), Peer: peer,
				Seq: r.rng.Uint64() >> r.rng.IntN(64)}.Append(nil)
			r.send(append(b, r.noise(r.rng.IntN(200))...))
		}
		if typ%16 == 0 {
			c.serve()
		}
	}
	for i := range 2000 {
		r.send(r.noise(r.rng.IntN(1500)))
		if i%200 == 0 {
			c.serve()
		}
	}
	c.serve()
	s := c.stats()
	if s.Peers != 2 || s.Malformed < 1000 || s.Unknown < 500 {
		t.Errorf("%d peers, %d malformed, %d unknown: want the 2 honest ones, and drops counted", s.Peers,
			s.Malformed, s.Unknown)
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("heap grew from %d to %d KiB", before>>10, after>>10)
	}
}

// badOps are invalid operations of a peer that has completed the handshake.
func badOps(r *attacker) map[string][][]byte {
	op := func(t wire.Type, f wire.Flags, sar wire.SAR, payload int, iov ...wire.RMAIov) []byte {
		o := wire.Op{Base: wire.Base{Type: t, Flags: f}, SAR: sar, NRMA: len(iov)}
		copy(o.RMA[:], iov)
		return r.op(o, r.noise(payload))
	}
	atomic := func(t wire.Type, datatype, what uint32, size uint64, payload int, iov ...wire.RMAIov) []byte {
		o := wire.Op{Base: wire.Base{Type: t}, SAR: wire.SAR{Size: size, NumSegs: 1}, NRMA: len(iov),
			AtomDatatype: datatype, AtomOp: what}
		copy(o.RMA[:], iov)
		return r.op(o, r.noise(payload))
	}
	iovCount := func(b []byte, n byte) []byte { b[wire.BaseLen+20] = n; return b }
	key := wire.RMAIov{Addr: 0, Len: 8, Key: memKey}
	forged := wire.RMAIov{Addr: 0, Len: 8, Key: 123456}
	const most = math.MaxUint64
	u64 := uint32(atomics.Uint64)
	return map[string][][]byte{
		"size of all ones": {op(wire.TypeMsg, 0, wire.SAR{Size: most, NumSegs: 2}, 100)},
		"size and packets of all ones": {op(wire.TypeTagged, wire.FlagTag,
			wire.SAR{Size: most, NumSegs: most}, 100)},
		"no packets":              {op(wire.TypeMsg, 0, wire.SAR{Size: 100}, 100)},
		"more packets than bytes": {op(wire.TypeMsg, 0, wire.SAR{Size: 110, NumSegs: 12}, 100)},
		"more payload than size":  {op(wire.TypeMsg, 0, wire.SAR{Size: 10, NumSegs: 1}, 100)},
		"4 EiB in two packets": {op(wire.TypeTagged, wire.FlagTag, wire.SAR{Size: 1 << 62, NumSegs: 2},
			100), r.data(wire.TypeData, r.seq+1, 0, 0, r.noise(1440))},
		"4 EiB": {op(wire.TypeTagged, wire.FlagTag,
			wire.SAR{Size: 1 << 62, NumSegs: 1 << 61}, 100), r.data(wire.TypeData, r.seq+1, 0, 0, r.noise(1440))},
		"64 GiB, then another operation": {op(wire.TypeMsg, 0, wire.SAR{Size: 1 << 36, NumSegs: 1 << 28}, 1400),
			op(wire.TypeMsg, wire.FlagInline, wire.SAR{}, 10)},
		"data of another segment": {op(wire.TypeMsg, 0, wire.SAR{Size: 5000, NumSegs: 4}, 1400),
			r.data(wire.TypeData, r.seq+1, 7, 0, r.noise(1440))},
		"data beyond the end": {op(wire.TypeMsg, 0, wire.SAR{Size: 1500, NumSegs: 2}, 1400),
			r.data(wire.TypeData, r.seq+1, 0, 0, r.noise(1440))},
		"data that is empty": {op(wire.TypeMsg, 0, wire.SAR{Size: 1500, NumSegs: 2}, 1400),
			r.data(wire.TypeData, r.seq+1, 0, 0, nil)},
		"an answer in place of data": {op(wire.TypeMsg, 0, wire.SAR{Size: 1500, NumSegs: 2}, 1400),
			r.data(wire.TypeDataRead, r.seq+1, 0, 0, r.noise(100))},
		"data of no operation": {r.data(wire.TypeData, r.seq, 0, 0, r.noise(1440))},
		"an answer to no read": {r.data(wire.TypeDataRead, r.seq, 0, 0, r.noise(1440)),
			r.data(wire.TypeDataRead, r.seq, most, math.MaxUint32, nil)},
		"acknowledgement of nothing": {r.ack(1, 128), r.ack(1<<63, 128), r.ack(most, 0)},
		"window 0":                   {r.ack(0, 0), r.ack(0, 0), r.ack(0, 0), r.ack(0, 0)},
		"window 65535":               {r.ack(0, 65535)},
		"sequence numbers from the future": {r.data(wire.TypeData, most, 0, 0, nil),
			r.data(wire.TypeData, 1<<40, 0, 0, nil), r.data(wire.TypeMsg, 500, 0, 0, nil)},
		"tag without tagged":      {op(wire.TypeMsg, wire.FlagTag|wire.FlagInline, wire.SAR{}, 100)},
		"tagged without tag":      {op(wire.TypeTagged, wire.FlagInline, wire.SAR{}, 100)},
		"write, forged key":       {op(wire.TypeWrite, wire.FlagInline, wire.SAR{}, 8, forged)},
		"write, read-only region": {op(wire.TypeWrite, wire.FlagInline, wire.SAR{}, 8, key)},
		"write, 16 GiB": {op(wire.TypeWrite, 0, wire.SAR{Size: 1 << 34, NumSegs: 1 << 25}, 1000,
			wire.RMAIov{Len: 1 << 34, Key: memKey})},
		"write, no segments": {op(wire.TypeWrite, 0, wire.SAR{Size: 8, NumSegs: 1}, 8)},
		"write, 5 segments": {iovCount(op(wire.TypeWrite, 0, wire.SAR{Size: 8, NumSegs: 1}, 200, key),
			5)},
		"write, 255 segments": {iovCount(op(wire.TypeWrite, 0, wire.SAR{Size: 8, NumSegs: 1}, 200, key),
			255)},
		"write, segments do not add up": {op(wire.TypeWrite, 0, wire.SAR{Size: 9, NumSegs: 1}, 9, key)},
		"write, lengths beyond 2^64": {op(wire.TypeWrite, 0, wire.SAR{Size: 8, NumSegs: 1}, 8,
			wire.RMAIov{Len: most - 7, Key: memKey}, wire.RMAIov{Len: 16, Key: memKey})},
		"read, forged key": {op(wire.TypeReadReq, 0, wire.SAR{Size: 8, NumSegs: 1}, 0, forged)},
		"read, beyond the end": {op(wire.TypeReadReq, 0, wire.SAR{Size: 8, NumSegs: 1}, 0,
			wire.RMAIov{Addr: secret - 4, Len: 8, Key: memKey})},
		"read that wraps around": {op(wire.TypeReadReq, 0, wire.SAR{Size: 8, NumSegs: 1}, 0,
			wire.RMAIov{Addr: most - 3, Len: 8, Key: memKey})},
		"read, 1 TiB": {op(wire.TypeReadReq, 0, wire.SAR{Size: 1 << 40, NumSegs: 1 << 30}, 0,
			wire.RMAIov{Len: 1 << 40, Key: memKey})},
		"read of nothing":   {op(wire.TypeReadReq, 0, wire.SAR{}, 0, wire.RMAIov{Key: memKey})},
		"read, no segments": {op(wire.TypeReadReq, 0, wire.SAR{}, 0)},
		"read, 5 segments": {iovCount(op(wire.TypeReadReq, 0, wire.SAR{Size: 8, NumSegs: 1}, 0, key),
			5)},
		"atomic, forged key":       {atomic(wire.TypeAtomic, u64, uint32(atomics.Sum), 8, 8, forged)},
		"atomic, read-only region": {atomic(wire.TypeAtomic, u64, uint32(atomics.Sum), 8, 8, key)},
		"atomic, unknown datatype": {atomic(wire.TypeAtomic, 99, uint32(atomics.Sum), 8, 8, key),
			atomic(wire.TypeAtomic, math.MaxUint32, 0, 8, 8, key)},
		"atomic, unknown operation": {atomic(wire.TypeAtomicFetch, u64, 99, 8, 8, key),
			atomic(wire.TypeAtomicFetch, u64, math.MaxUint32, 8, 8, key)},
		"atomic, operand missing": {atomic(wire.TypeAtomicCompare, u64, uint32(atomics.CSwap), 8, 8, key)},
		"atomic, half an element": {atomic(wire.TypeAtomicFetch, u64, uint32(atomics.Read), 8, 0,
			wire.RMAIov{Len: 7, Key: memKey})},
		"atomic, beyond the end": {atomic(wire.TypeAtomicFetch, u64, uint32(atomics.Read), 8, 0,
			wire.RMAIov{Addr: secret - 4, Len: 8, Key: memKey})},
		"atomic, 1 TiB": {atomic(wire.TypeAtomicFetch, u64, uint32(atomics.Read), 1<<40, 0,
			wire.RMAIov{Len: 1 << 40, Key: memKey})},
		"atomic, no segments": {atomic(wire.TypeAtomicFetch, u64, uint32(atomics.Read), 0, 0)},
		"unsolicited answers": {append(wire.Base{Type: wire.TypeCTS}.Append(nil), r.noise(16)...),
			append(wire.Base{Type: wire.TypeCTS}.Append(nil), r.noise(100)...)},
		"a handshake in the middle": {(&wire.RTS{RTSAddr: 78, Source: r.at}).Append(nil),
			(&wire.RTS{RTSAddr: 0, Source: r.at}).Append(nil)},
		"a handshake of another protocol": {r.ext().Append((&wire.RTS{RTSAddr: 78, Source: r.at}).Append(nil))},
	}
}

// TestRXDNativePeer sends malformed packets in sequence, from a peer that has completed the handshake.
func TestRXDNativePeer(t *testing.T) {
	c := openVictim(t)
	before := heap()
	names := badOps(c.newAttacker(0))
	for name := range names {
		for _, first := range []bool{false, true} { // with and without a valid message first
			r := c.newAttacker(2).asNative()
			if first {
				r.speak(1 << 20)
			}
			for _, b := range badOps(r)[name] {
				r.send(b)
				r.send(b)
			}
			if c.serve(); t.Failed() {
				t.Fatal(name)
			}
			if name == "read of nothing" || name == "read, no segments" {
				continue
			}
			r.conn.Close()
		}
	}
	conform.CheckPattern(t, "registered memory", c.mem, secret, 8)
	if s := c.stats(); s.Malformed < 20 || s.Refused < 5 {
		t.Errorf("%d malformed, %d refused: want drops counted", s.Malformed, s.Refused)
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("heap grew from %d to %d KiB", before>>10, after>>10)
	}
}

// speak sends a valid tagged message and waits until it is received.
func (r *attacker) speak(tag uint64) {
	r.t.Helper()
	buf := make([]byte, 100)
	const ctx = 3
	had := r.c.done[ctx]
	check(r.t, r.c.ep.TRecv(buf, 0, core.AddrUnspec, tag, 0, ctx))
	o := wire.Op{Base: wire.Base{Type: wire.TypeTagged, Flags: wire.FlagTag | wire.FlagInline}, Tag: tag}
	r.send(r.op(o, conform.Pattern(100, 5)))
	r.seq++
	r.c.until(func() string { return "a hostile peer's valid message is not received" },
		func() bool { return r.c.done[ctx] > had })
	conform.CheckPattern(r.t, "hostile peer's message", buf, 100, 5)
}

// TestRXDNativeTruncated truncates packets of a peer at every length.
func TestRXDNativeTruncated(t *testing.T) {
	c := openVictim(t)
	for name := range c.newAttacker(0).good() {
		r := c.newAttacker(3).asNative()
		r.speak(1 << 20)
		pkt := r.good()[name]
		for n := range len(pkt) {
			r.send(pkt[:n])
			if n%64 == 0 {
				c.pumpAll()
			}
		}
		c.serve()
		r.conn.Close()
	}
}

// TestRXDNativeAcks has a peer send random acknowledgements. It harms only itself.
func TestRXDNativeAcks(t *testing.T) {
	c := openVictim(t)
	for i, f := range []func(r *attacker){
		func(r *attacker) { r.send(r.ack(math.MaxUint64, 128)); r.send(r.ack(10000, 128)) },
		func(r *attacker) {
			r.send(r.ack(0, 0))
			r.send(r.ack(1, 0))
			r.send(r.ack(1, 0))
			r.send(r.ack(0, 128))
		},
		func(r *attacker) { r.send(r.ack(1, 65535)); r.send(r.ack(2, 65535)) },
		func(r *attacker) {
			for range 2000 {
				r.send(r.ack(0, 128))
			}
		},
		func(r *attacker) {
			for n := range uint64(300) {
				r.send(r.ack(n, uint16(n)))
				r.c.pumpAll()
			}
		},
	} {
		r := c.newAttacker(uint64(10 + i)).asNative()
		r.speak(1 << 20)
		fi := c.insert(core.IPAddr(r.at))
		const ctx = 5
		had := c.done[ctx] + len(c.lost)
		check(t, c.ep.TSend(make([]byte, 100_000), 0, fi, 1, ctx))
		for range 20 {
			c.pumpAll()
		}
		f(r)
		c.serve()
		f(r)
		c.serve()
		r.conn.Close()
		// The operation has completed or failed.
		c.until(func() string { return "the send to a bad peer never completes" },
			func() bool { return c.done[ctx]+len(c.lost) > had })
	}
}
