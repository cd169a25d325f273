package conform

// Attributes that GetInfo can be asked for: capabilities, modes, orders, classes, limits. Each is requested alone,
// opened, and used.

import (
	"errors"
	"fmt"
	"testing"

	"gofabric/core"
)

func testAttributes(t *testing.T, st Stack) {
	t.Run("caps", func(t *testing.T) { directions(t, st) })
	t.Run("refused", func(t *testing.T) { neverCaps(t, st) })
	t.Run("modes", func(t *testing.T) { modes(t, st) })
	t.Run("order", func(t *testing.T) { orders(t, st) })
	t.Run("values", func(t *testing.T) { values(t, st) })
}

// directions requests one direction of transfer. The endpoint can then do nothing else.
func directions(t *testing.T, st Stack) {
	for _, c := range []struct{ a, b core.Caps }{{core.CapSend, core.CapRecv}, {core.CapRecv, core.CapSend}} {
		t.Run(c.a.String(), func(t *testing.T) {
			h := st.hints(core.CapMsg | c.a)
			info := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", h) })
			if info.Caps&c.b != 0 {
				t.Errorf("requested %s, got %s", c.a.String(), info.Caps.String())
			}
		})
	}
	p := Open(t, st, WithCaps(core.CapSend|core.CapRecv))
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 1)
	if st.EPType == core.EPTypeDgram || !st.need(t, core.CapRMA) {
		return
	}
	p = Open(t, st, WithCaps(core.CapRMA|core.CapRead|core.CapWrite|core.CapRemoteRead|core.CapRemoteWrite|core.CapLocalComm|core.CapRemoteComm))
	mem := make([]byte, 64)
	mr := p.B.Reg(mem, core.AccessRemoteRead|core.AccessRemoteWrite)
	p.Retry("write", func() error { return p.A.EP.Write(still, 0, p.A.Peer, mr.Base(), mr.Key(), 1) })
	p.Want(p.A, 1)
	settle(p, mr)
	p.B.ok("Close MR", mr.Close())
}

// neverCaps requests capabilities that no provider over sockets has.
func neverCaps(t *testing.T, st Stack) {
	for _, c := range []core.Caps{core.CapHMem, core.CapPeer, core.CapXPU, core.CapFirewallAddr, core.CapMulticast} {
		if c == core.CapMulticast && st.EPType == core.EPTypeDgram {
			continue
		}
		if _, err := st.info("", st.hints(core.CapMsg|c)); !errors.Is(err, core.ErrNoData) {
			t.Errorf("GetInfo with %s: %v; want ErrNoData", c.String(), err)
		}
	}
}

// modes offers all modes that providers may require. Each provider selects those that it needs, and all transfers
// work.
func modes(t *testing.T, st Stack) {
	for _, m := range []core.Mode{core.ModeContext, core.ModeContext2, core.ModeMsgPrefix,
		core.ModeAsyncIOV, core.ModeRxCQData} {
		t.Run(m.String(), func(t *testing.T) {
			p := Open(t, st, WithHints(func(h *core.Info) { h.Mode = m }))
			if st.Comply {
				// The layer in between requests it, to find out whether remote CQ data takes receives.
				m |= core.ModeRxCQData
			}
			if p.A.Info.Mode&^m != 0 {
				t.Errorf("the provider requires %v, which was not offered", p.A.Info.Mode)
			}
			exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 1)
		})
	}
	if st.EPType == core.EPTypeDgram || !st.Offers(t, core.CapRMA) {
		return
	}
	for _, m := range []core.MRMode{core.MRModeLocal, core.MRModeRaw, core.MRModeVirtAddr, core.MRModeAllocated,
		core.MRModeProvKey, core.MRModeMMUNotify,
		core.MRModeRMAEvent, core.MRModeEndpoint, core.MRModeHMem, core.MRModeCollect, core.MRModeXPUDesc} {
		t.Run(m.String(), func(t *testing.T) {
			p := Open(t, st, WithCaps(core.CapRMA), WithMRMode(m))
			if got := p.B.Info.Domain.MRMode &^ m &^ st.MRMode; got != 0 {
				t.Fatalf("the provider requires %v, which was not offered", got)
			}
			mem := make([]byte, 64)
			mr := p.B.Reg(mem, allAccess)
			defer func() { p.B.ok("Close MR", mr.Close()) }()
			local := append(Pattern(64, 9), make([]byte, 64)...)
			ml := p.A.Reg(local, allAccess) // FI_MR_LOCAL: every buffer has a descriptor
			p.Retry("write", func() error { return p.A.EP.Write(local[:64], ml.Desc(), p.A.Peer, mr.Base(), mr.Key(), 1) })
			p.Want(p.A, 1)
			p.Retry("read", func() error { return p.A.EP.Read(local[64:], ml.Desc(), p.A.Peer, mr.Base(), mr.Key(), 2) })
			p.Want(p.A, 2)
			CheckPattern(t, "what was written and read", local[64:], 64, 9)
			p.A.ok("Close MR", ml.Close())
		})
	}
}

