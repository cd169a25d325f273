package loop_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"gofabric"
	"gofabric/core"

	"example.org/loop"
)

// machine is a host with one interface (core.Host).
type machine struct{}

func (machine) Interfaces() ([]core.Iface, error) {
	lo := netip.MustParsePrefix("127.0.0.1/8")
	return []core.Iface{{Name: "lo", Addr: lo.Addr(), Prefix: lo.Masked()}}, nil
}
func (machine) FilterInterfaces(list []core.Iface, _ string) ([]core.Iface, []core.RefusedIface, error) {
	return list, nil, nil
}
func (machine) Resolve(string, string, bool, bool) ([]netip.AddrPort, error) {
	return nil, errors.New("no names here")
}
func (machine) SourceFor(netip.AddrPort) (netip.Addr, error) {
	return netip.MustParseAddr("127.0.0.1"), nil
}
func (machine) IsLocal(netip.Addr) bool { return true }

// side is an endpoint with its queue and its vector.
type side struct {
	ep *core.Endpoint
	cq *core.CompletionQueue
	av *core.AddressVector
}

func open(t *testing.T, d *core.Domain, info *core.Info) side {
	t.Helper()
	var s side
	var err error
	must := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.ep, err = d.OpenEndpoint(info)
	must()
	s.cq, err = d.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec})
	must()
	s.av, err = d.OpenAV(core.AVAttr{})
	must()
	err = s.ep.BindCQ(s.cq, core.BindTransmit|core.BindRecv)
	must()
	err = s.ep.BindAV(s.av, 0)
	must()
	err = s.ep.Enable()
	must()
	return s
}

// TestLoop opens the provider as an application does, with GetInfo, and exchanges messages of all kinds that it offers.
func TestLoop(t *testing.T) {
	params, err := core.NewParams(func(string) (string, bool) { return "", false }, "")
	if err != nil {
		t.Fatal(err)
	}
	reg := core.NewRegistry(loop.Provider{})
	infos, refused, err := core.GetInfo(reg, machine{}, params,
		core.Query{Version: core.V(2, 0), Hints: &core.Info{Caps: core.CapTagged}})
	if err != nil {
		t.Fatal(err, refused)
	}
	fabric, err := core.OpenFabric(reg, infos[0])
	if err != nil {
		t.Fatal(err)
	}
	defer fabric.Close()
	domain, err := fabric.OpenDomain(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	defer domain.Close()
	a, b := open(t, domain, infos[0]), open(t, domain, infos[0])
	defer a.ep.Close()
	defer b.ep.Close()

	name, err := b.ep.Name()
	if err != nil {
		t.Fatal(err)
	}
	to := make([]core.FIAddr, 1)
	if n, err := a.av.Insert([]core.Addr{name}, to, 0); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	buf := make([]byte, 16)
	if err := b.ep.TRecv(buf, 0, core.AddrUnspec, 7, 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := a.ep.TSend([]byte("other"), 0, to[0], 8, 2); err != nil { // it matches no receive yet
		t.Fatal(err)
	}
	if err := a.ep.TInject([]byte("hello"), to[0], 7); err != nil {
		t.Fatal(err)
	}
	want(t, b.cq, core.CQEntry{Ctx: 1, Flags: core.CompRecv | core.CompTagged, Len: 5, Tag: 7})
	if !bytes.Equal(buf[:5], []byte("hello")) {
		t.Fatalf("received %q", buf)
	}
	want(t, a.cq, core.CQEntry{Ctx: 2, Flags: core.CompSend | core.CompTagged})
	if err := b.ep.TRecv(buf[:2], 0, core.AddrUnspec, 8, 0, 3); err != nil {
		t.Fatal(err)
	}
	var e core.CQErrEntry
	if _, err := b.cq.Read(make([]core.CQEntry, 1)); !errors.Is(err, core.ErrAvail) || b.cq.ReadErr(&e) != nil ||
		e.Err != core.ErrTrunc || e.OLen != 3 {
		t.Fatal(err, e)
	}
	if err := a.ep.Send(nil, 0, to[0]+1, 4); !errors.Is(err, core.ErrHostUnreach) {
		t.Fatal(err)
	}
	if err := a.ep.Read(buf, 0, to[0], 0, 0, 5); !errors.Is(err, core.ErrNoSys) {
		t.Fatal(err)
	}
}

// TestRegistered checks that the root package finds the provider without a registry argument.
func TestRegistered(t *testing.T) {
	hints := core.NewHints()
	hints.Fabric.ProvName = "loop"
	infos, refused, err := gofabric.GetInfo(core.Query{Version: core.V(2, 0), Hints: hints})
	if err != nil {
		t.Fatal(err, refused)
	}
	fabric, err := gofabric.OpenFabric(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := gofabric.CloseAll(fabric); err != nil {
		t.Error(err)
	}
}

// want waits for one completion.
func want(t *testing.T, q *core.CompletionQueue, e core.CQEntry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got [1]core.CQEntry
	if _, err := q.SRead(ctx, got[:]); err != nil {
		t.Fatal(err)
	}
	got[0].Buf = nil
	if got[0].Ctx != e.Ctx || got[0].Flags != e.Flags || got[0].Len != e.Len || got[0].Tag != e.Tag {
		t.Fatalf("completion %+v, want %+v", got[0], e)
	}
}
