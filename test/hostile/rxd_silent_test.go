//go:build linux

package hostile

// Peers that acknowledge a request but never answer it, or begin a message and never finish it.

import (
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
	rxdwire "gofabric/util/rxd/wire"
)

// silences are ways to leave an operation waiting. Each posts an operation with the context and lets the attacker do its
// part.
var silences = []struct {
	name   string
	native bool
	do     func(r *attacker, fi core.FIAddr, ctx core.OpContext)
}{
	{"gofabric, read", false, func(r *attacker, fi core.FIAddr, ctx core.OpContext) {
		check(r.t, r.c.ep.Read(make([]byte, 1000), 0, fi, 0, 1, ctx))
		r.acknowledge()
	}},
	{"gofabric, write to be delivered", false, func(r *attacker, fi core.FIAddr, ctx core.OpContext) {
		m := &core.RMAArgs{IOV: [][]byte{make([]byte, 1000)}, Addr: fi,
			RMAIOV: []core.RMAIov{{Len: 1000, Key: 1}}, Ctx: ctx}
		check(r.t, r.c.ep.WriteMsg(m, core.OpDeliveryComplete|core.OpCompletion))
		r.acknowledge()
	}},
	{"gofabric, half a message", false, func(r *attacker, _ core.FIAddr, ctx core.OpContext) {
		check(r.t, r.c.ep.TRecv(make([]byte, 5000), 0, core.AddrUnspec, 99, 0, ctx))
		h := wire.Header{Op: wire.OpTag, Tag: 99}
		h.SetPayload(5000)
		r.stream(append(h.Append(nil, wire.Little), make([]byte, 2000)...))
	}},
	{"native, read", true, func(r *attacker, fi core.FIAddr, ctx core.OpContext) {
		check(r.t, r.c.ep.Read(make([]byte, 1000), 0, fi, 0, 1, ctx))
		r.receive("read request", func(b []byte) bool {
			base, err := rxdwire.ParseBase(b)
			return err == nil && base.Type == rxdwire.TypeReadReq
		})
		r.send(r.ack(1, 128))
	}},
	{"native, half an answer", true, func(r *attacker, fi core.FIAddr, ctx core.OpContext) {
		check(r.t, r.c.ep.Read(make([]byte, 5000), 0, fi, 0, 1, ctx))
		var tx uint32
		r.receive("read request", func(b []byte) bool {
			var op rxdwire.Op
			_, err := op.Parse(b)
			tx = op.SAR.TxID
			return err == nil && op.Type == rxdwire.TypeReadReq
		})
		r.send(r.ack(1, 128))
		r.send(r.data(rxdwire.TypeDataRead, r.seq, 0, tx, make([]byte, 1440)))
	}},
	{"native, half a message", true, func(r *attacker, _ core.FIAddr, ctx core.OpContext) {
		check(r.t, r.c.ep.TRecv(make([]byte, 5000), 0, core.AddrUnspec, 99, 0, ctx))
		o := rxdwire.Op{Base: rxdwire.Base{Type: rxdwire.TypeTagged, Flags: rxdwire.FlagTag}, Tag: 99,
			SAR: rxdwire.SAR{Size: 5000, NumSegs: 4}}
		r.send(r.op(o, make([]byte, 1400)))
		r.send(r.data(rxdwire.TypeData, r.seq+1, 0, 0, make([]byte, 1440)))
	}},
}

// acknowledge acknowledges what arrives in the stream, and sends nothing else.
func (r *attacker) acknowledge() {
	r.t.Helper()
	r.receive("stream", func(b []byte) bool {
		var h xheader
		p, err := h.Parse(b)
		if err != nil || h.Offset+uint64(len(p)) < 40 {
			return false
		}
		r.x(xheader{Type: rxdwire.XAck, Offset: r.off, Ack: h.Offset + uint64(len(p)), Window: 1 << 20}, nil)
		return true
	})
}

// TestRXDSilence checks that every wait ends. The operations fail when the peer was silent for the peer time-out (3 s
// here).
func TestRXDSilence(t *testing.T) {
	c := openVictim(t)
	const first = core.OpContext(1000)
	posted := time.Now()
	for i, k := range silences {
		r := c.newAttacker(uint64(50 + i))
		if k.native {
			r.asNative().speak(1 << 20)
		} else {
			r.asGofabric().tell(1 << 21)
		}
		k.do(r, c.insert(core.IPAddr(r.at)), first+core.OpContext(i))
		c.serve()
	}
	ended := func(i int) bool {
		for _, e := range c.lost {
			if e.Ctx == first+core.OpContext(i) {
				return true
			}
		}
		return false
	}
	for time.Since(posted) < 3*time.Second+conform.Deadline {
		all := true
		for i := range silences {
			all = all && ended(i)
		}
		if all {
			break
		}
		c.serve()
		time.Sleep(10 * time.Millisecond) // the time-outs of seconds, which are waited for, are native's
	}
	for i, k := range silences {
		if !ended(i) {
			t.Errorf("%s: the operation waits for ever", k.name)
		}
	}
	for _, e := range c.lost {
		if e.Ctx >= first && e.Err != core.ErrTimedOut {
			t.Errorf("%s: %v; want a time-out", silences[e.Ctx-first].name, e.Err)
		}
	}
	if early := time.Since(posted); early < 2*time.Second {
		t.Errorf("all operations ended already after %v", early)
	}
}