// orders requests each order, which is granted or refused.
func orders(t *testing.T, st Stack) {
	all := []core.Order{core.OrderRAR, core.OrderRAW, core.OrderRAS, core.OrderWAR, core.OrderWAW, core.OrderWAS,
		core.OrderSAR, core.OrderSAW, core.OrderSAS,
		core.OrderRMARAR, core.OrderRMARAW, core.OrderRMAWAR, core.OrderRMAWAW, core.OrderAtomicRAR,
		core.OrderAtomicRAW, core.OrderAtomicWAR, core.OrderAtomicWAW}
	for _, o := range all {
		t.Run(o.String(), func(t *testing.T) {
			ask := WithHints(func(h *core.Info) { h.Tx.MsgOrder, h.Rx.MsgOrder = o, o })
			k := makeConfig([]Option{ask})
			h := st.hints(core.CapMsg)
			k.hints(h)
			if _, err := st.info("", h); err != nil {
				if !errors.Is(err, core.ErrNoData) {
					t.Errorf("refused with %v, want ErrNoData", err)
				}
				return
			}
			p := Open(t, st, ask)
			if p.A.Info.Tx.MsgOrder&o == 0 || p.B.Info.Rx.MsgOrder&o == 0 {
				t.Errorf("requested %v, granted %v and %v", o, p.A.Info.Tx.MsgOrder, p.B.Info.Rx.MsgOrder)
			}
			for i := range uint64(4) {
				exchange(p, p.A, p.B, msgSends[i%3], msgRecvs[0], 100, i)
			}
		})
	}
}

// values requests each value of attributes that have few values.
func values(t *testing.T, st Stack) {
	type ask struct {
		name string
		hint func(h *core.Info)
		got  func(info *core.Info) bool
	}
	// The provider's values, which it returns for any request. A profile has fewer.
	management, tags := core.RMEnabled, uint64(core.TagGeneric)
	if st.Comply {
		info, err := st.info("", st.hints(core.CapMsg))
		if err != nil {
			t.Fatal(err)
		}
		management, tags = info.Domain.ResourceMgmt, info.EP.MemTagFormat
	}
	var asks []ask
	for _, v := range []core.ResourceMgmt{core.RMDisabled, core.RMEnabled} {
		// An application that does not request resource management has it all the same, as in native:
		// fi_alter_domain_attr in prov/util/src/util_attr.c keeps the provider's value.
		asks = append(asks, ask{fmt.Sprint("resource_mgmt ", v), func(h *core.Info) { h.Domain.ResourceMgmt = v },
			func(i *core.Info) bool { return i.Domain.ResourceMgmt == management }})
	}
	for _, v := range []core.TrafficClass{core.TCDSCP | 10, core.TCBestEffort, core.TCLowLatency,
		core.TCDedicatedAccess, core.TCBulkData, core.TCScavenger, core.TCNetworkCtrl} {
		asks = append(asks, ask{fmt.Sprintf("tclass %#x", uint32(v)),
			func(h *core.Info) { h.Tx.TClass, h.Domain.TClass = v, v },
			func(i *core.Info) bool { return i.Tx.TClass == v && i.Domain.TClass == v }})
	}
	asks = append(asks, ask{"tclass of the domain", func(h *core.Info) { h.Domain.TClass = core.TCDSCP | 18 },
		func(i *core.Info) bool { return i.Tx.TClass == core.TCDSCP|18 }})
	for _, v := range []uint64{core.TagBits, core.TagMPI, core.TagCCL} {
		// The format in hints says how many bits of tags the application needs, and all stacks have 64
		// (fi_endpoint(3), "mem_tag_format"). Native, too, returns the provider's format.
		asks = append(asks, ask{fmt.Sprint("mem_tag_format ", v), func(h *core.Info) { h.EP.MemTagFormat = v },
			func(i *core.Info) bool { return st.EPType == core.EPTypeDgram || i.EP.MemTagFormat == tags }})
	}
	if st.EPType != core.EPTypeMsg {
		for _, v := range []core.AVType{core.AVMap, core.AVTable} {
			asks = append(asks, ask{fmt.Sprint("av_type ", v), func(h *core.Info) { h.Domain.AVType = v }, nil})
		}
	}
	for _, a := range asks {
		t.Run(a.name, func(t *testing.T) {
			h := st.hints(core.CapMsg)
			a.hint(h)
			if _, err := st.info("", h); err != nil {
				if !errors.Is(err, core.ErrNoData) {
					t.Errorf("refused with %v, want ErrNoData", err)
				}
				t.Logf("refused: %v", err)
				return
			}
			p := Open(t, st, WithHints(a.hint))
			if a.got != nil && !a.got(p.A.Info) {
				t.Errorf("granted another value: %v", p.A.Info.Domain)
			}
			exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 1)
			checkClass(t, p)
		})
	}
}
