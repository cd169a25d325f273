package hostile

// A hostile peer that uses native rxm over tcp. It sends packets of every kind in the wrong state, unsolicited
// answers, and wrong answers.

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
	rxm "gofabric/util/rxm/wire"
)

// frame puts a packet into a tcp transfer, as rxm does.
func frame(pkt []byte) []byte {
	h := wire.Header{Op: wire.OpMsg}
	h.SetPayload(uint64(len(pkt)))
	return append(h.Append(nil, wire.Little), pkt...)
}

// nativePeer connects as a native peer that listens at port.
func nativePeer(t *testing.T, p *conform.Pair, port uint16) *raw {
	t.Helper()
	r := dial(t, p)
	c := rxm.Connect{Port: port, FlowCtrl: rxm.FlowCtrlOff, EagerLimit: rxm.BufferSize, RxSize: 128,
		Conn: rxm.ConnID(rand.Uint32(), 0)}
	r.send(wire.AppendCM(nil, wire.CMConnReq, c.Append(nil)))
	if cm := r.answer(p); cm.Type != wire.CMConnResp {
		t.Fatalf("handshake answered with %v", cm.Type)
	}
	return r
}

// packet returns a packet of a random kind.
func (f *forger) packet() []byte {
	p := rxm.Packet{Type: rxm.Type(f.pick(0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7, 8)), Op: rxm.Op(f.pick(0, 1)),
		Part: rxm.Part(1 + f.IntN(3)), SegNo: uint32(f.pick(0, 1, 2)), Tag: 5,
		MsgID: f.pick(1<<32, 1<<32|1, 1<<32|2, 2<<32, 7), Credits: f.pick(1, 1<<63), Datatype: uint8(f.pick(4, 7, 9)),
		AtomOp: uint8(f.pick(0, 2, 8, 12)), N: uint8(1 + f.IntN(rxm.RangesMax)), Status: int32(f.pick(0, 0, 13))}
	n := int(f.pick(0, 8, 64, 1000) & 0x3fff)
	p.Size, p.SegSize, p.Result = uint64(n), uint16(n), uint32(n)
	for i := range p.Ranges[:p.N] {
		p.Ranges[i] = rxm.Range{Addr: f.base + f.pick(0, 8),
			Len: f.pick(0, 1, uint64(n), 1<<20), Key: f.pick(f.key, f.key, 99)}
	}
	switch p.Type {
	case rxm.TypeSegment:
		p.Size = f.pick(uint64(n), 2*uint64(n), 100)
	case rxm.TypeRndvReq:
		p.Size = f.pick(uint64(n), 10, 1<<20, 1<<50)
		n = 0
	case rxm.TypeAtomic:
		p.Op, p.Size = rxm.Op(f.pick(6, 7, 8)), uint64(rxm.AtomicLen+n)
	case rxm.TypeAtomicResp:
		p.Op, p.Size = rxm.Op(f.pick(6, 7, 8)), uint64(rxm.ResultLen+n)
	case rxm.TypeEager:
	default:
		n = 0
	}
	b := append(p.Append(nil), make([]byte, n)...)
	switch f.IntN(30) {
	case 0:
		b = b[:f.IntN(len(b)+1)]
	case 1:
		b[f.IntN(len(b))] ^= 1 << f.IntN(8)
	}
	return frame(b)
}

// TestNativePackets has hostile peers send packets of every kind while the endpoint has messages, reads and atomic
// operations to them pending.
func TestNativePackets(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for name, vars := range map[string]map[string]string{"reads": nil, "writes": {"FI_OFI_RXM_USE_RNDV_WRITE": "1"}} {
		t.Run(name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, rxmStack(t, vars))
			room := make([]byte, 3*secret)
			fillWith(room, 0xee)
			mr := p.B.Reg(room[secret:2*secret], core.AccessRemoteRead|core.AccessRemoteWrite)
			p.Ping(1)
			before := heap()
			at := p.A.Addr
			for round := range rounds {
				f := &forger{Rand: rand.New(rand.NewPCG(uint64(round), 13)), key: mr.Key(), base: mr.Base()}
				port := uint16(1 + round)
				r := nativePeer(t, p, port)
				at.IP = netipPort(at.IP, port)
				there := p.B.Insert(at)
				go drain(r)
				for i := range f.IntN(4) {
					var err error
					switch i {
					case 0:
						err = p.B.EP.Send(make([]byte, f.pick(10, 20_000, 300_000)&0xfffff), 0, there, 900)
					case 1:
						err = p.B.EP.TSend(make([]byte, f.pick(10, 20_000, 300_000)&0xfffff), 0, there, 7, 901)
					case 2:
						err = p.B.EP.Read(make([]byte, 100), 0, there, 0, 5, 902)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					buf := make([]byte, 500)
					if err := p.B.EP.TRecv(buf, 0, core.AddrUnspec, 5, 0, 910); err != nil {
						t.Fatal(err)
					}
				}
				var list []byte
				for range 1 + f.IntN(30) {
					if f.IntN(6) == 0 {
						list = append(list, f.op()...)
					} else {
						list = append(list, f.packet()...)
					}
				}
				cut := f.IntN(len(list) + 1)
				r.send(list[:cut])
				p.Progress()
				r.send(list[cut:])
				p.Ping(uint64(1000 + 2*round))
				r.c.Close()
				p.Ping(uint64(1001 + 2*round))
				for p.B.EP.Cancel(910) == nil {
				}
				p.Forget()
			}
			for i, b := range room {
				if (i < secret || i >= 2*secret) && b != 0xee {
					t.Fatalf("byte %d outside of the region was written", i)
				}
			}
			if after := heap(); after > before+64<<20 {
				t.Errorf("heap grew from %d to %d MiB", before>>20, after>>20)
			}
			if err := mr.Close(); err != nil {
				t.Error(err)
			}
			p.Forget()
		})
	}
}

