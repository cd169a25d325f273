package session

import (
	"net/netip"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// FuzzReceive gives a node arbitrary datagrams, cut out of the input by lengths in front of them. They come from a
// connected peer, from one that has not answered, and from unknown addresses. A bit of the input makes the test
// correct checksums, ids and indices, so that the code behind these checks is reached.
func FuzzReceive(f *testing.F) {
	for _, ext := range []bool{true, false} {
		n := newWorld(f, 2)
		var all []byte
		n.Tap = func(_, _ int, b []byte) {
			if len(b) < 1<<12 {
				all = append(append(all, byte(len(b)), byte(len(b)>>8)|0x80), b...)
			}
		}
		change := func(c *Config) { c.Extensions = ext }
		a, b := n.add(1, change), n.add(2, change)
		b.recv(make([]byte, 4000), 1)
		a.post(b, msg(1, pattern(4000, 1)))
		a.post(b, rma(xengine.KindWrite, 1, pattern(30, 1), 0))
		a.post(b, rma(xengine.KindRead, 1, make([]byte, 2000), 0))
		n.run(second, nil)
		f.Add(all, ext)
	}
	f.Fuzz(func(t *testing.T, in []byte, ext bool) {
		n := newWorld(t, 2)
		change := func(c *Config) { c.Extensions = ext }
		a, b, asked := n.add(1, change), n.add(2, change), n.add(3, change)
		for i := range 4 {
			b.recv(make([]byte, 5000), uint64(i))
		}
		b.rx.Limit, b.rx.PeerLimit = 1<<20, 1<<20
		a.post(b, msg(1, pattern(3000, 1)))
		n.run(100*ms, nil)
		b.post(asked, msg(1, pattern(3000, 1)))
		get := make([]byte, 3000)
		b.post(a, rma(xengine.KindRead, 1, get, 0))
		b.flush()
		p := b.e.Lookup(a.addr)
		for len(in) > 2 {
			size := min(int(in[0])|int(in[1]&0x1f)<<8, len(in)-2)
			flags := in[1] >> 5
			d := append([]byte(nil), in[2:2+size]...)
			in = in[2+size:]
			from := []netip.AddrPort{a.addr, asked.addr, at(9), a.addr}[flags&3]
			fixDatagram(p, d, ext, flags&4 != 0)
			n.Now += ms
			b.e.Receive(n.Now, from, d)
			b.e.Advance(n.Now)
			for range 1000 {
				if !b.e.Poll(n.Now, &b.out) {
					break
				}
			}
		}
		if b.e.Len() > 3 || len(b.e.halfOpen.m) > 3 {
			t.Error("too many peers")
		}
		n.Clear()
		n.remove(a)
		n.run(100*second, nil) // all open work ends
		if b.e.Len() > 0 && b.e.Deadline() != 0 {
			t.Error("a timer or an operation never ends")
		}
		for _, d := range []*node{a, b, asked} {
			d.e.Each(func(p *Peer) bool { d.e.Remove(p, xengine.ErrClosed); return true })
			d.rx.Flush(xengine.ErrClosed)
			d.rx.Release()
		}
		if b.pool.OutChunks != 0 || b.pool.OutTx != 0 || b.pool.OutRx != 0 || b.pool.OutUnexp != 0 ||
			b.e.flows.OutPages != 0 {
			t.Errorf("left over: %+v", b.pool)
		}
	})
}

// fixDatagram writes the correct checksum, id and sequence number into d.
func fixDatagram(p *Peer, d []byte, ext, do bool) {
	switch {
	case !do || p.Removed():
	case p.state == extended && len(d) >= wire.XHeaderLen:
		d[0] = wire.XMagic
		le.PutUint64(d[8:], p.local)
		clear(d[4:8])
		wire.PutChecksum(d)
	case p.state == native && len(d) >= wire.BaseLen:
		d[0] = wire.Version
		seq := p.nat.expect
		if wire.Type(d[1]) == wire.TypeAck {
			seq = p.nat.acked + uint64(d[8]&3)
		}
		wire.PutPeerSeq(d, p.index, seq)
	}
}
