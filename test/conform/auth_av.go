package conform

// Authorization keys of address vectors (fi_av(3), fi_av_insert_auth_key).

import (
	"bytes"
	"testing"

	"gofabric/core"
)

// underKey inserts the names of both sides under the key of their vectors.
func underKey(p *Pair) {
	p.T.Helper()
	for _, s := range []*Side{p.A, p.B} {
		s.Addr = must(p.T, "Name", s.EP.Name)
	}
	for _, s := range []*Side{p.A, p.B} {
		peer := p.A
		if s == p.A {
			peer = p.B
		}
		if s == p.B && s.cfg.noPeerInAV {
			continue
		}
		fi, flags := []core.FIAddr{0}, core.InsertFlags(0)
		if s.Info.Domain.AuthKeySize == core.AVAuthKey {
			fi[0], flags = s.keyFI, core.InsertAuthKey
		}
		if n, err := s.AV.Insert([]core.Addr{peer.Addr}, fi, flags); n != 1 || err != nil {
			p.T.Fatalf("%s: insertion under a key: %d, %v", s.Name, n, err)
		}
		s.Peer = fi[0]
	}
}

// withVectorKeys gives the sides' vectors keys. nil is for a side whose endpoint has jobKey.
func withVectorKeys(a, b []byte) Option {
	return func(k *config) {
		of := map[string][]byte{"A": a, "B": b}
		k.introduce = underKey
		k.sideHints = func(side string, h *core.Info) {
			if of[side] == nil {
				h.EP.AuthKey = jobKey
				return
			}
			h.Domain.AuthKeySize = core.AVAuthKey
		}
		k.before = func(s *Side) {
			if key := of[s.Name]; key != nil {
				s.keyFI = must(s.T, "InsertAuthKey", func() (core.FIAddr, error) { return s.AV.InsertAuthKey(key, 0) })
			}
		}
	}
}

// authVector has endpoints take their key from the vector.
func authVector(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA), withVectorKeys(jobKey, jobKey))
	p.Ping(1)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100000, 2)
	for _, fi := range []core.FIAddr{p.A.keyFI, p.A.Peer} {
		if key, err := p.A.AV.LookupAuthKey(fi); err != nil || !bytes.Equal(key, jobKey) {
			t.Errorf("LookupAuthKey of %#x: %q, %v", uint64(fi), key, err)
		}
	}
	_, err := p.B.RegAttr(&core.MRAttr{IOV: [][]byte{{1}}, Access: allAccess, RequestedKey: 8})
	refuse(t, "RegMR that names no vector", err, core.ErrInval)
	_, err = p.B.RegAttr(&core.MRAttr{IOV: [][]byte{{1}}, Access: allAccess, RequestedKey: 8,
		AuthAV: p.B.AV, AuthKey: jobKey})
	refuse(t, "RegMR with a vector and a key", err, core.ErrInval)
	mr := must(t, "RegMR", func() (*core.MemoryRegion, error) {
		return p.B.RegAttr(&core.MRAttr{IOV: [][]byte{make([]byte, 8)}, Access: allAccess,
			RequestedKey: 8, AuthAV: p.B.AV})
	})
	settle(p, mr)
	p.B.ok("Close MR", mr.Close())

	if !st.OneDomain { // endpoints of one domain have their keys from the same place
		mixed := Open(t, st, withVectorKeys(jobKey, nil))
		mixed.Ping(1)
		apart := Open(t, st, withVectorKeys(otherKey, nil))
		denySend(apart, apart.A)
		denySend(apart, apart.B)
	}
	apart := Open(t, st, withVectorKeys(jobKey, otherKey))
	denySend(apart, apart.A)
	denySend(apart, apart.B)
}

// authDirected posts receives for all peers with a key (fi_msg(3), FI_AUTH_KEY).
func authDirected(t *testing.T, st Stack) {
	const caps = core.CapDirectedRecv
	if !st.need(t, caps) {
		return
	}
	p := Open(t, st, WithCaps(caps|core.CapTagged), withVectorKeys(jobKey, jobKey))
	msg := func(fi core.FIAddr, in []byte, ctx core.OpContext) *core.MsgArgs {
		return &core.MsgArgs{IOV: [][]byte{in}, Addr: fi, Ctx: ctx}
	}
	in, tagIn := make([]byte, 30), make([]byte, 30)
	p.B.ok("RecvMsg", p.B.Rx().RecvMsg(msg(p.B.keyFI, in, 900), core.OpAuthKey|core.OpCompletion))
	p.B.ok("TRecvMsg", p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{tagIn}, Addr: p.B.keyFI, Tag: 3, Ctx: 901},
		core.OpAuthKey|core.OpCompletion))
	p.Retry("send", func() error { return p.A.EP.Send(Pattern(30, 5), 0, p.A.Peer, 902) })
	p.Retry("tagged send", func() error { return p.A.EP.TSend(Pattern(30, 6), 0, p.A.Peer, 3, 903) })
	for ctx := core.OpContext(900); ctx < 904; ctx++ {
		s := p.B
		if ctx >= 902 {
			s = p.A
		}
		p.Want(s, ctx)
	}
	CheckPattern(t, "message", in, 30, 5)
	CheckPattern(t, "tagged message", tagIn, 30, 6)
	refuse(t, "RecvMsg from a peer as a key", p.B.Rx().RecvMsg(msg(p.B.Peer, in, 905), core.OpAuthKey), core.ErrInval)
	refuse(t, "TRecvMsg from an unknown key",
		p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{in}, Addr: p.B.keyFI + 1, Tag: 3, Ctx: 906}, core.OpAuthKey),
		core.ErrInval)
	p.Close()
	plain := Open(t, st, WithCaps(caps))
	refuse(t, "RecvMsg from a key without keys",
		plain.B.Rx().RecvMsg(msg(plain.B.Peer, in, 907), core.OpAuthKey), core.ErrBadFlags)
}

