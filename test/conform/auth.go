package conform

// Authorization keys (fi_endpoint(3), auth_key). Only endpoints with the same key can communicate.

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

var (
	jobKey   = []byte("the key of job 1")
	otherKey = []byte("the key of job 2")
)

// deniedWithin is how long the error for an end with another key may take. The error itself shows that it is not a
// peer time-out, which would be another error.
var deniedWithin = Deadline

// keys are the keys of a side's domain and endpoint.
type keys struct{ domain, ep []byte }

// withKeys gives each side its keys.
func withKeys(a, b keys) Option {
	return func(k *config) {
		k.sideHints = func(side string, h *core.Info) {
			s := a
			if side == "B" {
				s = b
			}
			h.Domain.AuthKey, h.EP.AuthKey = s.domain, s.ep
		}
	}
}

// withoutConnect does not connect MSG endpoints.
func withoutConnect() Option { return func(k *config) { k.apart = true } }

func testAuth(t *testing.T, st Stack) {
	t.Run("getinfo", func(t *testing.T) { authInfo(t, st) })
	h := st.hints(core.CapMsg)
	h.EP.AuthKey = jobKey
	if _, err := st.info("", h); err != nil {
		refuse(t, "GetInfo with a key", err, core.ErrNoData)
		if !st.Foreign {
			t.Errorf("%s has no authorization keys: %v", st.Name, err)
		}
		return
	}
	t.Run("same", func(t *testing.T) { authSame(t, st) })
	t.Run("at once", func(t *testing.T) { authAtOnce(t, st) })
	t.Run("other", func(t *testing.T) { authOther(t, st) })
	t.Run("regions", func(t *testing.T) { authRegions(t, st) })
	t.Run("calls", func(t *testing.T) { authCalls(t, st) })
	if st.EPType == core.EPTypeRDM {
		t.Run("vector", func(t *testing.T) { authVector(t, st) })
		t.Run("directed", func(t *testing.T) { authDirected(t, st) })
		t.Run("unknown", func(t *testing.T) { authUnknownSource(t, st) })
		t.Run("vector calls", func(t *testing.T) { authVectorCalls(t, st) })
	}
}

// authInfo checks which keys hints may request.
func authInfo(t *testing.T, st Stack) {
	for name, f := range map[string]func(h *core.Info){
		"domain key too long":    func(h *core.Info) { h.Domain.AuthKey = make([]byte, core.MaxAuthKey+1) },
		"endpoint key too long":  func(h *core.Info) { h.EP.AuthKey = make([]byte, core.MaxAuthKey+1) },
		"too many keys":          func(h *core.Info) { h.Domain.MaxEPAuthKey = 1 << 20 },
		"AVAuthKey and a key":    func(h *core.Info) { h.Domain.AuthKeySize, h.Domain.AuthKey = core.AVAuthKey, jobKey },
		"AVAuthKey and EP key":   func(h *core.Info) { h.Domain.AuthKeySize, h.EP.AuthKey = core.AVAuthKey, jobKey },
		"AVAuthKey and EP size":  func(h *core.Info) { h.Domain.AuthKeySize, h.EP.AuthKeySize = core.AVAuthKey, 1 },
		"size of a key too long": func(h *core.Info) { h.Domain.AuthKeySize = core.MaxAuthKey + 1 },
	} {
		h := st.hints(core.CapMsg)
		f(h)
		if _, err := st.info("", h); !errors.Is(err, core.ErrNoData) {
			t.Errorf("%s: %v; want ErrNoData", name, err)
		}
	}
	h := st.hints(core.CapMsg)
	info := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", h) })
	if n := info.Domain.AuthKeySize; n != info.EP.AuthKeySize || n != 0 && n != core.MaxAuthKey ||
		len(info.Domain.AuthKey)+len(info.EP.AuthKey) > 0 {
		t.Errorf("without hints: domain %d, endpoint %d, keys %x and %x", n, info.EP.AuthKeySize,
			info.Domain.AuthKey, info.EP.AuthKey)
	}
	if info.Domain.AuthKeySize == 0 {
		return
	}
	h.Domain.AuthKey, h.EP.AuthKey = jobKey, otherKey
	info = must(t, "GetInfo with keys", func() (*core.Info, error) { return st.info("", h) })
	if !bytes.Equal(info.Domain.AuthKey, jobKey) || !bytes.Equal(info.EP.AuthKey, otherKey) {
		t.Errorf("keys %q and %q were returned as %q and %q", jobKey, otherKey, info.Domain.AuthKey, info.EP.AuthKey)
	}
	h = st.hints(core.CapMsg)
	h.Domain.AuthKeySize, h.Domain.MaxEPAuthKey = core.AVAuthKey, 1
	info, err := st.info("", h)
	if st.EPType == core.EPTypeMsg { // MSG endpoints have no vectors
		refuse(t, "AVAuthKey", err, core.ErrNoData)
	} else if err != nil || info.Domain.AuthKeySize != core.AVAuthKey || info.EP.AuthKeySize != 0 {
		t.Errorf("AVAuthKey: %v, %+v", err, info)
	}
}

