package core_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gofabric/core"
)

// one queries a registry that has a single offer, for one address.
func one(t *testing.T, o *core.Info, q core.Query) *core.Info {
	t.Helper()
	q.Node = "node7"
	got, _, err := core.GetInfo(core.NewRegistry(&fakeProvider{name: "p", offers: []*core.Info{o}}),
		&fakeHost{}, nil, q)
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// TestGetInfoNarrows checks the part of an offer that the caller gets.
func TestGetInfoNarrows(t *testing.T) {
	full := tcpCaps | core.CapTagged | core.CapSource | core.CapDirectedRecv
	i := one(t, offer(core.EPTypeRDM, full), core.Query{})
	if i.Caps != full|core.CapLocalComm|core.CapRemoteComm || i.Tx.Size != 256 || i.Tx.OpFlags == 0 ||
		i.Domain.MRMode != 0 ||
		i.Domain.MaxCntrValue != math.MaxUint64 || i.Fabric.APIVersion != core.LibraryVersion ||
		i.Fabric.ProvVersion != core.V(206, 0) {
		t.Errorf("without hints:\n%v", i)
	}
	i = one(t, offer(core.EPTypeRDM, full), core.Query{Version: core.V(1, 21), Hints: hints(func(h *core.Info) {
		h.Caps = core.CapMsg
		h.Handle = "token"
		h.Tx.Size, h.Tx.InjectSize, h.Tx.OpFlags, h.Rx.IOVLimit = 512, 5, core.OpCompletion, 2
		h.Domain.Threading, h.Domain.DataProgress, h.Domain.AVType = core.ThreadDomain, core.ProgressManual,
			core.AVTable
		h.Domain.MRMode = core.MRModeVirtAddr | core.MRModeProvKey
		h.EP.MaxOrderRAWSize = 50
	})})
	// The result has primary capabilities only on request, and all secondary ones except FI_SOURCE. It has both
	// directions if the hints name none.
	if want := core.CapMsg | core.CapSend | core.CapRecv | core.CapRMAEvent | core.CapLocalComm |
		core.CapRemoteComm; i.Caps != want {
		t.Errorf("caps [%s], want [%s]", i.Caps.String(), want.String())
	}
	if i.Tx.Size != 512 || i.Tx.InjectSize != 5 || i.Tx.OpFlags != core.OpCompletion || i.Rx.IOVLimit != 2 ||
		i.Rx.Size != 1024 || i.Rx.OpFlags != 0 {
		t.Errorf("sizes:\n%v%v", i.Tx, i.Rx)
	}
	if i.Domain.Threading != core.ThreadDomain || i.Domain.DataProgress != core.ProgressManual ||
		i.Domain.AVType != core.AVTable || i.Domain.MRMode != 0 {
		t.Errorf("domain:\n%v", i.Domain)
	}
	if i.EP.MaxOrderRAWSize != 100 { // the hints ask for no RMA
		t.Errorf("endpoint:\n%v", i.EP)
	}
	if i.Handle != "token" || i.Fabric.APIVersion != core.V(1, 21) {
		t.Errorf("handle %v, version %v", i.Handle, i.Fabric.APIVersion)
	}
	i = one(t, offer(core.EPTypeRDM, full),
		core.Query{Hints: hints(func(h *core.Info) { h.Caps = core.CapMsg | core.CapSource | core.CapSend })})
	if i.Caps&core.CapSource == 0 || i.Caps&core.CapRecv != 0 {
		t.Errorf("caps [%s]", i.Caps.String())
	}
}

// TestGetInfoCopies: GetInfo must not change the provider's own values.
func TestGetInfoCopies(t *testing.T) {
	o := offer(core.EPTypeRDM, tcpCaps)
	before := o.String()
	i := one(t, o, core.Query{Hints: hints(func(h *core.Info) { h.Tx.Size = 3 })})
	i.Tx.IOVLimit, i.Domain.Name = 99, "changed"
	if o.String() != before {
		t.Errorf("the offer became\n%v", o)
	}
}

// TestMRMode checks the memory registration modes of each API version (fi_mr(3)).
func TestMRMode(t *testing.T) {
	const old = core.MRModeBasic | core.MRModeScalable
	const virt = core.MRModeVirtAddr | core.MRModeProvKey
	for _, c := range []struct {
		name        string
		v           core.Version
		prov, asked core.MRMode
		caps        core.Caps
		want        core.MRMode
		refused     bool
	}{
		{"nothing needed", core.V(2, 6), old, 0, 0, 0, false},
		{"extra bits are cleared", core.V(2, 6), old, virt, core.CapRMA, 0, false},
		{"needed and given", core.V(2, 6), virt, virt | core.MRModeLocal, core.CapRMA, virt, false},
		{"needed and missing", core.V(2, 6), virt, core.MRModeProvKey, core.CapRMA, 0, true},
		{"not needed of initiators", core.V(2, 6), virt, core.MRModeProvKey, core.CapRMA | core.CapRead, 0, false},
		{"local needed", core.V(2, 6), virt | core.MRModeLocal, virt, core.CapRMA, 0, true},
		{"basic", core.V(2, 6), old | virt, core.MRModeBasic, core.CapRMA, core.MRModeBasic, false},
		{"basic with bits", core.V(2, 6), old | virt, core.MRModeBasic | core.MRModeProvKey, core.CapRMA, 0, true},
		{"basic not served", core.V(2, 6), virt, core.MRModeBasic, core.CapRMA, 0, true},
		{"1.4 unspecified", core.V(1, 4), old, 0, core.CapRMA, core.MRModeBasic, false},
		{"1.4 unspecified, scalable only", core.V(1, 4), core.MRModeScalable, 0, core.CapRMA,
			core.MRModeScalable, false},
		{"1.4 scalable", core.V(1, 4), old, core.MRModeScalable, core.CapRMA, core.MRModeScalable, false},
		{"1.4 both", core.V(1, 4), old, old, core.CapRMA, 0, true},
		{"1.4 with new bits", core.V(1, 4), old, core.MRModeLocal, core.CapRMA, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := offer(core.EPTypeRDM, tcpCaps)
			o.Domain.MRMode = c.prov
			reg := core.NewRegistry(&fakeProvider{name: "p", offers: []*core.Info{o}})
			got, why, err := core.GetInfo(reg, &fakeHost{}, nil, core.Query{Version: c.v, Node: "node7",
				Hints: hints(func(h *core.Info) { h.Domain.MRMode, h.Caps = c.asked, c.caps })})
			if c.refused {
				if err == nil || !strings.Contains(why[0].Reason, "mr_mode") &&
					!strings.Contains(why[0].Reason, "FI_LOCAL_MR") {
					t.Errorf("%v, %v", why, err)
				}
				return
			}
			if err != nil || got[0].Domain.MRMode != c.want {
				t.Fatalf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
	// A caller whose hints lack the modes that targets need cannot be a target.
	o := offer(core.EPTypeRDM, tcpCaps)
	o.Domain.MRMode = virt
	i := one(t, o, core.Query{Hints: hints(func(h *core.Info) { h.Caps = core.CapRMA })})
	if i.Caps&(core.CapRemoteRead|core.CapRemoteWrite) != 0 || i.Domain.MRMode != 0 {
		t.Errorf("caps [%s], modes [%v]", i.Caps.String(), i.Domain.MRMode)
	}
}

func TestGetInfoQueryErrors(t *testing.T) {
	broken := &fakeHost{broken: errors.New("netlink is gone")}
	for _, c := range []struct {
		name   string
		host   core.Host
		params *core.Params
		q      core.Query
		want   core.Errno
		text   string
	}{
		{"newer version", &fakeHost{}, nil, core.Query{Version: core.V(2, 7)}, core.ErrNoSys, "2.7"},
		{"source of nothing", &fakeHost{}, nil, core.Query{Flags: core.InfoSource}, core.ErrNoData, "FI_SOURCE"},
		{"misspelled provider", &fakeHost{}, nil, core.Query{Hints: named("tpc")}, core.ErrNoData,
			`did you mean "tcp"`},
		{"layer first", &fakeHost{}, nil, core.Query{Hints: named("ofi_rxm;ofi_rxd")}, core.ErrNoData, "layer"},
		{"two cores", &fakeHost{}, nil, core.Query{Hints: named("tcp;udp")}, core.ErrNoData, "not a layer"},
		{"exclusion first", &fakeHost{}, nil, core.Query{Hints: named("^tcp;udp")}, core.ErrNoData, "last"},
		{"layer's own refusal", &fakeHost{}, nil,
			core.Query{Hints: hints(func(h *core.Info) { h.Fabric.ProvName, h.Caps = "tcp;ofi_rxm", core.CapHMem })},
			core.ErrNoData, "device memory"},
		{"bad FI_ADDR_FORMAT", &fakeHost{}, env("FI_ADDR_FORMAT", "x"), core.Query{}, core.ErrInval, "FI_ADDR_FORMAT"},
		{"misspelled FI_PROVIDER", &fakeHost{}, env("FI_PROVIDER", "tpc"), core.Query{}, core.ErrNoData,
			`did you mean "tcp"`},
		{"unknown host", &fakeHost{}, nil, core.Query{Node: "nowhere"}, core.ErrNoData, `no such host "nowhere"`},
		{"bad address text", &fakeHost{}, nil, core.Query{Node: "fi_sockaddr_in://x"}, core.ErrNoData,
			"fi_sockaddr_in://x"},
		{"other address text", &fakeHost{}, nil, core.Query{Node: "fi_shm://x"}, core.ErrNoData,
			"cannot resolve fi_shm://x"},
		{"no interfaces", broken, nil, core.Query{}, core.ErrNoData, "netlink is gone"},
		{"no such interface", &fakeHost{}, env("FI_TCP_IFACE", "eth7"), core.Query{Hints: named("tcp")}, core.ErrNoData,
			"FI_TCP_IFACE=eth7"},
		{"no route", &fakeHost{}, nil, core.Query{Node: "far"}, core.ErrNoData, "no local address reaches 192.0.2.9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := core.GetInfo(fakes(), c.host, c.params, c.q)
			if len(got) != 0 || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%d results, %v", len(got), err)
			}
		})
	}
	if _, _, err := core.GetInfo(core.NewRegistry(), &fakeHost{}, nil, core.Query{}); !errors.Is(err, core.ErrNoData) {
		t.Errorf("empty registry: %v", err)
	}
}

func TestProvAttrOnly(t *testing.T) {
	list := func(p *core.Params) string {
		var names []string
		got, _, err := core.GetInfo(fakes(), nil, p, core.Query{Flags: core.InfoProvAttrOnly})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range got {
			names = append(names, i.Fabric.ProvName+" "+i.Fabric.ProvVersion.String())
		}
		return strings.Join(names, ", ")
	}
	if got := list(nil); got != "ofi_rxm 206.0, ofi_rxd 206.0, fault 206.0, udp 206.0, tcp 206.0" {
		t.Error(got)
	}
	if got := list(env("FI_PROVIDER", "tcp;ofi_rxm")); got != "ofi_rxm 206.0, ofi_rxd 206.0, fault 206.0, tcp 206.0" {
		t.Error(got)
	}
	if got := list(env("FI_PROVIDER", "^tcp,fault")); got != "ofi_rxm 206.0, ofi_rxd 206.0, udp 206.0" {
		t.Error(got)
	}
}

func TestOpenFabric(t *testing.T) {
	reg := fakes()
	got, _, err := core.GetInfo(reg, &fakeHost{}, nil, core.Query{Node: "node7", Hints: named("udp;fault;ofi_rxd")})
	if err != nil {
		t.Fatal(err)
	}
	i := got[0]
	if i.Below().Fabric.ProvName != "udp;fault" || i.Below().Below().Fabric.ProvName != "udp" ||
		i.Below().Below().EP.Type != core.EPTypeDgram {
		t.Errorf("below: %q, %q", i.Below().Fabric.ProvName, i.Below().Below().Fabric.ProvName)
	}
	f, err := core.OpenFabric(reg, i)
	if err != nil || f.Driver().(fakeFabric).name != "udp;fault;ofi_rxd" {
		t.Errorf("%v, %v", f, err)
	}
	if opened := reg.Lookup("udp").(*fakeProvider).opened; len(opened) != 1 || opened[0] != i.Below().Below() {
		t.Errorf("opened %v", opened)
	}
	for name, info := range map[string]*core.Info{
		"nil": nil, "no name": core.NewHints(), "unknown": named("zork"), "upside down": named("ofi_rxd;udp"),
		"not from GetInfo": named("udp;ofi_rxd"),
	} {
		if f, err := core.OpenFabric(reg, info); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestGetInfoTolerates: old programs set receive capabilities for transmits, and the reverse. In hints of an older
// version, the fields of newer ones are undefined.
func TestGetInfoTolerates(t *testing.T) {
	i := one(t, offer(core.EPTypeRDM, tcpCaps), core.Query{Version: core.V(1, 19), Hints: hints(func(h *core.Info) {
		h.Caps = core.CapMsg
		h.Tx.Caps = core.CapMsg | core.CapRecv | core.CapDirectedRecv
		h.Rx.Caps = core.CapMsg | core.CapSend | core.CapFence
		h.Domain.MaxEPAuthKey = 5
		h.Tx.RMAIOVLimit = 2
	})})
	if i.Tx.RMAIOVLimit != 2 {
		t.Errorf("rma_iov_limit %d", i.Tx.RMAIOVLimit)
	}
	o := offer(core.EPTypeRDM, tcpCaps)
	o.Domain.MaxCntrValue = 100
	one(t, o, core.Query{Version: core.V(2, 4), Hints: hints(func(h *core.Info) { h.Domain.MaxCntrValue = 101 })})
	one(t, o, core.Query{Version: core.V(1, 4), Hints: hints(func(h *core.Info) { h.Domain.CntrCnt = 1000 })})
	one(t, o, core.Query{Version: core.V(1, 21),
		Hints: hints(func(h *core.Info) { h.Domain.Threading = core.ThreadEndpoint })})
}

func TestLayerOverLoopback(t *testing.T) {
	got, _, err := core.GetInfo(fakes(), &fakeHost{}, nil,
		core.Query{Hints: hints(func(h *core.Info) { h.Fabric.ProvName, h.Domain.Name = "udp;ofi_rxd", "lo" })})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", brief(got), err)
	}
	for _, i := range got {
		if i.Caps&(core.CapLocalComm|core.CapRemoteComm) != core.CapLocalComm {
			t.Errorf("caps [%s]", i.Caps.String())
		}
	}
}

// TestLayerOverEarlierLoopback passes fi_getinfo a result for 127.0.0.1 as hints, without the address. The
// capabilities that the result has because of that address must not prevent other results. fabtests' fi_multi_ep does
// this.
func TestLayerOverEarlierLoopback(t *testing.T) {
	for _, prov := range []string{"udp;ofi_rxd", "tcp;ofi_rxm"} {
		ask := func(h *core.Info) { h.Fabric.ProvName, h.AddrFormat = prov, core.FormatSockaddrIn }
		q := core.Query{Node: "127.0.0.1", Service: "5", Flags: core.InfoSource, Hints: hints(ask)}
		for round := range 4 {
			got, _, err := core.GetInfo(fakes(), &fakeHost{}, nil, q)
			if err != nil || len(got) != 1 || got[0].Domain.Name != "lo" {
				t.Fatalf("%s, round %d: %v, %v", prov, round, err, brief(got))
			}
			if want := round == 0; want != (got[0].Caps&core.CapRemoteComm != 0) {
				t.Errorf("%s, round %d: caps [%s]", prov, round, got[0].Caps.String())
			}
			again := got[0].Dup()
			again.SrcAddr = core.Addr{}
			q = core.Query{Hints: again}
		}
	}
}

// TestLayerDomainCaps asks for a domain that reaches other hosts. Every result must have it, as fabtests'
// fi_getinfo_test checks.
func TestLayerDomainCaps(t *testing.T) {
	for _, prov := range []string{"udp", "udp;ofi_rxd", "tcp", "tcp;ofi_rxm"} {
		for _, domain := range []string{"", "lo", "eth0"} {
			h := hints(func(h *core.Info) {
				h.Fabric.ProvName, h.Domain.Name, h.Domain.Caps = prov, domain, core.CapRemoteComm
			})
			got, _, err := core.GetInfo(fakes(), &fakeHost{}, nil, core.Query{Hints: h})
			if err != nil || len(got) == 0 {
				t.Errorf("%s %q: %v", prov, domain, err)
			}
			for _, i := range got {
				if i.Domain.Caps&core.CapRemoteComm == 0 {
					t.Errorf("%s: the domain %s has [%s]", i.Fabric.ProvName, i.Domain.Name, i.Domain.Caps.String())
				}
			}
		}
	}
}

// loner is a core provider that has layers only if the query names them.
type loner struct{ fakeProvider }

func (*loner) NamedOnly() bool { return true }

func TestNamedOnlyCore(t *testing.T) {
	shm := &loner{fakeProvider{name: "shm",
		offers: []*core.Info{offer(core.EPTypeDgram, core.CapMsg|core.CapSend|core.CapRecv)}}}
	reg := core.NewRegistry(&fakeLayer{fakeProvider: fakeProvider{name: "ofi_rxd"}, below: core.EPTypeDgram}, shm)
	for name, want := range map[string]string{
		"": "shm DGRAM eth0", "shm": "shm DGRAM eth0", "ofi_rxd": "shm;ofi_rxd RDM eth0",
		"shm;ofi_rxd": "shm;ofi_rxd RDM eth0",
	} {
		got, _, err := core.GetInfo(reg, &fakeHost{}, nil, core.Query{Node: "node7", Hints: named(name)})
		if text := brief(got); err != nil || len(got) != 1 || !strings.HasPrefix(text, want+" ") {
			t.Errorf("%q: %v\n%s", name, err, text)
		}
	}
}

// TestLoopbackAlone asks for other hosts on a machine that has only loopback, or whose FI_TCP_IFACE allows no other
// interface. The result is loopback.
func TestLoopbackAlone(t *testing.T) {
	ask := core.Query{Hints: hints(func(h *core.Info) {
		h.Fabric.ProvName = "tcp"
		h.Caps |= core.CapRemoteComm
	})}
	got, _, err := core.GetInfo(fakes(), &fakeHost{}, nil, ask)
	for _, i := range got {
		if i.Domain.Name == "lo" {
			t.Errorf("beside other interfaces: %v", brief(got))
		}
	}
	if err != nil || len(got) == 0 {
		t.Fatalf("%v, %v", brief(got), err)
	}
	got, _, err = core.GetInfo(fakes(), &fakeHost{}, env("FI_TCP_IFACE", "lo"), ask)
	if err != nil || len(got) == 0 {
		t.Fatalf("loopback alone: %v", err)
	}
	for _, i := range got {
		if i.Domain.Name != "lo" || i.Caps&core.CapRemoteComm == 0 {
			t.Errorf("%s with caps [%s]", i.Domain.Name, i.Caps.String())
		}
	}
}
