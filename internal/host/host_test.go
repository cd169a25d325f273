package host_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/test/wait"
)

func TestInterfacesHaveLoopback(t *testing.T) {
	h := &host.Host{}
	list, err := h.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for k, i := range list {
		found = found || i.Addr.IsLoopback()
		if i.Addr.IsLoopback() != (i.Kind == "loopback") && i.Addr.IsLoopback() {
			t.Errorf("%s %s is of kind %s", i.Name, i.Addr, i.Kind)
		}
		if !i.Prefix.IsValid() || !h.IsLocal(i.Addr) {
			t.Errorf("entry %d: %+v", k, i)
		}
	}
	if !found {
		t.Fatal("no loopback address")
	}
}

func TestFilterInterfaces(t *testing.T) {
	h := &host.Host{}
	list := []core.Iface{
		{Name: "eth0", Addr: netip.MustParseAddr("10.1.0.5"), Speed: 7},
		{Name: "eth0", Addr: netip.MustParseAddr("fd00::5")},
		{Name: "lo", Addr: netip.MustParseAddr("127.0.0.1")},
	}
	kept, refused, err := h.FilterInterfaces(list, "10.0.0.0/8,lo")
	if err != nil || len(kept) != 2 || kept[0] != list[0] || kept[1] != list[2] {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if len(refused) != 1 || refused[0].Iface != list[1] || refused[0].Reason == "" {
		t.Fatalf("refused %v", refused)
	}
	if _, _, err := h.FilterInterfaces(list, "10.0.0.0/99"); err == nil {
		t.Fatal("a bad network was accepted")
	}
}

func TestSourceFor(t *testing.T) {
	h := &host.Host{}
	a, err := h.SourceFor(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil || a != netip.MustParseAddr("127.0.0.1") {
		t.Fatal(a, err)
	}
}

func TestResolve(t *testing.T) {
	h := &host.Host{}
	for _, c := range []struct {
		node, service    string
		numeric, passive bool
		want             string // first address; "" for an error
	}{
		{"1.2.3.4", "7471", false, false, "1.2.3.4:7471"},
		{"1.2.3.4", "", true, false, "1.2.3.4:0"},
		{"::ffff:1.2.3.4", "1", true, false, "1.2.3.4:1"},
		{"[fe80::1%lo]", "1", true, false, "[fe80::1%lo]:1"},
		{"", "7471", false, true, "0.0.0.0:7471"},
		{"1.2.3.4", "65536", false, false, ""},
		{"1.2.3.4", "-1", true, false, ""},
		{"localhost", "1", true, false, ""},
		{"no host", "1", false, false, ""},
		{strings.Repeat("a", 300), "1", false, false, ""},
	} {
		got, err := h.Resolve(c.node, c.service, c.numeric, c.passive)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%q %q: %v", c.node, c.service, got)
		case c.want != "" && (err != nil || got[0].String() != c.want):
			t.Errorf("%q %q: %v, %v; want %s", c.node, c.service, got, err, c.want)
		}
	}
	if got, err := h.Resolve("", "1", false, false); err != nil || !got[0].Addr().IsLoopback() {
		t.Errorf("no node: %v, %v", got, err)
	}
	if got, err := h.Resolve("localhost", "1", false, false); err != nil || !got[0].Addr().IsLoopback() {
		t.Errorf("localhost: %v, %v", got, err)
	}
}

// TestSchemes: names with a scheme go only to the resolver of that scheme.
func TestSchemes(t *testing.T) {
	want := netip.MustParseAddrPort("10.0.0.1:7")
	h := &host.Host{Timeout: 50 * time.Millisecond, Schemes: map[string]host.Lookup{"fabric": func(ctx context.Context, name string) ([]netip.AddrPort, error) {
		switch name {
		case "job/3":
			return []netip.AddrPort{want}, nil
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, core.ErrNoData
	}}}
	for _, c := range []struct {
		node, service string
		numeric       bool
		err           error
	}{
		{"fabric://job/3", "", false, nil},
		{"FABRIC://job/3", "", false, nil},
		{"fabric://job/3", "", true, core.ErrInval},
		{"fabric://job/3", "7471", false, core.ErrInval},
		{"fabric://job/4", "", false, core.ErrNoData},
		{"fabric://", "", false, core.ErrInval},
		{"other://job/3", "", false, core.ErrInval},
		{"fabric://slow", "", false, core.ErrTimedOut},
	} {
		got, err := h.Resolve(c.node, c.service, c.numeric, false)
		if c.err == nil && (err != nil || len(got) != 1 || got[0] != want) || !errors.Is(err, c.err) {
			t.Errorf("%s %s: %v, %v; want %v", c.node, c.service, got, err, c.err)
		}
	}
	if _, err := new(host.Host).Resolve("fabric://job/3", "", false, false); !errors.Is(err, core.ErrInval) {
		t.Errorf("without schemes: %v", err)
	}
}

// TestResolveEnds: a name server that never answers must not block for ever.
func TestResolveEnds(t *testing.T) {
	h := &host.Host{Timeout: 50 * time.Millisecond, Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}
	start := time.Now()
	_, err := h.Resolve("silent.invalid", "1", false, false)
	if !errors.Is(err, core.ErrTimedOut) || !strings.Contains(err.Error(), "silent.invalid") {
		t.Errorf("error %v", err)
	}
	if d := time.Since(start); d > wait.Limit/2 { // package net's resolver does not run in a bubble of testing/synctest
		t.Errorf("took %v", d)
	}
}

// TestResolveLate: an address that was found is no time-out, though the time has passed: a busy machine may not run
// this process for a second.
func TestResolveLate(t *testing.T) {
	h := &host.Host{Timeout: time.Nanosecond}
	want := netip.MustParseAddrPort("127.0.0.1:7")
	if list, err := h.Resolve("127.0.0.1", "7", true, false); err != nil || !slices.Equal(list, []netip.AddrPort{want}) {
		t.Errorf("%v, %v", list, err)
	}
}
