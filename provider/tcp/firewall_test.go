package tcp_test

import (
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
)

// infoWith returns an RDM Info of a tcp provider with the given variables set.
func infoWith(t *testing.T, vars map[string]string) (*core.Registry, *core.Info) {
	t.Helper()
	params, err := core.NewParams(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, "")
	check(t, err)
	p, err := tcp.New(params, nil)
	check(t, err)
	reg := core.NewRegistry(p)
	hints := core.NewHints()
	hints.EP.Type, hints.Caps = core.EPTypeRDM, core.CapMsg|core.CapTagged|core.CapRMA
	infos, _, err := core.GetInfo(reg, &host.Host{Timeout: time.Second}, params,
		core.Query{Version: core.LibraryVersion, Node: "127.0.0.1", Flags: core.Source, Hints: hints})
	check(t, err)
	return reg, infos[0]
}

// TestFirewall: a peer that says that it cannot be connected to is answered over its own connection, and refused when that is gone.
func TestFirewall(t *testing.T) {
	mem := make([]byte, 64)
	reg, info := infoWith(t, map[string]string{"FI_TCP_FIREWALL_ADDR": "1"})
	a, b := openInfo(t, reg, info, mem), open(t, mem)
	if v, err := a.ep.GetOpt(core.OptFirewallAddr); err != nil || v != 1 {
		t.Errorf("OptFirewallAddr is %d, %v", v, err)
	}
	know(t, a, b)
	know(t, b, a)
	buf, in := make([]byte, 8), make([]byte, 8)
	check(t, b.ep.Recv(in, 0, core.AddrUnspec, 1))
	check(t, post(func() error { return a.ep.Send(buf, 0, a.peer, 2) }, a, b))
	check(t, until(a, b, 1, 1))
	check(t, a.ep.Recv(in, 0, core.AddrUnspec, 3))
	check(t, post(func() error { return b.ep.Send(buf, 0, b.peer, 4) }, a, b)) // over the connection that a made
	check(t, until(a, b, 1, 1))

	d, ok := a.ep.(interface{ Disconnect(core.FIAddr) error })
	if !ok {
		t.Fatal("no way to disconnect")
	}
	check(t, d.Disconnect(a.peer))
	for end := time.Now().Add(5 * time.Second); ; {
		until(a, b, 0, 0)
		err := b.ep.Send(buf, 0, b.peer, 5)
		if err == core.ErrFirewallAddr {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("send to a peer behind a firewall: %v, want ErrFirewallAddr", err)
		}
	}
	if err := d.Disconnect(a.peer); err != core.ErrNotConn {
		t.Errorf("disconnecting twice: %v", err)
	}
}