// authSame checks that ends with the same key can communicate, from wherever they have it.
func authSame(t *testing.T, st Stack) {
	for _, c := range []struct {
		name string
		a, b keys
	}{
		{"of both domains", keys{domain: jobKey}, keys{domain: jobKey}},
		{"of both endpoints", keys{ep: jobKey}, keys{ep: jobKey}},
		{"of a domain and an endpoint", keys{ep: jobKey}, keys{domain: jobKey}},
		{"of endpoints, in place of the domains'", keys{otherKey, jobKey}, keys{otherKey, jobKey}},
		{"of one byte", keys{ep: []byte{7}}, keys{ep: []byte{7}}},
		{"as long as can be", keys{ep: make([]byte, core.MaxAuthKey)}, keys{ep: make([]byte, core.MaxAuthKey)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Open(t, st, withKeys(c.a, c.b))
			for i := range uint64(3) {
				p.Ping(i)
			}
			for i, n := range []int{1, 5000, 300000} {
				exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], n, 10+uint64(i))
				exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], n, 20+uint64(i))
			}
		})
	}
}

// authAtOnce has both ends send first at the same time, repeatedly.
func authAtOnce(t *testing.T, st Stack) {
	for i := range 15 {
		p := Open(t, st, withKeys(keys{ep: jobKey}, keys{ep: jobKey}))
		var in [2][]byte
		for j, s := range []*Side{p.A, p.B} {
			in[j] = make([]byte, 30)
			s.ok("receive", s.Rx().Recv(in[j], 0, core.AddrUnspec, 900))
		}
		for _, s := range []*Side{p.A, p.B} {
			if i%2 == 0 || s == p.A {
				p.Retry("send", func() error { return s.EP.Send(Pattern(30, 5), 0, s.Peer, 901) })
			}
		}
		if i%2 != 0 {
			p.B.Pump()
			p.Retry("send", func() error { return p.B.EP.Send(Pattern(30, 5), 0, p.B.Peer, 901) })
		}
		for j, s := range []*Side{p.A, p.B} {
			p.Want(s, 900)
			p.Want(s, 901)
			CheckPattern(t, "message", in[j], 30, 5)
		}
		p.Close()
	}
}

