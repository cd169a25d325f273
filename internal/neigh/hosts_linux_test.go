package neigh

// Hosts in network namespaces, and cables between them.

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
	"gofabric/test/need"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is what nothing takes unless something is broken.
const long = 30 * time.Second

const prefix = "gofabric-neigh-"

// host is a network namespace.
type host struct {
	t    testing.TB
	name string
}

var (
	sweepOnce sync.Once
	hosts     atomic.Int32
)

// sweepHosts deletes the namespaces of test processes that died without doing it themselves.
func sweepHosts() {
	out, _ := exec.Command("ip", "netns", "list").Output()
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(name, prefix)
		maker, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(maker); ours && err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			exec.Command("ip", "netns", "del", name).Run()
		}
	}
}

// newHost makes a host, which goes with the test.
func newHost(t testing.TB) *host {
	t.Helper()
	need.Root(t, "making network namespaces")
	need.Programs(t, "iproute2", "ip")
	sweepOnce.Do(sweepHosts)
	h := &host{t: t, name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), hosts.Add(1))}
	if out, err := exec.Command("ip", "netns", "add", h.name).CombinedOutput(); err != nil {
		need.Missing(t, "network namespaces cannot be made here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", h.name).Run() })
	h.set("ipv6/conf/default/accept_dad", "0") // link-local addresses are there at once; neighbours are asked from them
	h.ip("link", "set", "lo", "up")
	return h
}

// ip runs ip(8) in the host.
func (h *host) ip(args ...string) string {
	h.t.Helper()
	out, err := exec.Command("ip", append([]string{"-n", h.name}, args...)...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: ip %s: %v\n%s", h.name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// do runs f in the host, on a thread of its own.
func (h *host) do(f func() error) {
	h.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		ns, err := netns.GetFromName(h.name)
		if err == nil {
			defer ns.Close()
			if err = netns.Set(ns); err == nil {
				err = f()
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		h.t.Fatal(h.name, err)
	}
}

// set sets a variable of the kernel (sysctl(8)).
func (h *host) set(name, value string) {
	h.t.Helper()
	h.do(func() error {
		return os.WriteFile(fmt.Sprintf("/proc/thread-self/root/proc/sys/net/%s", name), []byte(value), 0)
	})
}

// cable connects two hosts; dev is the interface's name at both ends.
func cable(a, b *host, dev string) {
	a.t.Helper()
	a.ip("link", "add", dev, "type", "veth", "peer", "name", dev, "netns", b.name)
	for _, h := range []*host{a, b} {
		h.ip("link", "set", dev, "up")
	}
}

// address gives a host addresses.
func (h *host) address(dev string, prefixes ...string) {
	h.t.Helper()
	for _, p := range prefixes {
		if strings.Contains(p, ":") {
			h.ip("addr", "add", p, "dev", dev, "nodad")
		} else {
			h.ip("addr", "add", p, "dev", dev, "brd", "+")
		}
	}
}

// pair is two hosts with a cable eth9.
func pair(t testing.TB) (a, b *host) {
	t.Helper()
	a, b = newHost(t), newHost(t)
	cable(a, b, "eth9")
	a.address("eth9", "10.99.0.1/24", "fd99::1/64")
	b.address("eth9", "10.99.0.2/24", "fd99::2/64")
	return a, b
}

// link is an interface of the host.
func (h *host) link(dev string) (l netlink.Link) {
	h.t.Helper()
	h.do(func() (err error) { l, err = netlink.LinkByName(dev); return err })
	return l
}

func (h *host) mac(dev string) frame.MAC {
	h.t.Helper()
	return frame.MAC(h.link(dev).Attrs().HardwareAddr)
}

// table opens the host's table.
func (h *host) table() *Table {
	h.t.Helper()
	var t *Table
	h.do(func() (err error) { t, err = Open(); return err })
	h.t.Cleanup(func() { t.Close() })
	return t
}

// way is a destination of a test.
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

// resolve wants a path.
func (w *way) resolve() *Path {
	w.t.Helper()
	p, err := w.v.Resolve(context.Background(), &w.d, w.to)
	if err != nil {
		w.t.Fatalf("%v: %v", w.to, err)
	}
	return p
}

// await waits until something holds, looking again after each change.
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
			w.t.Fatalf("%v: %s did not come to be: %v, %v", w.to, what, w.path(), w.v.Why(&w.d))
		}
	}
}

// awaitPath waits for a path.
func (w *way) awaitPath(what string, good func(*Path) bool) *Path {
	w.t.Helper()
	var p *Path
	w.await(what, func() bool { p = w.path(); return p != nil && good(p) })
	return p
}

// awaitNone waits until there is none for a reason.
func (w *way) awaitNone(why error) {
	w.t.Helper()
	w.await(fmt.Sprintf("no path, since %q", why), func() bool { return w.path() == nil && w.v.Why(&w.d) == why })
}
