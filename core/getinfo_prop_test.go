package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"gofabric/core"
)

// capsOf has capabilities that a caller may combine freely.
var capsOf = []core.Caps{core.CapMsg, core.CapRMA, core.CapTagged, core.CapAtomic, core.CapMulticast, core.CapSend,
	core.CapRecv, core.CapRead, core.CapWrite, core.CapRemoteRead, core.CapRemoteWrite, core.CapSource,
	core.CapDirectedRecv, core.CapRMAEvent, core.CapLocalComm, core.CapRemoteComm}

func drawCaps(t *rapid.T, label string) core.Caps {
	var f core.Caps
	for _, c := range rapid.SliceOfN(rapid.SampledFrom(capsOf), 0, 4).Draw(t, label) {
		f |= c
	}
	return f
}

// drawHints draws hints, some of which match. Any attribute may be absent.
func drawHints(t *rapid.T) *core.Info {
	if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
		return nil
	}
	h := &core.Info{Caps: drawCaps(t, "caps"),
		AddrFormat: rapid.SampledFrom([]core.AddrFormat{0, 0, core.FormatSockaddr, core.FormatSockaddrIn,
			core.FormatSockaddrIn6, core.FormatStr}).Draw(t, "format")}
	has := func(what string) bool { return rapid.Bool().Draw(t, what) }
	if has("tx") {
		h.Tx = &core.TxAttr{Caps: drawCaps(t, "tx caps"),
			Size: rapid.SampledFrom([]int{0, 1, 1024, 1025}).Draw(t, "tx size")}
	}
	if has("rx") {
		h.Rx = &core.RxAttr{Caps: drawCaps(t, "rx caps"), IOVLimit: rapid.IntRange(0, 5).Draw(t, "iov")}
	}
	if has("ep") {
		h.EP = &core.EPAttr{Type: core.EPType(rapid.IntRange(0, 4).Draw(t, "type")),
			RxCtxCnt: rapid.SampledFrom([]int{0, 1, 2, core.SharedContext}).Draw(t, "rx ctx")}
	}
	if has("domain") {
		h.Domain = &core.DomainAttr{Threading: core.Threading(rapid.IntRange(0, 6).Draw(t, "threading")),
			Name:         rapid.SampledFrom([]string{"", "eth0", "zork"}).Draw(t, "domain name"),
			MRMode:       core.MRMode(rapid.Uint32Range(0, 1<<13-1).Draw(t, "mr mode")),
			DataProgress: core.Progress(rapid.IntRange(0, 4).Draw(t, "progress"))}
	}
	if has("fabric") {
		h.Fabric = &core.FabricAttr{ProvName: rapid.SampledFrom([]string{"", "tcp", "ofi_rxd", "tcp;ofi_rxm", ";",
			"^tcp", "udp;fault", "zork", "tcp;^", "^"}).Draw(t, "provider")}
	}
	return h
}

// TestGetInfoProperties: a result is valid as hints, and finds itself again (fi_getinfo(3): "the returned fi_info may
// be used as hints"). It offers what the hints ask for. No hints make GetInfo panic, or return nothing without a
// reason.
func TestGetInfoProperties(t *testing.T) {
	versions := []core.Version{0, core.V(1, 0), core.V(1, 4), core.V(1, 5), core.V(1, 17), core.V(1, 21), core.V(2, 0),
		core.V(2, 6)}
	nodes := []string{"", "node7", "self", "127.0.0.1", "far", "both", "fi_sockaddr_in6://[fe80::9%eth0]:1"}
	rapid.Check(t, func(t *rapid.T) {
		q := core.Query{Version: rapid.SampledFrom(versions).Draw(t, "version"),
			Node: rapid.SampledFrom(nodes).Draw(t, "node"), Hints: drawHints(t)}
		var before string
		if q.Hints != nil {
			before = q.Hints.String()
		}
		got, why, err := core.GetInfo(fakes(), &fakeHost{}, nil, q)
		if (err == nil) != (len(got) > 0) {
			t.Fatalf("%d results, %v", len(got), err)
		}
		if q.Hints != nil && q.Hints.String() != before {
			t.Fatalf("the hints changed to\n%v", q.Hints)
		}
		if err != nil && len(why) == 0 && (q.Hints == nil || q.Hints.Fabric == nil) {
			t.Fatalf("no reason for %v", err)
		}
		for _, i := range got {
			if q.Hints != nil && q.Hints.Caps&^(core.CapRemoteRead|core.CapRemoteWrite)&^i.Caps != 0 {
				t.Fatalf("asked for [%s], got [%s]", q.Hints.Caps.String(), i.Caps.String())
			}
			if i.SrcAddr.IsZero() || i.Domain.Name == "" || i.Fabric.Name == "" || i.Fabric.ProvName == "" {
				t.Fatalf("incomplete:\n%v", i)
			}
			h := i.Dup()
			again, _, err := core.GetInfo(fakes(), &fakeHost{}, nil, core.Query{Version: q.Version, Hints: h})
			found := false
			for _, j := range again {
				found = found || (j.Fabric.ProvName == i.Fabric.ProvName && j.EP.Type == i.EP.Type &&
					j.SrcAddr == i.SrcAddr && j.DestAddr == i.DestAddr)
			}
			if !found {
				t.Fatalf("as hints (%v, %d results):\n%v", err, len(again), i)
			}
		}
	})
}
