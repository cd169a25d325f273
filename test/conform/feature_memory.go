package conform

// Vectors, sets and memory regions: flags and calls that other themes do not use.

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"gofabric/core"
)

// freePort returns a port of node that was free a moment ago.
func freePort(t *testing.T, node string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(node, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// vectorFlags opens vectors and sets, and inserts, with each flag.
func vectorFlags(t *testing.T, st Stack) {
	p := Open(t, st)
	for _, attr := range []core.AVAttr{{Type: core.AVMap}, {Type: core.AVTable, Flags: core.AVSymmetric}} {
		av := must(t, "OpenAV", func() (*core.AddressVector, error) { return p.A.Domain.OpenAV(attr) })
		for _, f := range []core.InsertFlags{core.InsertMore, core.InsertSyncErr, 0} {
			fi := make([]core.FIAddr, 1)
			if n, err := av.Insert([]core.Addr{p.B.Addr}, fi, f); n != 1 || err != nil {
				t.Errorf("insertion with flags %#x: %d, %v", uint64(f), n, err)
			}
			if a, err := av.Lookup(fi[0]); err != nil || a.IP != p.B.Addr.IP {
				t.Errorf("look-up: %v, %v", a, err)
			}
		}
		fi := make([]core.FIAddr, 2)
		if n, err := av.Insert([]core.Addr{{}, p.B.Addr}, fi, core.InsertSyncErr); n != 1 ||
			err == nil || fi[0] != core.AddrNotAvail {
			t.Errorf("insertion of nonsense with FI_SYNC_ERR: %d, %v, %v", n, err, fi)
		}
		for _, f := range []core.AVSetFlags{core.AVSetBarrier, core.AVSetBroadcast, core.AVSetAllToAll,
			core.AVSetAllReduce, core.AVSetAllGather, core.AVSetReduceScatter,
			core.AVSetReduce, core.AVSetScatter, core.AVSetGather} {
			s := must(t, "OpenSet", func() (*core.AVSet, error) { return av.OpenSet(core.AVSetAttr{Flags: core.AVSetUniverse | f}) })
			if len(s.Members()) == 0 {
				t.Error("a set of all has no members")
			}
			p.A.ok("Close of a set", s.Close())
		}
		p.A.ok("Close AV", av.Close())
	}
}

// regions registers memory in two pieces, for collectives, and for one endpoint.
func regions(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA) {
		return
	}
	p := Open(t, st, WithCaps(core.CapRMA))
	one, two := make([]byte, 32), make([]byte, 32)
	mr, err := p.B.RegAttr(&core.MRAttr{IOV: [][]byte{one, two}, Access: allAccess, RequestedKey: 4711})
	if err != nil {
		if p.B.Info.Domain.MRIOVLimit > 1 || !errors.Is(err, core.ErrInval) {
			t.Errorf("registration of two pieces, with mr_iov_limit %d: %v", p.B.Info.Domain.MRIOVLimit, err)
		}
	} else {
		p.Retry("write", func() error { return p.A.EP.Write(still, 0, p.A.Peer, mr.Base(), mr.Key(), 1) })
		p.Want(p.A, 1)
		settle(p, mr)
		CheckPattern(t, "both pieces", append(one, two...), 64, 0x5717)
		p.B.ok("Close MR", mr.Close())
	}
	p.B.ok("Close MR", p.B.Reg(one, core.AccessCollective|core.AccessRecv).Close())
	regionOfEndpoint(t, p.A)
}

// regionOfEndpoint registers memory in a domain whose regions belong to endpoints (FI_MR_ENDPOINT).
func regionOfEndpoint(t *testing.T, s *Side) {
	info := s.Info.Dup()
	info.Domain.MRMode |= core.MRModeEndpoint
	d := must(t, "OpenDomain", func() (*core.Domain, error) { return s.Fabric.OpenDomain(info) })
	ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return d.OpenEndpoint(info) })
	mr := must(t, "RegMR", func() (*core.MemoryRegion, error) {
		return d.RegMR(&core.MRAttr{IOV: [][]byte{make([]byte, 8)}, Access: allAccess, RequestedKey: 1})
	})
	refuse(t, "Enable of a region that is bound to no endpoint", mr.Enable(), core.ErrOpBadState)
	s.ok("BindEndpoint", mr.BindEndpoint(ep))
	s.ok("Enable of the region", mr.Enable())
	s.ok("Close MR", mr.Close())
	s.ok("Close endpoint", ep.Close())
	s.ok("Close domain", d.Close())
}

// queryAtomic compares the domain's answers with those of endpoints' calls.
func queryAtomic(t *testing.T, st Stack) {
	if !st.need(t, core.CapAtomic) {
		return
	}
	p := Open(t, st, WithCaps(core.CapAtomic))
	for _, k := range []struct {
		flags core.AtomicFlags
		op    core.AtomicOp
		valid func(core.Datatype, core.AtomicOp) (int, error)
	}{{0, core.AtomicSum, p.A.EP.AtomicValid}, {core.AtomicFetch, core.AtomicSum, p.A.EP.FetchAtomicValid},
		{core.AtomicCompare, core.AtomicCSwap, p.A.EP.CompareAtomicValid}} {
		a, err := p.A.Domain.QueryAtomic(core.Uint32, k.op, k.flags)
		n, err2 := k.valid(core.Uint32, k.op)
		if err != nil || err2 != nil || a.Size != 4 || a.Count != n {
			t.Errorf("flags %#x: the domain returns %+v, %v; the endpoint %d, %v", uint64(k.flags), a, err, n, err2)
		}
	}
}