// authUnknownSource checks that errors about peers outside of the vector name the key of those peers (fi_cq(3),
// FI_SOURCE_ERR).
func authUnknownSource(t *testing.T, st Stack) {
	const caps = core.CapSource | core.CapSourceErr
	if !st.need(t, caps) {
		return
	}
	p := Open(t, st, WithCaps(caps), withVectorKeys(jobKey, jobKey), WithoutPeer())
	in := make([]byte, 30)
	p.B.ok("receive", p.B.Rx().Recv(in, 0, core.AddrUnspec, 900))
	p.Retry("send", func() error { return p.A.EP.Send(Pattern(30, 5), 0, p.A.Peer, 901) })
	p.Want(p.A, 901)
	if g := p.WantErr(p.B, 900, core.ErrAddrNotAvail); g.Err.SrcAddr != p.B.keyFI || g.Err.Peer != p.A.Addr {
		t.Errorf("an unknown peer is reported as %#x at %v; want the handle %#x and %v", uint64(g.Err.SrcAddr),
			g.Err.Peer.IP, uint64(p.B.keyFI), p.A.Addr.IP)
	}
	CheckPattern(t, "message of an unknown peer", in, 30, 5)
}

// authVectorCalls makes the calls of vectors with keys, and calls that must be refused.
func authVectorCalls(t *testing.T, st Stack) {
	p := Open(t, st, withVectorKeys(jobKey, jobKey))
	v := p.A.AV
	one := func(fi core.FIAddr) []core.FIAddr { return []core.FIAddr{fi} }
	_, err := v.InsertAuthKey(otherKey, 0)
	refuse(t, "InsertAuthKey beyond MaxEPAuthKey", err, core.ErrNoSpc)
	_, err = v.InsertAuthKey(nil, 0)
	refuse(t, "InsertAuthKey of nothing", err, core.ErrInval)
	_, err = v.InsertAuthKey(make([]byte, core.MaxAuthKey+1), 0)
	refuse(t, "InsertAuthKey of a key that is too long", err, core.ErrInval)
	_, err = v.InsertAuthKey(jobKey, 1)
	refuse(t, "InsertAuthKey with flags", err, core.ErrBadFlags)
	_, err = v.LookupAuthKey(12345)
	refuse(t, "LookupAuthKey of an unknown index", err, core.ErrInval)
	_, err = v.Insert([]core.Addr{p.B.Addr}, one(0), 0)
	refuse(t, "Insert under no key", err, core.ErrOpNotSupp)
	_, err = v.Insert([]core.Addr{p.B.Addr}, one(3), core.InsertAuthKey)
	refuse(t, "Insert under an unknown key", err, core.ErrInval)
	_, err = v.Insert([]core.Addr{p.B.Addr}, nil, core.InsertAuthKey)
	refuse(t, "Insert without keys", err, core.ErrInval)
	refuse(t, "Remove of a key in use", v.Remove(one(p.A.keyFI), core.InsertAuthKey), core.ErrBusy)
	refuse(t, "Remove of an address as a key", v.Remove(one(p.A.Peer), core.InsertAuthKey), core.ErrInval)
	refuse(t, "Remove of a key as an address", v.Remove(one(p.A.keyFI), 0), core.ErrInval)
	again := must(t, "InsertAuthKey again", func() (core.FIAddr, error) { return v.InsertAuthKey(jobKey, 0) })
	if again != p.A.keyFI {
		t.Errorf("the same key has the handles %#x and %#x", uint64(p.A.keyFI), uint64(again))
	}
	p.A.ok("Remove of the key's second use", v.Remove(one(again), core.InsertAuthKey))

	info := p.A.Info.Dup()
	info.EP.AuthKey = jobKey
	_, err = p.A.Domain.OpenEndpoint(info)
	refuse(t, "OpenEndpoint with a key of its own", err, core.ErrInval)
	p.Ping(1)
	p.A.CloseEP()
	p.A.ok("Remove of an unused key", v.Remove(one(p.A.keyFI), core.InsertAuthKey))
	ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return p.A.Domain.OpenEndpoint(p.A.Info) })
	p.A.BindAll(ep)
	refuse(t, "Enable with a vector without key", ep.Enable(), core.ErrInval)
	must(t, "InsertAuthKey", func() (core.FIAddr, error) { return v.InsertAuthKey(otherKey, 0) })
	p.A.ok("Enable", ep.Enable())
	p.A.ok("Close", ep.Close())
	_, err = p.A.Domain.OpenAV(core.AVAttr{Name: "shared"})
	refuse(t, "a shared vector", err, core.ErrNoSys, core.ErrOpNotSupp)
}