// authOther checks that ends with different keys cannot communicate, and that each that tries gets an error soon,
// which tells the reason.
func authOther(t *testing.T, st Stack) {
	for _, c := range []struct {
		name string
		a, b keys
		one  bool // the ends must not share a domain, because its key would be that of both
	}{
		{"two keys", keys{ep: jobKey}, keys{ep: otherKey}, false},
		{"one without, who asks", keys{}, keys{ep: jobKey}, false},
		{"one without, who is asked", keys{ep: jobKey}, keys{}, false},
		{"domains' keys", keys{domain: jobKey}, keys{domain: otherKey}, true},
		{"the domains' the same, not the endpoints'", keys{jobKey, otherKey}, keys{domain: jobKey}, false},
		{"the beginning of the other", keys{ep: jobKey}, keys{ep: jobKey[:len(jobKey)-1]}, false},
		{"a 0 more than the other", keys{ep: jobKey}, keys{ep: append(jobKey[:len(jobKey):len(jobKey)], 0)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.one && st.OneDomain {
				t.Skip("the domain of both ends has one key")
			}
			p := Open(t, st, withKeys(c.a, c.b), withoutConnect())
			if st.EPType == core.EPTypeMsg {
				denyConnect(p)
				return
			}
			buf := make([]byte, 64)
			for _, s := range []*Side{p.A, p.B} {
				p.Retry("receive", func() error { return s.Rx().Recv(buf, 0, core.AddrUnspec, 900) })
			}
			for range 2 {
				denySend(p, p.A)
				denySend(p, p.B)
			}
			p.WantNone(p.A)
			p.WantNone(p.B)
			for _, s := range []*Side{p.A, p.B} {
				s.ok("Cancel", s.Rx().Cancel(900))
				p.WantErr(s, 900, core.ErrCanceled)
			}
		})
	}
}

// denySend sends to a peer with another key.
func denySend(p *Pair, s *Side) {
	p.T.Helper()
	began := time.Now()
	p.Retry("send", func() error { return s.EP.Send(Pattern(50, 1), 0, s.Peer, 901) })
	p.Retry("large send", func() error { return s.EP.Send(Pattern(200000, 1), 0, s.Peer, 902) })
	for _, ctx := range []core.OpContext{901, 902} {
		g := p.WantErr(s, ctx, core.ErrAccess)
		if g.Err.Detail == "" || !bytes.Contains([]byte(g.Err.Detail), []byte("authorization key")) {
			p.T.Errorf("%s: the error does not mention the key: %q", s.Name, g.Err.Detail)
		}
	}
	if d := time.Since(began); d > deniedWithin && !p.Stack.Inserts {
		p.T.Errorf("%s: the error came after %v", s.Name, d)
	}
}

// denyConnect connects to a listener with another key. The listener's application gets no request.
func denyConnect(p *Pair) {
	p.T.Helper()
	for range 2 {
		began := time.Now()
		p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, []byte("may I?")))
		e := p.A.WantEventErr()
		if e.Err != core.ErrAccess || !bytes.Contains([]byte(e.Detail), []byte("authorization key")) {
			p.T.Errorf("error event %v: %q; want ErrAccess and a detail that mentions the key", e.Err, e.Detail)
		}
		if d := time.Since(began); d > deniedWithin {
			p.T.Errorf("the error came after %v", d)
		}
		p.B.Pump()
		if len(p.B.events) > 0 || len(p.B.errs) > 0 {
			p.T.Fatalf("the listener got a request\n%s", p.Dump())
		}
		p.A.CloseEP()
		p.A.openEP(p.A.Info)
	}
}

// authRegions checks that peers cannot access memory regions under another key than theirs.
func authRegions(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA) {
		return
	}
	for _, c := range []struct {
		name        string
		side        keys
		region      []byte
		reads, fits bool
	}{
		{"none", keys{ep: jobKey}, nil, false, true},
		{"the domain's", keys{domain: jobKey}, nil, true, true},
		{"its own", keys{ep: jobKey}, jobKey, true, true},
		{"another one", keys{ep: jobKey}, otherKey, false, false},
		{"another one, to be read", keys{ep: jobKey}, otherKey, true, false},
		{"the domain's, not the endpoint's", keys{otherKey, jobKey}, nil, false, false},
		{"one, of an endpoint without", keys{}, jobKey, false, false},
		{"one, to be read, of an endpoint without", keys{}, jobKey, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Open(t, st, WithCaps(core.CapRMA), withKeys(c.side, c.side))
			mem, buf := make([]byte, 100), Pattern(100, 4)
			mr := must(t, "RegMR", func() (*core.MemoryRegion, error) {
				return p.B.RegAttr(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess,
					RequestedKey: 77, AuthKey: c.region})
			})
			a := &core.RMAArgs{IOV: [][]byte{buf}, Addr: p.A.Peer,
				RMAIOV: []core.RMAIov{{Addr: mr.Base(), Len: 100, Key: mr.Key()}}, Ctx: 1}
			p.Retry("post", func() error {
				if c.reads {
					return p.A.EP.ReadMsg(a, 0)
				}
				return p.A.EP.WriteMsg(a, core.OpDeliveryComplete)
			})
			if c.fits {
				p.Want(p.A, 1)
				if !bytes.Equal(buf, mem) {
					t.Error("the write did not arrive")
				}
			} else {
				p.WantErr(p.A, 1)
				CheckZero(t, "memory under another key", mem)
				CheckPattern(t, "buffer of a refused read", buf, 100, 4)
				accessAfter(p, mr)
			}
			p.Forget()
			p.B.ok("Close MR", mr.Close())
		})
	}
}

