package core_test

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

func hints(edit func(h *core.Info)) *core.Info {
	h := core.NewHints()
	edit(h)
	return h
}

func named(prov string) *core.Info { return hints(func(h *core.Info) { h.Fabric.ProvName = prov }) }

// TestGetInfoSelects checks which stacks are found, in which order, and over which addresses.
func TestGetInfoSelects(t *testing.T) {
	v4 := func(prov string, more func(*core.Info)) *core.Info {
		h := named(prov)
		h.AddrFormat = core.FormatSockaddrIn
		if more != nil {
			more(h)
		}
		return h
	}
	ep := func(t core.EPType) func(*core.Info) { return func(h *core.Info) { h.EP.Type = t } }
	for _, c := range []struct {
		name   string
		q      core.Query
		params *core.Params
		want   string
	}{
		{"everything v4", core.Query{Hints: v4("", nil)}, nil, `
tcp RDM eth0 10.0.0.5:0
tcp RDM eth1 10.1.0.5:0
tcp RDM lo 127.0.0.1:0
tcp;ofi_rxm RDM eth0 10.0.0.5:0
tcp;ofi_rxm RDM eth1 10.1.0.5:0
tcp;ofi_rxm RDM lo 127.0.0.1:0
udp;ofi_rxd RDM eth0 10.0.0.5:0
udp;ofi_rxd RDM eth1 10.1.0.5:0
udp;ofi_rxd RDM lo 127.0.0.1:0
udp DGRAM eth0 10.0.0.5:0
udp DGRAM eth1 10.1.0.5:0
udp DGRAM lo 127.0.0.1:0
tcp MSG eth0 10.0.0.5:0
tcp MSG eth1 10.1.0.5:0
tcp MSG lo 127.0.0.1:0
`},
		{"v6 too", core.Query{Hints: hints(func(h *core.Info) { h.EP.Type = core.EPTypeMsg })}, nil, `
tcp MSG eth0 10.0.0.5:0
tcp MSG eth0 [fe80::5%eth0]:0
tcp MSG eth1 10.1.0.5:0
tcp MSG lo 127.0.0.1:0
tcp MSG lo [::1]:0
`},
		{"no hints", core.Query{Node: "node7", Service: "1"}, nil, `
tcp RDM eth0 10.0.0.5:0>10.0.0.7:1
tcp;ofi_rxm RDM eth0 10.0.0.5:0>10.0.0.7:1
udp;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:1
udp DGRAM eth0 10.0.0.5:0>10.0.0.7:1
tcp MSG eth0 10.0.0.5:0>10.0.0.7:1
`},
		{"no ofi_rxm", core.Query{Node: "node7", Service: "1"}, env("FI_PROVIDER", "^ofi_rxm"), `
tcp RDM eth0 10.0.0.5:0>10.0.0.7:1
udp;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:1
udp DGRAM eth0 10.0.0.5:0>10.0.0.7:1
tcp MSG eth0 10.0.0.5:0>10.0.0.7:1
`},
		{"core name brings its layers", core.Query{Node: "node7", Hints: named("TCP")}, nil,
			"\ntcp RDM eth0 10.0.0.5:0>10.0.0.7:0\ntcp;ofi_rxm RDM eth0 10.0.0.5:0>10.0.0.7:0\ntcp MSG eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"layer name", core.Query{Node: "node7", Hints: named("ofi_rxd")}, nil,
			"\nudp;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"stack", core.Query{Node: "node7", Hints: named("tcp;ofi_rxm")}, nil,
			"\ntcp;ofi_rxm RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"stack backwards", core.Query{Node: "node7", Hints: named("ofi_rxm;tcp")}, nil,
			"\ntcp;ofi_rxm RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"three high", core.Query{Node: "node7", Hints: named("udp;fault;ofi_rxd")}, nil,
			"\nudp;fault;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"exclusion", core.Query{Node: "node7", Hints: named("tcp;^ofi_rxm")}, nil,
			"\ntcp MSG eth0 10.0.0.5:0>10.0.0.7:0\ntcp RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"only exclusions", core.Query{Node: "node7", Hints: named("^tcp;^ofi_rxd")}, nil,
			"\nudp DGRAM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"no such stack", core.Query{Node: "node7", Hints: named("tcp;ofi_rxd")}, nil, "\n"},
		{"FI_PROVIDER core", core.Query{Node: "node7"}, env("FI_PROVIDER", "udp"),
			"\nudp;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:0\nudp DGRAM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"FI_PROVIDER stack", core.Query{Node: "node7"}, env("FI_PROVIDER", "udp;ofi_rxd,tcp;ofi_rxm"),
			"\ntcp;ofi_rxm RDM eth0 10.0.0.5:0>10.0.0.7:0\nudp;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"FI_PROVIDER names a layer that is off", core.Query{Node: "node7"}, env("FI_PROVIDER", "udp;fault;ofi_rxd"),
			"\nudp;fault;ofi_rxd RDM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"FI_PROVIDER not", core.Query{Node: "node7"}, env("FI_PROVIDER", "^tcp,ofi_rxd"),
			"\nudp DGRAM eth0 10.0.0.5:0>10.0.0.7:0\n"},
		{"FI_ADDR_FORMAT", core.Query{Hints: v4("udp", ep(core.EPTypeDgram))},
			env("FI_ADDR_FORMAT", "FI_SOCKADDR_IN6"), "\n"},
		{"iface", core.Query{Hints: v4("udp", ep(core.EPTypeDgram))}, env("FI_UDP_IFACE", "eth1", "FI_TCP_IFACE", "lo"),
			"\nudp DGRAM eth1 10.1.0.5:0\n"},
		{"iface with node", core.Query{Node: "node7", Hints: v4("udp", ep(core.EPTypeDgram))},
			env("FI_UDP_IFACE", "eth1"), "\nudp DGRAM eth1 10.1.0.5:0>10.0.0.7:0\n"},
		{"iface cannot reach", core.Query{Node: "node7", Hints: v4("udp", ep(core.EPTypeDgram))},
			env("FI_UDP_IFACE", "lo"), "\n"},
		{"domain", core.Query{Hints: v4("udp",
			func(h *core.Info) { h.EP.Type = core.EPTypeDgram; h.Domain.Name = "ETH1" })}, nil,
			"\nudp DGRAM eth1 10.1.0.5:0\n"},
		{"fabric", core.Query{Hints: v4("udp",
			func(h *core.Info) { h.EP.Type = core.EPTypeDgram; h.Fabric.Name = "10.0.0.0/24" })}, nil,
			"\nudp DGRAM eth0 10.0.0.5:0\n"},
		{"remote only", core.Query{Hints: v4("udp",
			func(h *core.Info) { h.EP.Type = core.EPTypeDgram; h.Caps = core.CapMsg | core.CapRemoteComm })}, nil,
			"\nudp DGRAM eth0 10.0.0.5:0\nudp DGRAM eth1 10.1.0.5:0\n"},
		{"peer on this host", core.Query{Node: "self", Service: "5", Hints: v4("udp", ep(core.EPTypeDgram))}, nil,
			"\nudp DGRAM lo 127.0.0.1:0>10.0.0.5:5\nudp DGRAM eth0 10.0.0.5:0>10.0.0.5:5\n"},
		{"loopback", core.Query{Node: "127.0.0.1", Hints: v4("udp", ep(core.EPTypeDgram))}, nil,
			"\nudp DGRAM lo 127.0.0.1:0>127.0.0.1:0\n"},
		{"second address fits", core.Query{Node: "both", Hints: v4("udp", ep(core.EPTypeDgram))}, nil,
			"\nudp DGRAM eth1 10.1.0.5:0>10.1.0.7:0\n"},
		{"address string", core.Query{Node: "fi_sockaddr_in://10.1.0.9:77", Hints: v4("udp", ep(core.EPTypeDgram))},
			nil, "\nudp DGRAM eth1 10.1.0.5:0>10.1.0.9:77\n"},
		{"address string and service", core.Query{Node: "fi_sockaddr_in://10.1.0.9", Service: "8",
			Hints: v4("udp", ep(core.EPTypeDgram))}, nil, "\nudp DGRAM eth1 10.1.0.5:0>10.1.0.9:8\n"},
		{"source", core.Query{Node: "10.1.0.5", Service: "9", Flags: core.InfoSource,
			Hints: v4("udp", ep(core.EPTypeDgram))}, nil, "\nudp DGRAM eth1 10.1.0.5:9\n"},
		{"wildcard source", core.Query{Service: "9", Flags: core.InfoSource, Hints: v4("udp", ep(core.EPTypeDgram))},
			nil, "\nudp DGRAM udp 0.0.0.0:9\n"},
		{"addresses in hints", core.Query{Hints: v4("udp", func(h *core.Info) {
			h.EP.Type = core.EPTypeDgram
			h.SrcAddr, _ = core.ParseAddr("fi_sockaddr_in://10.1.0.5:3")
			h.DestAddr, _ = core.ParseAddr("fi_sockaddr_in://10.1.0.6:4")
		})}, nil, "\nudp DGRAM eth1 10.1.0.5:3>10.1.0.6:4\n"},
		{"numeric", core.Query{Node: "node7", Flags: core.InfoNumericHost}, nil, "\n"},
		{"no route", core.Query{Node: "far"}, nil, "\n"},
		{"unknown host", core.Query{Node: "nowhere"}, nil, "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := &fakeHost{}
			got, why, err := core.GetInfo(fakes(), host, c.params, c.q)
			if brief(got) != c.want[1:] {
				t.Errorf("got\n%swant\n%s\nerror %v", brief(got), c.want[1:], err)
			}
			if host.lookups > 1 {
				t.Errorf("asked the resolver %d times", host.lookups)
			}
			if c.want != "\n" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var op *core.OpError
			if !errors.Is(err, core.ErrNoData) || !errors.As(err, &op) || op.Hint == "" || len(why) == 0 {
				t.Errorf("error %v, %d refusals", err, len(why))
			}
		})
	}
}

