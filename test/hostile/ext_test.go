package hostile

// A hostile peer that claims to run this module. It sends what only such peers may send: every kind, in every order,
// with every wrong length.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/cma"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
	rxm "gofabric/util/rxm/wire"
)

// extended returns the stacks whose peers can run this module.
func extended(t *testing.T) []conform.Stack {
	return append(stacks[:len(stacks):len(stacks)], rxmStack(t, nil))
}

// rxmStack returns tcp;ofi_rxm with variables set.
func rxmStack(t *testing.T, vars map[string]string) conform.Stack {
	return conform.Over(t, conform.Stack{Name: "rxm", Provider: "tcp;ofi_rxm",
		EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, vars)
}

// strange connects as a peer with these features.
func strange(t *testing.T, p *conform.Pair, features uint32) (*raw, func()) {
	t.Helper()
	r := dial(t, p)
	if p.Stack.EPType == core.EPTypeMsg {
		return r, r.accepted(p, features)
	}
	blob := wire.RDMBlob{Version: 1, Port: uint16(1 + rand.Uint32N(1000)), PID: rand.Uint32()}
	data := blob.Append(nil)
	if p.Stack.Provider == "tcp;ofi_rxm" {
		c := rxm.Connect{Port: blob.Port, FlowCtrl: rxm.FlowCtrlOff, EagerLimit: rxm.BufferSize,
			RxSize: 128, Conn: rxm.ConnID(blob.PID, 0)}
		data = c.Append(nil)
	}
	r.send(wire.AppendCMFeatures(nil, wire.CMConnReq, features, data))
	if cm := r.answer(p); cm.Type != wire.CMConnResp {
		t.Fatalf("handshake answered with %v", cm.Type)
	}
	return r, func() {}
}

// forger makes operations, some of which are valid.
type forger struct {
	*rand.Rand
	key, base uint64 // of a region that peers may write
}

// pick returns one of list, or a random number.
func (f *forger) pick(list ...uint64) uint64 {
	if f.IntN(8) == 0 {
		return f.Uint64() >> f.IntN(64)
	}
	return list[f.IntN(len(list))]
}

// ext returns an OpExt of a random kind.
func (f *forger) ext() []byte {
	kind := wire.ExtKind(f.pick(1, 2, 3, 4, 5, 6, 6, 6, 7, 8, 13, 14, 15, 16, 17))
	b := make([]byte, 0, wire.MaxExt)
	index := uint8(f.pick(0, 1, 2, 255))
	switch kind {
	case wire.ExtHello:
		id := *cma.New().Identity() // the identity of the endpoint under attack: it is this process
		switch f.IntN(3) {
		case 0:
			id.PID = 1
		case 1:
			id.PIDNS++
		}
		b = id.Append(b)
	case wire.ExtProof:
		b = wire.AppendProof(b, f.Uint64())
	case wire.ExtRef:
		r := wire.Ref{Index: index, Tagged: f.IntN(2) == 0, HasData: f.IntN(2) == 0,
			Match: f.IntN(2) == 0, N: uint8(f.IntN(5)), Tag: 5}
		for i := range r.IOV[:r.N] {
			r.IOV[i] = wire.RMAIov{Addr: f.Uint64(), Len: f.pick(0, 1, 100, 1<<20)}
			r.Size += r.IOV[i].Len
		}
		b = r.Append(b)
	case wire.ExtMatched:
		b = wire.AppendMatched(b, uint32(f.pick(0, 1)))
	case wire.ExtAccepted, wire.ExtRefused, wire.ExtReadRefused:
		v := wire.Verdict{Kind: kind, Why: wire.Refusal(f.pick(0, 1, 2, 3)),
			Segment: uint8(f.pick(0, 0, 1)), Number: uint32(f.pick(0, 1, 2))}
		b = v.Append(b)
	case wire.ExtOffer:
		o := wire.Offer{Name: [wire.NameLen]byte{byte(f.Uint32())}}
		b = o.Append(b)
	case wire.ExtMoved:
		b = wire.AppendMoved(b, false)
	default:
		b = append(wire.AppendExtIndex(b, kind, index), make([]byte, 20)...)
	}
	if f.IntN(4) == 0 {
		b = b[:1+f.IntN(len(b))]
	}
	h := wire.Header{Op: wire.OpExt}
	h.SetPayload(uint64(len(b)))
	return append(h.Append(nil, wire.Little), b...)
}

// op returns an operation of a random kind.
func (f *forger) op() []byte {
	if f.IntN(2) == 0 {
		return f.ext()
	}
	h := wire.Header{Op: wire.Op(f.pick(0, 1, 2, 3, 4, 5, 6, 7, 0x20, 0x21, 0x22, 0x23, 0x31, 0x32, 0x33, 0x38)),
		Tag: f.pick(0, 5, 1<<63, 1<<32), CQData: f.pick(0, 1, 1<<63), OpData: uint8(f.pick(0, 1, 4, 7, 9, 12)),
		Flags: wire.Flags(f.pick(0, 0, 0, uint64(wire.FlagCQData), uint64(wire.FlagDelivery), uint64(wire.FlagCommit),
			uint64(wire.FlagMatch))), MsgSize: f.pick(0, 10, 1<<20), Atomic: uint8(f.pick(0, 2, 8, 12))}
	n := f.pick(0, 8, 16, 64, 1000) & 0xffff
	if h.Op.String()[0] == 'a' || h.Op == wire.OpReadReq || h.Op == wire.OpWrite {
		h.IovCnt = uint8(1 + f.IntN(wire.IOVLimit))
		for i := range h.IOV[:h.IovCnt] {
			h.IOV[i] = wire.RMAIov{Addr: f.base + f.pick(0, 8), Len: n / uint64(h.IovCnt),
				Key: f.pick(f.key, f.key, f.key, 99)}
		}
	}
	if h.Op == wire.OpCoalesced || h.Op == wire.OpTagCoalesced {
		h.OpData, h.IovCnt, h.Flags = uint8(f.pick(1, 2, 8)), uint8(f.pick(0, 0, 0, 1)), 0
	}
	if h.Op == wire.OpReadReq || h.Op == wire.OpTagRTS || h.Op == wire.OpCTS || h.Op == wire.OpContext {
		n = 0
	}
	h.SetPayload(n)
	b := append(h.Append(nil, wire.Little), make([]byte, n)...)
	if f.IntN(50) == 0 {
		b = b[:f.IntN(len(b)+1)]
	}
	return b
}

// TestExtended has many hostile peers send many operations each. Honest peers continue, memory beyond a region is not
// touched, and nothing leaks.
func TestExtended(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for _, st := range extended(t) {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			room := make([]byte, 3*secret)
			fillWith(room, 0xee)
			mr := p.B.Reg(room[secret:2*secret], core.AccessRemoteRead|core.AccessRemoteWrite)
			p.Ping(1)
			before := heap()
			for round := range rounds {
				f := &forger{Rand: rand.New(rand.NewPCG(uint64(round), 11)), key: mr.Key(), base: mr.Base()}
				features := uint32(wire.FeatureExtended | wire.FeatureDirect)
				if round%4 == 1 {
					features |= wire.FeatureVerdicts
				}
				if round%8 == 7 {
					features = f.Uint32() &^ (wire.FeatureDirect | wire.FeatureAuth)
				}
				r, done := strange(t, p, features)
				go drain(r)
				var list []byte
				for range 1 + f.IntN(40) {
					list = append(list, f.op()...)
				}
				cut := f.IntN(len(list) + 1)
				r.send(list[:cut])
				p.Progress()
				r.send(list[cut:])
				p.Ping(uint64(100 + 2*round))
				r.c.Close()
				p.Ping(uint64(101 + 2*round))
				done()
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

func fillWith(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// drain reads what the endpoint sends, so that it does not block.
func drain(r *raw) {
	b := make([]byte, 1<<16)
	for {
		_ = r.c.SetReadDeadline(time.Now().Add(conform.Deadline))
		if _, err := r.c.Read(b); err != nil {
			return
		}
	}
}

// TestContexts names receive contexts that do not exist, and switches between existing ones without end.
func TestContexts(t *testing.T) {
	for _, st := range extended(t) {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			for i, index := range []byte{1, 2, 254, 255} {
				r, done := strange(t, p, wire.FeatureExtended|wire.FeatureDirect)
				h := wire.Header{Op: wire.OpContext, OpData: 0}
				h.SetPayload(0)
				var b []byte
				for range 1000 {
					b = h.Append(b, wire.Little)
				}
				r.send(b)
				p.Ping(uint64(10 + i))
				h.OpData = index
				r.send(h.Append(nil, wire.Little))
				if !r.closed(p) {
					t.Errorf("context %d does not exist, but the connection stays open", index)
				}
				done()
				p.Ping(uint64(20 + i))
				p.Forget()
			}
		})
	}
}

// TestForgeries sends one forgery on each connection. The endpoint must close the connection.
func TestForgeries(t *testing.T) {
	ext := func(b []byte) []byte {
		h := wire.Header{Op: wire.OpExt}
		h.SetPayload(uint64(len(b)))
		return append(h.Append(nil, wire.Little), b...)
	}
	ref := wire.Ref{Index: 1, N: 1, Size: 10, IOV: [wire.IOVLimit]wire.RMAIov{{Addr: 1, Len: 10}}}
	id := cma.New().Identity()
	hello := ext(id.Append(nil))
	cases := map[string][]byte{
		"moved without an offer":         ext(wire.AppendMoved(nil, false)),
		"a match of nothing":             ext(wire.AppendMatched(nil, 0)),
		"done with nothing":              ext(wire.AppendExtIndex(nil, wire.ExtDone, 1)),
		"done without an index":          ext([]byte{byte(wire.ExtDone)}),
		"a reference without permission": ext(ref.Append(nil)),
		"a proof of nothing":             ext(wire.AppendProof(nil, 1)),
		"a challenge without a reason":   ext(new(wire.Challenge).Append(nil)),
		"half an offer":                  ext([]byte{byte(wire.ExtOffer), 0, 0, 0, 1}),
		"hello twice":                    append(hello[:len(hello):len(hello)], hello...),
		"half a hello":                   ext([]byte{byte(wire.ExtHello), 0, 0}),
		"an extension of nothing":        base(3, byte(wire.OpExt), 0, 0, 0, 16, 16),
		"an extension that is too long": append(base(3, byte(wire.OpExt), 0, 0, 0, 16, 16+wire.MaxExt+1),
			make([]byte, wire.MaxExt+1)...),
		"coalesced: none":             append(base(3, byte(wire.OpCoalesced), 0, 0, 0, 16, 26), make([]byte, 10)...),
		"coalesced: unequal messages": append(base(3, byte(wire.OpCoalesced), 0, 3, 0, 16, 26), make([]byte, 10)...),
		"an answer to no atomic":      append(base(3, byte(wire.OpAtomicRsp), 0, 0, 0, 16, 24), make([]byte, 8)...),
		"an atomic without operands":  words(base(3, byte(wire.OpAtomic), 0, 7, 1, 40, 40), 0, 8, 101),
		"an atomic of no type": append(words(base(3, byte(wire.OpAtomic), 0, 99, 1, 40, 48), 0, 8, 101),
			make([]byte, 8)...),
		"an atomic with a forged key": append(words(base(3, byte(wire.OpAtomic), 0, 7, 1, 40, 48), 0, 8, 4711),
			make([]byte, 8)...),
		"a context with payload": append(base(3, byte(wire.OpContext), 0, 0, 0, 16, 20), make([]byte, 4)...),
		"a step of a group with flags": append(words(base(3, byte(wire.OpColl), 0xff00, 0, 0, 32, 40), 1, 1),
			make([]byte, 8)...),
		"an end of a group with payload": append(words(base(3, byte(wire.OpColl), 0, 0, 0, 32, 40), 1<<63, 1<<63),
			make([]byte, 8)...),
	}
	for _, st := range extended(t) {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			i := uint64(0)
			for name, b := range cases {
				r, done := strange(t, p, wire.FeatureExtended|wire.FeatureDirect)
				r.send(b)
				if !r.closed(p) {
					t.Errorf("%s: the connection stays open", name)
				}
				done()
				i++
				p.Ping(i)
				p.Forget()
			}
			fmt.Fprint(t.Output(), i, " lies\n")
		})
	}
}