// TestNativeHandshake sends private data that no rxm endpoint would send.
func TestNativeHandshake(t *testing.T) {
	conform.NoLeaks(t)
	p := open(t, rxmStack(t, nil))
	good := rxm.Connect{Port: 7, FlowCtrl: rxm.FlowCtrlOff, EagerLimit: rxm.BufferSize, RxSize: 128, Conn: 1 << 32}
	spoil := func(f func(c *rxm.Connect)) []byte { c := good; f(&c); return c.Append(nil) }
	at := func(i int, v byte) []byte { b := good.Append(nil); b[i] = v; return b }
	i := uint64(0)
	for name, c := range map[string]struct {
		data []byte
		want wire.CMType
	}{
		"good":             {good.Append(nil), wire.CMConnResp},
		"nothing":          {nil, wire.CMReject},
		"one byte":         {[]byte{1}, wire.CMReject},
		"short":            {good.Append(nil)[:rxm.ConnectLen-1], wire.CMReject},
		"version":          {at(0, 99), wire.CMReject},
		"big-endian":       {at(1, 1), wire.CMReject},
		"control version":  {at(2, 99), wire.CMReject},
		"operations":       {at(3, 99), wire.CMReject},
		"no eager limit":   {spoil(func(c *rxm.Connect) { c.EagerLimit = 0 }), wire.CMReject},
		"wild eager limit": {spoil(func(c *rxm.Connect) { c.EagerLimit = 1<<32 - 1 }), wire.CMReject},
		"index":            {spoil(func(c *rxm.Connect) { c.Index = 3 }), wire.CMReject},
		"wild receives": {spoil(func(c *rxm.Connect) { c.RxSize, c.Port, c.Conn = 1<<32-1, 8, 2<<32 }),
			wire.CMConnResp},
		"flow control": {spoil(func(c *rxm.Connect) { c.FlowCtrl, c.Port, c.Conn = rxm.FlowCtrlOn, 9, 3<<32 }),
			wire.CMConnResp},
		"port 0": {spoil(func(c *rxm.Connect) { c.Port, c.Conn = 0, 4<<32 }), wire.CMConnResp},
		"long":   {append(good.Append(nil), make([]byte, 200)...), 0},
	} {
		r := dial(t, p)
		r.send(wire.AppendCM(nil, wire.CMConnReq, c.data))
		if cm := r.answer(p); cm.Type != c.want && c.want != 0 {
			t.Errorf("%s: answered with %v", name, cm.Type)
		}
		r.c.Close()
		i++
		p.Ping(i)
	}
	for n := range uint64(50) { // handshakes that are never completed
		r := dial(t, p)
		r.send(wire.AppendCM(nil, wire.CMConnReq, good.Append(nil))[:n])
		p.Ping(100 + n)
	}
	p.Forget()
}

// TestNativeBudget checks that a peer whose messages find no room does not keep those of others from being received.
func TestNativeBudget(t *testing.T) {
	conform.NoLeaks(t)
	p := open(t, rxmStack(t, map[string]string{"FI_OFI_RXM_UNEXP_BYTES": "65536"}))
	p.Ping(1)
	eager := func(tag uint64, n int) []byte {
		k := rxm.Packet{Type: rxm.TypeEager, Op: rxm.OpTagged, Tag: tag, Size: uint64(n)}
		return frame(append(k.Append(nil), make([]byte, n)...))
	}
	fullPeer := nativePeer(t, p, 7)
	var flood []byte
	for range 2000 {
		flood = append(flood, eager(77, 100)...)
	}
	go func() { _, _ = fullPeer.c.Write(flood) }()
	p.Ping(2)
	for i := range uint64(20) {
		buf := make([]byte, 100)
		if err := p.B.EP.TRecv(buf, 0, core.AddrUnspec, 1000+i, 0, core.OpContext(500+i)); err != nil {
			t.Fatal(err)
		}
	}
	other := nativePeer(t, p, 8)
	for i := range uint64(20) {
		other.send(eager(1000+i, 50))
	}
	for i := range uint64(20) {
		p.Want(p.B, core.OpContext(500+i))
	}
	fullPeer.c.Close()
	other.c.Close()
	p.Ping(3)
	p.Forget()
}

func netipPort(a netip.AddrPort, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr(), port)
}
