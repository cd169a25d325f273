package tcp_test

import (
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
	"gofabric/test/duo"
	"gofabric/test/wait"
)

// infoWith returns an RDM Info of a tcp provider with the given variables set.
func infoWith(t *testing.T, vars map[string]string) (*core.Registry, *core.Info) {
	t.Helper()
	params, err := core.NewParams(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, "")
	duo.Check(t, err)
	p, err := tcp.New(params, nil)
	duo.Check(t, err)
	reg := core.NewRegistry(p)
	hints := core.NewHints()
	hints.EP.Type, hints.Caps = core.EPTypeRDM, core.CapMsg|core.CapTagged|core.CapRMA
	infos, _, err := core.GetInfo(reg, &host.Host{Timeout: time.Second}, params,
		core.Query{Version: core.LibraryVersion, Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
	duo.Check(t, err)
	return reg, infos[0]
}

// TestFirewall: a peer that cannot be connected to is answered over its own connection. Sends fail after that has
// closed.
func TestFirewall(t *testing.T) {
	mem := make([]byte, 64)
	reg, info := infoWith(t, map[string]string{"FI_TCP_FIREWALL_ADDR": "1"})
	a, b := duo.OpenInfo(t, reg, info, mem), duo.Open(t, "tcp", core.EPTypeRDM, mem)
	if v, err := a.EP.GetOpt(core.OptFirewallAddr); err != nil || v != 1 {
		t.Errorf("OptFirewallAddr is %d, %v", v, err)
	}
	duo.Know(t, a, b)
	duo.Know(t, b, a)
	buf, in := make([]byte, 8), make([]byte, 8)
	duo.Check(t, b.EP.Recv(in, 0, core.AddrUnspec, 1))
	duo.Check(t, duo.Post(func() error { return a.EP.Send(buf, 0, a.Peer, 2) }, a, b))
	duo.Check(t, duo.Until(a, b, 1, 1))
	duo.Check(t, a.EP.Recv(in, 0, core.AddrUnspec, 3))
	// Over the connection that a opened.
	duo.Check(t, duo.Post(func() error { return b.EP.Send(buf, 0, b.Peer, 4) }, a, b))
	duo.Check(t, duo.Until(a, b, 1, 1))

	d, ok := a.EP.Driver().(interface{ Disconnect(core.FIAddr) error })
	if !ok {
		t.Fatal("the driver has no call to disconnect")
	}
	duo.Check(t, d.Disconnect(a.Peer))
	wait.Until(t, "sends to a peer behind a firewall are refused", func() bool {
		duo.Until(a, b, 0, 0)
		err := b.EP.Send(buf, 0, b.Peer, 5)
		if err != nil && err != core.ErrFirewallAddr {
			t.Fatalf("send to a peer behind a firewall: %v, want ErrFirewallAddr", err)
		}
		return err != nil
	})
	if err := d.Disconnect(a.Peer); err != core.ErrNotConn {
		t.Errorf("disconnecting twice: %v", err)
	}
}
