package core_test

import (
	"math"
	"net/netip"
	"os"
	"strings"
	"testing"

	"gofabric/core"
)

// golden compares with the text of native fi_info -v (libfabric 2.6).
func golden(t *testing.T, file string, got string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d: got %q, want %q", i+1, line, want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(text) {
		t.Fatalf("%d bytes, want %d", len(got), len(text))
	}
}

const nativeTCPOrder = core.OrderRAR | core.OrderRAW | core.OrderRAS | core.OrderWAW | core.OrderWAS | core.OrderSAW |
	core.OrderSAS | core.OrderRMARAR |
	core.OrderRMARAW | core.OrderRMAWAW | core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAW

func TestInfoTextTCP(t *testing.T) {
	i := &core.Info{
		Caps: core.CapMsg | core.CapRMA | core.CapRead | core.CapWrite | core.CapRecv | core.CapSend |
			core.CapRemoteRead | core.CapRemoteWrite | core.CapRMAPMem |
			core.CapLocalComm | core.CapRMAEvent,
		AddrFormat: core.FormatSockaddrIn, SrcAddr: core.IPAddr(netip.MustParseAddrPort("127.0.0.1:0")),
		Tx: &core.TxAttr{Caps: core.CapMsg | core.CapRMA | core.CapRead | core.CapWrite | core.CapSend |
			core.CapRMAPMem, MsgOrder: nativeTCPOrder, InjectSize: 128, Size: 256, IOVLimit: 4, RMAIOVLimit: 4},
		Rx: &core.RxAttr{Caps: core.CapMsg | core.CapRMA | core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite |
			core.CapRMAPMem | core.CapRMAEvent, MsgOrder: nativeTCPOrder, Size: 256, IOVLimit: 4},
		EP: &core.EPAttr{Type: core.EPTypeMsg, Protocol: core.ProtoSockTCP, MaxMsgSize: core.MaxSize,
			MaxOrderRAWSize: core.MaxSize, MaxOrderWAWSize: core.MaxSize, TxCtxCnt: 1, RxCtxCnt: 1},
		Domain: &core.DomainAttr{Name: "lo", Threading: core.ThreadSafe, DataProgress: core.ProgressAuto,
			ResourceMgmt: core.RMEnabled, MRKeySize: 8, CQDataSize: 8, CQCnt: 256, EPCnt: 8192, TxCtxCnt: 8192,
			RxCtxCnt: 8192, MaxEPTxCtx: 1, MaxEPRxCtx: 1, MaxEPSrxCtx: 8192, MRIOVLimit: 1,
			Caps: core.CapLocalComm | core.CapRemoteComm, MaxCntrValue: math.MaxUint64,
			MaxErrCntrValue: math.MaxUint64},
		Fabric: &core.FabricAttr{Name: "127.0.0.1/32", ProvName: "tcp", ProvVersion: core.V(206, 0),
			APIVersion: core.V(2, 6)},
	}
	golden(t, "fi_info_tcp_msg.txt", i.String())
}

func TestInfoTextUDP(t *testing.T) {
	i := &core.Info{
		Caps:       core.CapMsg | core.CapMulticast | core.CapRecv | core.CapSend | core.CapLocalComm | core.CapSource,
		AddrFormat: core.FormatSockaddrIn6, SrcAddr: core.IPAddr(netip.MustParseAddrPort("[::1]:0")),
		Tx: &core.TxAttr{Caps: core.CapMsg | core.CapMulticast | core.CapSend, InjectSize: 1472, Size: 1024,
			IOVLimit: 4},
		Rx: &core.RxAttr{Caps: core.CapMsg | core.CapRecv | core.CapSource, Size: 1024, IOVLimit: 4},
		EP: &core.EPAttr{Type: core.EPTypeDgram, Protocol: core.ProtoUDP, MaxMsgSize: 1472, TxCtxCnt: 1, RxCtxCnt: 1},
		Domain: &core.DomainAttr{Name: "lo", Threading: core.ThreadSafe, DataProgress: core.ProgressAuto,
			ResourceMgmt: core.RMEnabled, MRKeySize: 8, CQCnt: 256, EPCnt: 256, TxCtxCnt: 256, RxCtxCnt: 256,
			MaxEPTxCtx: 1, MaxEPRxCtx: 1,
			Caps: core.CapLocalComm | core.CapRemoteComm, MaxCntrValue: math.MaxUint64,
			MaxErrCntrValue: math.MaxUint64},
		Fabric: &core.FabricAttr{Name: "::1/128", ProvName: "udp", ProvVersion: core.V(206, 0),
			APIVersion: core.V(2, 6)},
	}
	golden(t, "fi_info_udp_dgram6.txt", i.String())
}

