//go:build linux

package hostile

// A hostile peer with a socket. It knows both handshakes, and follows no other rule.

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"gofabric/test/conform"
	"gofabric/util/rxd/wire"
)

// attacker is the socket of a hostile peer.
type attacker struct {
	t     *testing.T
	c     *victim
	conn  *net.UDPConn
	at    netip.AddrPort
	rng   *rand.Rand
	index uint32 // of the endpoint under attack for the attacker, as a native peer
	id    uint64 // of the endpoint under attack for the attacker, as a gofabric peer
	epoch uint64
	seq   uint64 // native packets sent in sequence
	off   uint64 // of the stream
}

// newAttacker opens the socket of a hostile peer. It closes with the test. No two attackers of a victim have the same
// port: with the same epoch, the second would be taken for the first, which has sent no reset.
func (c *victim) newAttacker(seed uint64) *attacker {
	c.t.Helper()
	for {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(ownNet()+"200:0")))
		check(c.t, err)
		c.t.Cleanup(func() { conn.Close() })
		at := conn.LocalAddr().(*net.UDPAddr).AddrPort()
		if c.seen[at] {
			continue // keep the port taken until the end
		}
		c.seen[at] = true
		check(c.t, conn.SetReadBuffer(1<<20))
		return &attacker{t: c.t, c: c, conn: conn, at: at, rng: rand.New(rand.NewPCG(seed, 5)), epoch: seed<<32 | 1}
	}
}

// send sends a datagram to the endpoint under attack, which may refuse it in any way.
func (r *attacker) send(b []byte) { _, _ = r.conn.WriteToUDPAddrPort(b, r.c.addr.IP) }

// receive waits for a datagram that matches.
func (r *attacker) receive(what string, fits func(b []byte) bool) {
	r.t.Helper()
	buf := make([]byte, 1<<16)
	for end := time.Now().Add(conform.Deadline); time.Now().Before(end); {
		_ = r.conn.SetReadDeadline(time.Now().Add(200 * time.Microsecond))
		n, _, err := r.conn.ReadFromUDPAddrPort(buf)
		if err == nil && fits(buf[:n]) {
			return
		}
		r.c.pumpAll()
	}
	r.t.Fatalf("the endpoint sends no %s: %+v", what, r.c.stats())
}

// asNative completes native's handshake.
func (r *attacker) asNative() *attacker {
	r.t.Helper()
	rts := wire.RTS{RTSAddr: 77, Source: r.at}
	r.send(rts.Append(nil))
	r.receive("CTS", func(b []byte) bool {
		var cts wire.CTS
		if _, err := cts.Parse(b); err != nil || cts.RTSAddr != 77 {
			return false
		}
		r.index = uint32(cts.CTSAddr)
		return true
	})
	return r
}

// ext returns the attacker's extension block.
func (r *attacker) ext() wire.Ext {
	return wire.Ext{ConnID: 0xBAD, Epoch: r.epoch, MaxDatagram: 9000, Window: 1 << 20,
		Nonce: 1 << 32, Features: wire.FeatureAtomics}
}

// rts requests the extension.
func (r *attacker) rts(x wire.Ext) {
	rts := wire.RTS{RTSAddr: 77, Source: r.at}
	r.send(x.Append(rts.Append(nil)))
}

// asGofabric completes the extension's handshake.
func (r *attacker) asGofabric() *attacker {
	r.t.Helper()
	x := r.ext()
	for up := false; !up; {
		r.rts(x)
		r.receive("CTS with a block", func(b []byte) bool {
			var cts wire.CTS
			rest, err := cts.Parse(b)
			if err != nil {
				return false
			}
			y, ok := wire.ParseExt(rest)
			if !ok || y.Nonce != x.Nonce {
				return false
			}
			x.Cookie, r.id, up = y.Cookie, y.ConnID, y.Flags&wire.ExtUp != 0
			return true
		})
	}
	return r
}

// x sends an extension datagram with a correct checksum.
func (r *attacker) x(h wire.XHeader, payload []byte) {
	if h.Type == 0 {
		h.Type = wire.XData
	}
	if h.ConnID == 0 {
		h.ConnID = r.id
	}
	r.send(seal(h, payload))
}

// seal encodes an extension datagram.
func seal(h wire.XHeader, payload []byte) []byte {
	b := h.Append(nil)
	wire.PutChecksum(b, payload)
	return append(b, payload...)
}

// stream sends bytes of the attacker's stream, in order.
func (r *attacker) stream(b []byte) {
	for len(b) > 0 {
		n := min(len(b), 1400)
		r.x(wire.XHeader{Offset: r.off, Window: 1 << 20}, b[:n])
		r.off += uint64(n)
		b = b[n:]
	}
}

// op encodes the first packet of an operation in sequence. The caller knows whether the peer will accept it, and then
// counts it.
func (r *attacker) op(o wire.Op, payload []byte) []byte {
	o.Base.Peer, o.Base.Seq = r.index, r.seq
	return append(o.Append(nil), payload...)
}

// data encodes a following packet.
func (r *attacker) data(typ wire.Type, seq, seg uint64, tx uint32, payload []byte) []byte {
	d := wire.Data{Base: wire.Base{Type: typ, Peer: r.index, Seq: seq}, TxID: tx, SegNo: seg}
	return append(d.Append(nil), payload...)
}

// ack encodes an acknowledgement.
func (r *attacker) ack(seq uint64, window uint16) []byte {
	a := wire.Ack{Base: wire.Base{Type: wire.TypeAck, Peer: r.index, Seq: seq}, Window: window}
	return a.Append(nil)
}

// noise returns random bytes.
func (r *attacker) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.rng.Uint32())
	}
	return b
}
