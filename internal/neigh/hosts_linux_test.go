package neigh

// This file has hosts in network namespaces, and cables between them.

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"gofabric/internal/xdp/frame"
	"gofabric/test/parallel"
	"gofabric/test/veth"
	"gofabric/test/wait"
)

func TestMain(m *testing.M) {
	parallel.Run(8) // the tests wait for the kernel's timers
	goleak.VerifyTestMain(m)
}

// long is the time after which a test gives up.
const long = wait.Limit

// host is a network namespace.
type host struct{ *veth.Host }

// newHost makes a host, and removes it after the test.
func newHost(t testing.TB) host {
	t.Helper()
	h := host{veth.NewHost(t)}
	// Neighbours are asked from link-local addresses. Without this setting the kernel would check those first.
	h.Set("net/ipv6/conf/default/accept_dad", "0")
	return h
}

// lay connects two hosts by a cable. dev is the name of the interface at both ends.
func lay(a, b host, dev string) {
	a.T.Helper()
	a.IP("link", "add", dev, "type", "veth", "peer", "name", dev, "netns", b.Name)
	for _, h := range []host{a, b} {
		h.IP("link", "set", dev, "up")
	}
}

// pair returns two hosts with a cable between them, eth9.
func pair(t testing.TB) (a, b host) {
	t.Helper()
	a, b = newHost(t), newHost(t)
	lay(a, b, "eth9")
	a.Address("eth9", "10.99.0.1/24", "fd99::1/64")
	b.Address("eth9", "10.99.0.2/24", "fd99::2/64")
	return a, b
}

// link is an interface of the host.
func (h host) link(dev string) (l netlink.Link) {
	h.T.Helper()
	h.Inside(func() (err error) { l, err = netlink.LinkByName(dev); return err })
	return l
}

func (h host) mac(dev string) frame.MAC {
	h.T.Helper()
	return frame.MAC(h.link(dev).Attrs().HardwareAddr)
}

// table opens the host's table.
func (h host) table() *Table {
	h.T.Helper()
	var t *Table
	h.Inside(func() (err error) { t, err = Open(); return err })
	h.T.Cleanup(func() { t.Close() })
	return t
}

// way is a destination of a test, and the View that asks for it.
type way struct {
	t  testing.TB
	v  *View
	d  Dest
	to netip.Addr
}

func newWay(t testing.TB, tab *Table, src, to string) *way {
	var a netip.Addr
	if src != "" {
		a = netip.MustParseAddr(src)
	}
	return &way{t: t, v: tab.View(a, 0), to: netip.MustParseAddr(to)}
}

func (w *way) path() *Path { return w.v.Path(&w.d, w.to) }

// resolve waits for the path, and fails if there is none.
func (w *way) resolve() *Path {
	w.t.Helper()
	p, err := w.v.Resolve(context.Background(), &w.d, w.to)
	if err != nil {
		w.t.Fatalf("%v: %v", w.to, err)
	}
	return p
}

// await waits until holds returns true. It calls holds again after each change of the table.
func (w *way) await(what string, holds func() bool) {
	w.t.Helper()
	end := time.NewTimer(long)
	defer end.Stop()
	for {
		changed := w.v.t.changed()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-end.C:
			w.t.Fatalf("%v: no %s: %v, %v", w.to, what, w.path(), w.v.Why(&w.d))
		}
	}
}

// awaitPath waits for a path that is good.
func (w *way) awaitPath(what string, good func(*Path) bool) *Path {
	w.t.Helper()
	var p *Path
	w.await(what, func() bool { p = w.path(); return p != nil && good(p) })
	return p
}

// awaitNone waits until there is no path, for the given reason.
func (w *way) awaitNone(why error) {
	w.t.Helper()
	w.await(fmt.Sprintf("no path, since %q", why), func() bool { return w.path() == nil && w.v.Why(&w.d) == why })
}