func TestInfoTextOfEmpty(t *testing.T) {
	var none *core.Info
	if got := none.String(); got != "fi_info: (null)\n" {
		t.Errorf("%q", got)
	}
	text := (&core.Info{EP: &core.EPAttr{TxCtxCnt: core.SharedContext},
		NIC: &core.NIC{Bus: core.BusAttr{IsPCI: true, PCIBus: 3}}}).String()
	for _, want := range []string{"    fi_tx_attr: (null)\n", "        tx_ctx_cnt: FI_SHARED_CONTEXT\n",
		"    nic:\n        fi_device_attr:\n            name: (null)\n",
		"            fi_pci_attr:\n                domain_id: 0\n                bus_id: 3\n",
		"            state: FI_LINK_UNKNOWN\n", "src_addr: (null)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in\n%s", want, text)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{(core.CapMsg | core.CapDirectedRecv | core.CapTaggedMultiRecv).String(),
			"FI_MSG, FI_DIRECTED_RECV, FI_TAGGED_MULTI_RECV"},
		{(core.OpInject | core.OpClaim | core.OpDiscard).String(), "FI_INJECT, FI_CLAIM, FI_DISCARD"},
		{(core.CompTagged | core.CompRecv | core.CompRemoteCQData).String(), "FI_RECV, FI_TAGGED, FI_REMOTE_CQ_DATA"},
		{(core.AccessRemoteRead | core.AccessSend).String(), "FI_SEND, FI_REMOTE_READ"},
		{(core.ModeContext | core.ModeContext2).String(), "FI_CONTEXT, FI_CONTEXT2"},
		{(core.OrderSAS | core.OrderAtomicWAW).String(), "FI_ORDER_SAS, FI_ORDER_ATOMIC_WAW"},
		{(core.MRModeLocal | core.MRModeCollect).String(), "FI_MR_LOCAL, FI_MR_COLLECTIVE"},
		{core.Caps(0).String(), ""},
		{core.EPTypeRDM.String(), "FI_EP_RDM"}, {core.EPType(9).String(), "Unknown"},
		{core.ThreadDomain.String(), "FI_THREAD_DOMAIN"}, {core.ProgressControlUnified.String(),
			"FI_PROGRESS_CONTROL_UNIFIED"},
		{core.FormatSockaddrIP.String(), "FI_SOCKADDR_IP"}, {core.ProtoXNET.String(), "FI_PROTO_XNET"},
		{core.ProtoRXD.String(), "FI_PROTO_RXD"},
		{core.WaitPollFD.String(), "FI_WAIT_POLLFD"}, {core.CQFormatTagged.String(), "FI_CQ_FORMAT_TAGGED"},
		{core.EventConnReq.String(), "FI_CONNREQ"},
		{core.AtomicMSwap.String(), "FI_MSWAP"}, {core.LongDoubleComplex.String(), "FI_LONG_DOUBLE_COMPLEX"},
		{core.Void.String(), "FI_VOID"},
		{core.AVTable.String(), "FI_AV_TABLE"}, {core.RMEnabled.String(), "FI_RM_ENABLED"},
		{core.CntrEventsBytes.String(), "FI_CNTR_EVENTS_BYTES"},
		{core.V(1, 17).String(), "1.17"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestParseNames(t *testing.T) {
	if v, err := core.ParseCaps("FI_MSG|fi_rma,tagged|FI_PEEK"); err != nil ||
		v != core.CapMsg|core.CapRMA|core.CapTagged|core.Caps(core.OpPeek) {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := core.ParseCaps("FI_ZORK"); err == nil || !strings.Contains(err.Error(), "FI_ZORK") {
		t.Errorf("%v", err)
	}
	if v, err := core.ParseModes("FI_CONTEXT|FI_RX_CQ_DATA"); err != nil || v != core.ModeContext|core.ModeRxCQData {
		t.Errorf("%x, %v", v, err)
	}
	for _, s := range []string{"FI_EP_RDM", "rdm", "RDM", "fi_ep_rdm"} {
		if v, err := core.ParseEPType(s); err != nil || v != core.EPTypeRDM {
			t.Errorf("%s: %v, %v", s, v, err)
		}
	}
	if _, err := core.ParseEPType(""); err == nil {
		t.Error("no endpoint type was accepted")
	}
	if v, err := core.ParseAddrFormat("fi_sockaddr_in6"); err != nil || v != core.FormatSockaddrIn6 {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := core.ParseAddrFormat("in7"); err == nil {
		t.Error("a wrong format was accepted")
	}
}
