package hostile

// Peers without the authorization key, and with invalid proofs.

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
	rxdwire "gofabric/util/rxd/wire"
)

func withKey() conform.Option {
	return conform.WithHints(func(h *core.Info) { h.EP.AuthKey = []byte("a key that no other peer has") })
}

// TestAuth has hostile peers connect to a listener with a key. The application does not see them, and peers with the
// key continue.
func TestAuth(t *testing.T) {
	auth := func(features uint32, data []byte) []byte {
		return wire.AppendCMAuth(nil, wire.CMAuth, features, 9, data)
	}
	blob := wire.RDMBlob{Version: 1, Port: 9, PID: 7}.Append(nil)
	req := wire.AppendCMAuth(nil, wire.CMConnReq, wire.FeatureAuth|wire.FeatureExtended, 5, blob)
	with := func(more ...[]byte) []byte { return append(bytes.Clone(req), bytes.Join(more, nil)...) }
	cases := []struct {
		name   string
		bytes  []byte
		closes bool
	}{
		{"no key", wire.AppendCM(nil, wire.CMConnReq, blob), true},
		{"a gofabric peer without key", wire.AppendCMFeatures(nil, wire.CMConnReq, wire.FeatureExtended, blob), true},
		{"the request alone", req, false},
		{"half a proof", with(auth(wire.FeatureAuth, make([]byte, 16))[:40]), false},
		{"a proof of zeros", with(auth(wire.FeatureAuth, make([]byte, 16))), true},
		{"a short proof", with(auth(wire.FeatureAuth, make([]byte, 3))), true},
		{"no proof", with(auth(wire.FeatureAuth, nil)), true},
		{"256 bytes of proof", with(auth(wire.FeatureAuth, make([]byte, 256))), true},
		{"a proof without feature", with(auth(0, make([]byte, 16))), true},
		{"a proof before the request", auth(wire.FeatureAuth, make([]byte, 16)), true},
		{"two requests", with(req), true},
		{"transfers instead of a proof", with(make([]byte, 4096)), true},
		{"noise instead of a proof", with(conform.Pattern(1<<16, 3)), true},
	}
	for _, st := range stacks {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := conform.Open(t, st, withKey())
			p.Ping(1)
			for i, c := range cases {
				r := dial(t, p)
				r.send(c.bytes)
				if c.closes && !r.closed(p) {
					t.Errorf("%s: the listener does not close the stream", c.name)
				}
				r.c.Close()
				p.Ping(uint64(100 + i))
			}
		})
	}
}

// TestAuthImpersonation has hostile peers without the key claim the address of a peer that has it. The connection of
// that peer continues.
func TestAuthImpersonation(t *testing.T) {
	conform.NoLeaks(t)
	p := conform.Open(t, stacks[2], withKey())
	p.Ping(1)
	for i := range uint64(5) {
		for _, features := range []uint32{0, wire.FeatureAuth | wire.FeatureExtended} {
			r := dial(t, p)
			blob := wire.RDMBlob{Version: 1, Port: p.A.Addr.IP.Port(), PID: uint32(70 + i)}.Append(nil)
			r.send(wire.AppendCMAuth(nil, wire.CMConnReq, features, 5, blob))
			r.send(wire.AppendCMAuth(nil, wire.CMAuth, wire.FeatureAuth, 9, make([]byte, 16)))
			if !r.closed(p) {
				t.Error("the listener does not close the stream")
			}
		}
		p.Ping(100 + i) // no operation was lost
	}
}

// TestAuthBlocks sends requests without an authentication block, and with invalid ones, to a reliable-datagram
// endpoint with a key.
func TestAuthBlocks(t *testing.T) {
	conform.NoLeaks(t)
	st := conform.Stack{Name: "rxd", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM,
		GetInfo: getInfo, OpenFabric: gofabric.OpenFabric}
	p := conform.Open(t, st, withKey())
	p.Ping(1)
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.B.Addr.IP))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	own := c.LocalAddr().(*net.UDPAddr).AddrPort()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 500 {
		x := rxdwire.Ext{ConnID: rnd.Uint64(), Epoch: rnd.Uint64(), MaxDatagram: 1472, Window: 1 << 16,
			Nonce: rnd.Uint64(), Flags: uint8(rnd.IntN(4))}
		if i%3 > 0 {
			x.Features = rxdwire.FeatureAuth
		}
		if i%2 > 0 {
			x.Cookie = rnd.Uint64()
		}
		for j := range x.Proof {
			x.Proof[j] = byte(rnd.Uint32())
		}
		b := x.Append((&rxdwire.RTS{RTSAddr: rnd.Uint64(), Source: netip.AddrPortFrom(own.Addr().Unmap(), own.Port())}).Append(nil))
		switch i % 7 {
		case 5:
			b = b[:rnd.IntN(len(b))]
		case 6:
			b = (&rxdwire.RTS{RTSAddr: 7, Source: own}).Append(nil) // native
		}
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			p.Ping(uint64(10 + i))
		}
	}
	p.Ping(999)
}
