//go:build linux

package hostile

// An attacker on the path, which sees every datagram of honest peers, and repeats, forges and damages them.

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/util/rxd/wire"
)

// relay forwards datagrams between a peer and the endpoint under attack. Each of them takes the relay for the other.
type relay struct {
	t          *testing.T
	inside     *net.UDPConn // towards the endpoint under attack; it has the peer's port, which an RTS must name
	outside    *net.UDPConn // towards the peer
	victim     netip.AddrPort
	peer       netip.AddrPort
	toVictim   [][]byte
	toPeer     [][]byte
	forwarding int
}

const mostRecorded = 4000

func (c *victim) newRelay(peer *endpoint) *relay {
	c.t.Helper()
	listen := func(at netip.AddrPort) *net.UDPConn {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		check(c.t, err)
		check(c.t, conn.SetReadBuffer(4<<20))
		c.t.Cleanup(func() { conn.Close() })
		return conn
	}
	own := ownNet()
	r := &relay{t: c.t, victim: c.addr.IP, peer: peer.addr.IP}
	r.inside = listen(netip.AddrPortFrom(netip.MustParseAddr(own+"100"), r.peer.Port()))
	r.outside = listen(netip.AddrPortFrom(netip.MustParseAddr(own+"101"), r.victim.Port()))
	return r
}

// forward forwards what has arrived, and keeps copies.
func (r *relay) forward() {
	buf := make([]byte, 1<<16)
	carry := func(from, out *net.UDPConn, to netip.AddrPort, log *[][]byte) {
		for {
			_ = from.SetReadDeadline(time.Now().Add(20 * time.Microsecond))
			n, _, err := from.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			r.forwarding++
			if len(*log) < mostRecorded {
				*log = append(*log, append([]byte(nil), buf[:n]...))
			}
			_, _ = out.WriteToUDPAddrPort(buf[:n], to)
		}
	}
	carry(r.outside, r.inside, r.victim, &r.toVictim)
	carry(r.inside, r.outside, r.peer, &r.toPeer)
}

// TestRXDRelay repeats captured datagrams in and out of order, from the right address and from wrong ones, and sends
// damaged copies. The peers continue.
func TestRXDRelay(t *testing.T) {
	for i, name := range []string{"gofabric", "native"} {
		t.Run(name, func(t *testing.T) {
			c := openVictim(t)
			params := with(swift, "FI_OFI_RXD_SINGLE_COPY_SIZE", "-1")
			if i == 1 {
				params = with(params, "FI_OFI_RXD_EXTENSIONS", "0")
			}
			k := openEndpoint(t, "peer behind a relay", ownNet()+"5", params)
			r := c.newRelay(k)
			c.honest = append(c.honest, k)
			c.there = append(c.there, k.insert(core.IPAddr(r.outside.LocalAddr().(*net.UDPAddr).AddrPort())))
			c.back = append(c.back, c.insert(core.IPAddr(r.inside.LocalAddr().(*net.UDPAddr).AddrPort())))
			c.between = r.forward
			for range 8 {
				c.serve()
			}
			if r.forwarding < 20 || k.stats().Peers != 1 {
				t.Fatalf("the relay has forwarded only %d datagrams", r.forwarding)
			}
			before := c.stats()
			r.replay(c)
			r.damage(c)
			r.elsewhere(c)
			after := c.stats()
			if i == 0 && (after.BadChecksum-before.BadChecksum < 20 ||
				after.Unknown-before.Unknown < uint64(len(r.toVictim))-10) {
				t.Errorf("%d bad checksums, %d unknown: want drops counted",
					after.BadChecksum-before.BadChecksum, after.Unknown-before.Unknown)
			}
			if after.Restarts != before.Restarts {
				t.Errorf("%d restarts were accepted", after.Restarts-before.Restarts)
			}
		})
	}
}

// replay repeats everything, in both directions.
func (r *relay) replay(c *victim) {
	for _, order := range []int{1, -1} {
		for i := range max(len(r.toVictim), len(r.toPeer)) {
			at := func(list [][]byte) []byte {
				if order < 0 {
					return list[(len(list)-1-i%len(list))%len(list)]
				}
				return list[i%len(list)]
			}
			_, _ = r.inside.WriteToUDPAddrPort(at(r.toVictim), r.victim)
			_, _ = r.outside.WriteToUDPAddrPort(at(r.toPeer), r.peer)
			if i%50 == 0 {
				c.serve()
			}
		}
		c.serve()
	}
}

// damage sends copies with one wrong bit. Native's format has no protection against that, so only datagrams with a
// checksum are damaged.
func (r *relay) damage(c *victim) {
	for i, b := range r.toVictim {
		if b[0] != wire.XMagic || len(b) < wire.XHeaderLen {
			continue
		}
		for _, bit := range []int{i * 13 % (len(b) * 8), (len(b) - 1) * 8, 16*8 + i%64, 24*8 + i%64} {
			d := append([]byte(nil), b...)
			d[bit/8] ^= 1 << (bit % 8)
			_, _ = r.inside.WriteToUDPAddrPort(d, r.victim)
		}
		if i%50 == 0 {
			c.serve()
		}
	}
	c.serve()
}

// elsewhere sends copies from another address than the peer's.
func (r *relay) elsewhere(c *victim) {
	e := c.newAttacker(9)
	for i, b := range r.toVictim {
		e.send(b)
		if i%50 == 0 {
			c.serve()
		}
	}
	c.serve()
}

// TestRXDOffPath attacks a connection with all its values except the connection id, or except the address.
func TestRXDOffPath(t *testing.T) {
	c := openVictim(t)
	r := c.newAttacker(3).asGofabric()
	r.tell(1 << 21)
	e := c.newAttacker(4)
	e.id = r.id
	e.x(wire.XHeader{Type: wire.XReset}, nil)
	e.x(wire.XHeader{Offset: r.off}, r.noise(100))
	good := r.id
	for i := range uint64(64) {
		r.id = good ^ 1<<i
		r.x(wire.XHeader{Type: wire.XReset}, nil)
		r.x(wire.XHeader{Offset: r.off}, r.noise(100))
	}
	r.id = good
	c.serve()
	r.tell(1 << 22) // the connection is unchanged
	if s := c.stats(); s.Unknown < 130 || s.Restarts > 0 {
		t.Errorf("%+v", s)
	}
	conform.CheckPattern(t, "registered memory", c.mem, secret, 8)
}
