package udp

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/internal/netx"
)

func provider(t *testing.T, variables ...string) (*Provider, *core.Params, error) {
	t.Helper()
	env := map[string]string{}
	for i := 0; i < len(variables); i += 2 {
		env["FI_UDP_"+variables[i]] = variables[i+1]
	}
	params, err := core.NewParams(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "")
	must(t, err)
	p, err := New(params, &host.Host{})
	return p, params, err
}

// TestInfo compares with what native's fi_info prints for udp.
func TestInfo(t *testing.T) {
	p, params, err := provider(t)
	must(t, err)
	list, _, err := core.GetInfo(core.NewRegistry(p), &host.Host{}, params, core.Query{Version: core.LibraryVersion, Node: "127.0.0.1", Flags: core.InfoSource})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%d infos", len(list))
	}
	text := list[0].String()
	for _, want := range []string{
		"caps: [ FI_MSG, FI_MULTICAST, FI_RECV, FI_SEND, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SHARED_AV, FI_SOURCE, FI_AV_USER_ID ]", // native lacks FI_SHARED_AV and FI_AV_USER_ID
		"caps: [ FI_MSG, FI_MULTICAST, FI_SEND ]", "caps: [ FI_MSG, FI_RECV, FI_SOURCE ]",
		"inject_size: 1472", "size: 1024", "iov_limit: 4", "rma_iov_limit: 0",
		"type: FI_EP_DGRAM", "protocol: FI_PROTO_UDP", "protocol_version: 0", "max_msg_size: 1472", "mem_tag_format: 0x0000000000000000",
		"threading: FI_THREAD_SAFE", "progress: FI_PROGRESS_AUTO", "resource_mgmt: FI_RM_ENABLED", "mr_key_size: 8", "cq_data_size: 0",
		"cq_cnt: 256", "ep_cnt: 256", "tx_ctx_cnt: 256", "rx_ctx_cnt: 256", "max_ep_tx_ctx: 1", "mr_iov_limit: 0", "prov_name: udp", "prov_version: 206.0",
		"src_addr: fi_sockaddr_in://127.0.0.1:0", "name: lo",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name, value, want string
	}{
		{"MTU", "65507", ""}, {"MTU", "65508", "FI_UDP_MTU"}, {"MTU", "1", "FI_UDP_MTU"}, {"MTU", "x", "MTU"},
		{"GSO", "maybe", "GSO"}, {"GRO", "off", ""}, {"RECV_BUFFER", "0", "FI_UDP_RECV_BUFFER"}, {"RECV_BUFFER", "1048576", ""},
	} {
		p, _, err := provider(t, c.name, c.value)
		if c.want == "" {
			must(t, err)
		} else if !errors.Is(err, core.ErrInval) || !strings.Contains(strings.ToUpper(err.Error()), c.want) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		if c.name == "MTU" && err == nil {
			i := p.Infos(nil)[0]
			if i.EP.MaxMsgSize != 65507 || i.Tx.InjectSize != 65507 {
				t.Errorf("max_msg_size %d, inject_size %d", i.EP.MaxMsgSize, i.Tx.InjectSize)
			}
		}
	}
	p, err := New(nil, nil)
	must(t, err)
	if p.Name() != "udp" || p.Version() != core.ProviderVersion {
		t.Error(p.Name(), p.Version())
	}
}

// TestZone: datagrams of link-local peers have an address with their interface, and can be answered.
func TestZone(t *testing.T) {
	ifs, err := netx.Interfaces()
	must(t, err)
	for _, i := range ifs {
		if !i.Addr.Is6() || !i.Addr.IsLinkLocalUnicast() {
			continue
		}
		d := testDomain(t)
		a, back := testPort(t, d, i.Addr)
		b, in := testPort(t, d, netip.IPv6Unspecified())
		must(t, a.send(netip.AddrPortFrom(i.Addr, b.Local().Port()), 0, []byte("there")))
		d.until(t, "a datagram arrives", func() bool { return len(in.got) > 0 })
		from := in.got[0].from
		if from.Addr() != i.Addr || from != a.Local() {
			t.Errorf("from %v, want %v", from, a.Local())
		}
		must(t, b.send(from, 0, []byte("back")))
		d.until(t, "an answer arrives", func() bool { return len(back.got) > 0 })
		if n := testing.AllocsPerRun(20, func() {
			d.prog.Lock()
			defer d.prog.Unlock()
			p := b.zones.with(netip.AddrPortFrom(i.Addr.WithZone(""), 7), uint32(i.Index))
			if p.Addr() != i.Addr {
				t.Errorf("%v", p)
			}
			if s, err := b.zones.scope(p.Addr()); err != nil || s != uint32(i.Index) {
				t.Errorf("scope %d, %v", s, err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		return
	}
	t.Log("no link-local address")
}