// TestGetInfoRefuses: for every field of the hints that can be refused there is a refusal, and its reason names the
// field.
func TestGetInfoRefuses(t *testing.T) {
	for _, c := range []struct {
		field string
		edit  func(h *core.Info)
	}{
		{"caps: asked for [FI_ATOMIC]", func(h *core.Info) { h.Caps = core.CapAtomic }},
		{"addr_format", func(h *core.Info) { h.AddrFormat = core.FormatIBUD }},
		{"api_version", func(h *core.Info) { h.EP.Type = core.EPTypeMsg }}, // the offer is for newer versions only
		{"prov_version", func(h *core.Info) { h.Fabric.ProvVersion = core.V(300, 0) }},
		{"av_type", func(h *core.Info) { h.Domain.AVType = core.AVMap }},
		{"threading: asked for Unknown", func(h *core.Info) { h.Domain.Threading = 77 }},
		{"progress", func(h *core.Info) { h.Domain.DataProgress = core.ProgressAuto }},
		{"resource_mgmt", func(h *core.Info) { h.Domain.ResourceMgmt = core.RMEnabled }},
		{"cq_data_size: asked for 9, offered at most 8", func(h *core.Info) { h.Domain.CQDataSize = 9 }},
		{"cntr_cnt", func(h *core.Info) { h.Domain.CntrCnt = 1 }},
		{"mr_iov_limit", func(h *core.Info) { h.Domain.MRIOVLimit = 2 }},
		{"domain_attr.caps", func(h *core.Info) { h.Domain.Caps = core.CapSharedAV }},
		{"domain_attr.auth_key_size", func(h *core.Info) { h.Domain.AuthKey = []byte{1} }},
		{"max_err_data", func(h *core.Info) { h.Domain.MaxErrData = 1 }},
		{"mr_cnt", func(h *core.Info) { h.Domain.MRCnt = 1 }},
		{"max_ep_auth_key", func(h *core.Info) { h.Domain.MaxEPAuthKey = 1 }},
		{"max_cntr_value", func(h *core.Info) { h.Domain.MaxCntrValue = 101 }},
		{"protocol:", func(h *core.Info) { h.EP.Protocol = core.ProtoRXD }},
		{"protocol_version", func(h *core.Info) { h.EP.ProtocolVersion = 2 }},
		{"max_msg_size", func(h *core.Info) { h.EP.MaxMsgSize = 1<<20 + 1 }},
		{"tx_ctx_cnt: asked for 2", func(h *core.Info) { h.EP.TxCtxCnt = 2 }},
		{"tx_ctx_cnt: asked for FI_SHARED_CONTEXT", func(h *core.Info) { h.EP.TxCtxCnt = core.SharedContext }},
		{"rx_ctx_cnt", func(h *core.Info) { h.EP.RxCtxCnt = 2 }},
		{"max_order_raw_size", func(h *core.Info) { h.Caps = core.CapRMA; h.EP.MaxOrderRAWSize = 101 }},
		{"max_order_war_size", func(h *core.Info) { h.Caps = core.CapRMA; h.EP.MaxOrderWARSize = 1 }},
		{"max_order_waw_size", func(h *core.Info) { h.Caps = core.CapRMA; h.EP.MaxOrderWAWSize = 101 }},
		{"ep_attr.auth_key_size", func(h *core.Info) { h.EP.AuthKey = []byte{1} }},
		{"mem_tag_format: asked for 64 bits of tag, offered 48",
			func(h *core.Info) { h.Caps = core.CapTagged; h.EP.MemTagFormat = core.TagGeneric }},
		{"tx_attr.caps", func(h *core.Info) { h.Tx.Caps = core.CapAtomic }},
		{"tx_attr.op_flags: asked for [FI_DELIVERY_COMPLETE]",
			func(h *core.Info) { h.Tx.OpFlags = core.OpDeliveryComplete }},
		{"tx_attr.msg_order: asked for [FI_ORDER_SAW]",
			func(h *core.Info) { h.Tx.MsgOrder = core.OrderSAW | core.OrderSAS }},
		{"tx_attr.comp_order", func(h *core.Info) { h.Tx.CompOrder = 1 }},
		{"tx_attr.inject_size", func(h *core.Info) { h.Tx.InjectSize = 129 }},
		{"tx_attr.size", func(h *core.Info) { h.Tx.Size = 1025 }},
		{"tx_attr.iov_limit", func(h *core.Info) { h.Tx.IOVLimit = 5 }},
		{"tx_attr.rma_iov_limit", func(h *core.Info) { h.Tx.RMAIOVLimit = 5 }},
		{"rx_attr.caps", func(h *core.Info) { h.Rx.Caps = core.CapAtomic }},
		{"rx_attr.op_flags", func(h *core.Info) { h.Rx.OpFlags = core.OpMultiRecv }},
		{"rx_attr.msg_order", func(h *core.Info) { h.Rx.MsgOrder = core.OrderRAR }},
		{"rx_attr.comp_order", func(h *core.Info) { h.Rx.CompOrder = 1 }},
		{"rx_attr.total_buffered_recv", func(h *core.Info) { h.Rx.TotalBufferedRecv = 1 }},
		{"rx_attr.size", func(h *core.Info) { h.Rx.Size = 1025 }},
		{"rx_attr.iov_limit", func(h *core.Info) { h.Rx.IOVLimit = 5 }},
		{"mr_mode: asked for [FI_MR_BASIC, FI_MR_LOCAL]",
			func(h *core.Info) { h.Domain.MRMode = core.MRModeBasic | core.MRModeLocal }},
	} {
		t.Run(c.field, func(t *testing.T) {
			o := offer(core.EPTypeRDM, tcpCaps|core.CapTagged)
			o.Fabric.ProvVersion = core.V(206, 0)
			o.Domain.AVType = core.AVTable
			o.Domain.DataProgress, o.Domain.ResourceMgmt = core.ProgressManual, core.RMDisabled
			o.Domain.MaxCntrValue = 100
			if c.field == "api_version" {
				o.EP.Type, o.Fabric.APIVersion = core.EPTypeMsg, core.V(3, 0)
			}
			reg := core.NewRegistry(&fakeProvider{name: "p", offers: []*core.Info{o}})
			got, why, err := core.GetInfo(reg, &fakeHost{}, nil, core.Query{Hints: hints(c.edit)})
			if len(got) != 0 || !errors.Is(err, core.ErrNoData) {
				t.Fatalf("%d results, %v", len(got), err)
			}
			if len(why) != 1 || !strings.Contains(why[0].Reason, c.field) {
				t.Fatalf("refusals %v", why)
			}
			if !strings.Contains(err.Error(), c.field) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v", err)
			}
		})
	}
}

func TestGetInfoMode(t *testing.T) {
	o := offer(core.EPTypeRDM, tcpCaps)
	o.Mode, o.Tx.Mode = core.ModeContext, core.ModeContext
	reg := core.NewRegistry(&fakeProvider{name: "p", offers: []*core.Info{o}})
	if _, why, err := core.GetInfo(reg, &fakeHost{}, nil, core.Query{Hints: core.NewHints()}); err == nil ||
		!strings.Contains(why[0].Reason, "mode: [FI_CONTEXT]") {
		t.Errorf("refusals %v", why)
	}
	h := hints(func(h *core.Info) { h.Mode = core.ModeContext | core.ModeMsgPrefix })
	got, _, err := core.GetInfo(reg, &fakeHost{}, nil, core.Query{Hints: h})
	if err != nil || got[0].Mode != core.ModeContext {
		t.Errorf("%v %v", got, err)
	}
}