// authCalls makes calls that must be refused.
func authCalls(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA), withKeys(keys{domain: jobKey}, keys{domain: jobKey}))
	_, err := p.B.RegAttr(&core.MRAttr{IOV: [][]byte{{1}}, Access: allAccess, RequestedKey: 9,
		AuthKey: make([]byte, core.MaxAuthKey+1)})
	refuse(t, "RegMR with a key that is too long", err, core.ErrInval)
	long := p.A.Info.Dup()
	long.EP.AuthKey = make([]byte, core.MaxAuthKey+1)
	_, err = p.A.Domain.OpenEndpoint(long)
	refuse(t, "OpenEndpoint with a key that is too long", err, core.ErrInval)
	long = p.A.Info.Dup()
	long.Domain.AuthKey = make([]byte, core.MaxAuthKey+1)
	_, err = p.A.Fabric.OpenDomain(long)
	refuse(t, "OpenDomain with a key that is too long", err, core.ErrInval)
	if v := p.A.AV; v != nil {
		_, err = v.InsertAuthKey(jobKey, 0)
		refuse(t, "InsertAuthKey without AVAuthKey", err, core.ErrNoSys)
		_, err = v.LookupAuthKey(p.A.Peer)
		refuse(t, "LookupAuthKey without AVAuthKey", err, core.ErrNoSys)
		_, err = v.Insert([]core.Addr{p.B.Addr}, []core.FIAddr{0}, core.InsertAuthKey)
		refuse(t, "Insert under a key without AVAuthKey", err, core.ErrBadFlags)
		refuse(t, "Remove of a key without AVAuthKey", v.Remove([]core.FIAddr{0}, core.InsertAuthKey), core.ErrInval)
		_, err = p.B.RegAttr(&core.MRAttr{IOV: [][]byte{{1}}, Access: allAccess, RequestedKey: 9, AuthAV: p.B.AV})
		refuse(t, "RegMR with a vector without AVAuthKey", err, core.ErrInval)
	}
	p.Ping(1)
	if st.EPType != core.EPTypeMsg {
		return
	}
	// The accepting endpoint must have the listener's key, which the peer has proved.
	p = Open(t, st, withKeys(keys{ep: jobKey}, keys{ep: jobKey}), withoutConnect())
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, []byte("data")))
	req := p.B.WantEvent(core.EventConnReq)
	if string(req.CMData) != "data" || !bytes.Equal(req.Info.EP.AuthKey, jobKey) {
		t.Errorf("request with data %q and key %q", req.CMData, req.Info.EP.AuthKey)
	}
	info := req.Info.Dup()
	info.EP.AuthKey = otherKey
	_, err = p.B.Domain.OpenEndpoint(info)
	refuse(t, "OpenEndpoint for a request, with another key", err, core.ErrInval)
	p.B.ok("Reject", p.B.PEP.Reject(req.Info.Handle, []byte("no")))
	if e := p.A.WantEventErr(); e.Err != core.ErrConnRefused || string(e.ErrData) != "no" {
		t.Errorf("a refusal by the application: %v with %q", e.Err, e.ErrData)
	}
}
