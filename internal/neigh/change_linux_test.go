package neigh

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/xdp/frame"
	"gofabric/test/need"
)

// TestMoves: a neighbour changes its Ethernet address and announces it.
func TestMoves(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	b.Set("net/ipv4/conf/eth9/arp_notify", "1")
	b.Set("net/ipv6/conf/eth9/ndisc_notify", "1")
	tab := a.table()
	four, six := newWay(t, tab, "", "10.99.0.2"), newWay(t, tab, "", "fd99::2")
	p := four.resolve()
	six.resolve()
	b.IP("link", "set", "eth9", "address", "02:00:00:00:00:77")
	moved := func(p *Path) bool { return p.DstMAC == frame.MAC{2, 0, 0, 0, 0, 0x77} }
	for _, w := range []*way{four, six} {
		deliver(t, a, "eth9", w.awaitPath("the new address", moved), b, w.to)
	}
	if moved(p) {
		t.Error("the old path has changed")
	}
}

// TestMovesSilently: a neighbour changes its Ethernet address without an announcement. The kernel's probes, which
// this package asks for, discover that.
func TestMovesSilently(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	tab := a.table()
	four, six := newWay(t, tab, "", "10.99.0.2"), newWay(t, tab, "", "fd99::2")
	a.hurry()
	four.resolve()
	six.resolve()
	b.IP("link", "set", "eth9", "address", "02:00:00:00:00:78")
	for _, w := range []*way{four, six} {
		w.awaitPath("the new address", func(p *Path) bool { return p.DstMAC == frame.MAC{2, 0, 0, 0, 0, 0x78} })
	}
}

// hurry shortens the times after which the kernel considers neighbours stale, probes them, and gives them up.
func (h host) hurry() {
	h.T.Helper()
	for _, v := range []string{"ipv4", "ipv6"} {
		h.Set("net/"+v+"/neigh/eth9/base_reachable_time_ms", "200")
		h.Set("net/"+v+"/neigh/eth9/retrans_time_ms", "100")
		h.Set("net/"+v+"/neigh/eth9/delay_first_probe_time", "0")
	}
}

// states returns a channel with the states that the kernel reports for a neighbour, until the test ends.
func (h host) states(a string) <-chan int {
	h.T.Helper()
	events, done, states := make(chan netlink.NeighUpdate), make(chan struct{}), make(chan int)
	h.Inside(func() error { return netlink.NeighSubscribe(events, done) })
	addr := netip.MustParseAddr(a)
	go func() {
		defer close(states)
		for ev := range events {
			if x, _ := netip.AddrFromSlice(ev.IP); x.Unmap() == addr {
				select {
				case states <- ev.State:
				case <-done:
				}
			}
		}
	}()
	h.T.Cleanup(func() {
		close(done)
		for range states {
		}
	})
	return states
}

// TestKept sends no packets through the kernel. The neighbour is still confirmed again and again while callers ask
// for the path.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"10.99.0.2", "fd99::2"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			a, _ := pair(t)
			w := newWay(t, a.table(), "", to)
			states := a.states(to)
			a.hurry()
			w.resolve()
			end := time.NewTimer(long)
			defer end.Stop()
			reachable, stale := 0, 0
			for reachable < 4 {
				select {
				case s := <-states:
					switch {
					case s&netlink.NUD_REACHABLE != 0:
						reachable++
					case s&netlink.NUD_STALE != 0:
						stale++
					}
				case <-end.C:
					t.Fatalf("%d times reachable, %d times stale: the kernel does not probe the neighbour",
						reachable, stale)
				}
				if w.path() == nil {
					t.Fatalf("the path is gone: %v", w.v.Why(&w.d))
				}
			}
		})
	}
}

// TestUnused: a neighbour to which no caller sends is not probed. When a caller sends again, it is.
func TestUnused(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	a.hurry()
	w := newWay(t, a.table(), "", "10.99.0.2")
	states := a.states("10.99.0.2")
	w.resolve()
	e := w.d.entry.Load()
	next := func(want int) {
		t.Helper()
		end := time.NewTimer(long)
		defer end.Stop()
		for {
			select {
			case s := <-states:
				if s&want != 0 {
					return
				}
			case <-end.C:
				t.Fatalf("the neighbour's state never was %#x", want)
			}
		}
	}
	next(netlink.NUD_REACHABLE)
	e.idle.Store(true) // as a sweep does
	for asked, silent := 0, false; !silent; asked++ {
		next(netlink.NUD_STALE)
		quiet := time.NewTimer(time.Second)
		defer quiet.Stop()
		select {
		case s := <-states: // a probe may have been under way when the sweep came, one at most
			if asked > 0 || s&(netlink.NUD_DELAY|netlink.NUD_PROBE|netlink.NUD_REACHABLE) == 0 {
				t.Fatalf("state %#x, although no caller sends", s)
			}
		case <-quiet.C:
			silent = true
		}
	}
	if w.path() == nil {
		t.Fatal("a stale neighbour has no path")
	}
	next(netlink.NUD_REACHABLE)
}

// TestUpDown takes the interfaces of both ends down and up.
func TestUpDown(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	tab := a.table()
	four, six := newWay(t, tab, "", "10.99.0.2"), newWay(t, tab, "fd99::1", "fd99::2")
	good := func(*Path) bool { return true }
	four.resolve()
	six.resolve()
	b.IP("link", "set", "eth9", "down")
	four.awaitNone(ErrDown)
	six.awaitNone(ErrDown)
	b.IP("link", "set", "eth9", "up")
	b.Address("eth9", "fd99::2/64")
	deliver(t, a, "eth9", four.awaitPath("the way after the carrier came back", good), b, four.to)
	deliver(t, a, "eth9", six.awaitPath("the way after the carrier came back", good), b, six.to)

	a.IP("link", "set", "eth9", "down")
	four.awaitNone(unix.ENETUNREACH)
	six.awaitNone(ErrAddress)
	a.IP("link", "set", "eth9", "up")
	a.Address("eth9", "fd99::1/64")
	deliver(t, a, "eth9", four.awaitPath("the way after the interface came back", good), b, four.to)
	deliver(t, a, "eth9", six.awaitPath("the way after the interface came back", good), b, six.to)

	a.IP("link", "set", "eth9", "address", "02:00:00:00:00:79")
	a.IP("link", "set", "eth9", "mtu", "1300")
	p := four.awaitPath("the interface's own changes",
		func(p *Path) bool { return p.SrcMAC == frame.MAC{2, 0, 0, 0, 0, 0x79} && p.MTU == 1300 })
	deliver(t, a, "eth9", p, b, four.to)

	a.IP("link", "del", "eth9")
	four.awaitNone(unix.ENETUNREACH)
}

// TestAddress removes the source address.
func TestAddress(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	a.Address("eth9", "10.99.0.11/24", "fd99::11/64")
	tab := a.table()
	for _, tc := range []struct{ src, prefix, to string }{{"10.99.0.11", "10.99.0.11/24", "10.99.0.2"},
		{"fd99::11", "fd99::11/64", "fd99::2"}} {
		w := newWay(t, tab, tc.src, tc.to)
		w.resolve()
		a.IP("addr", "del", tc.prefix, "dev", "eth9")
		w.await("the end of the address", func() bool { w.path(); return w.v.Why(&w.d) == ErrAddress })
		a.Address("eth9", tc.prefix)
		w.awaitPath("the way from the address", func(p *Path) bool { return p.Src.String() == tc.src })
	}
}

// TestFollowAddresses: each follower receives the host's addresses soon, and again when they change, until it stops.
func TestFollowAddresses(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	tab := a.table()
	type set = map[netip.Addr]struct{}
	follow := func() (told chan set, stop func()) {
		told = make(chan set, 100)
		return told, tab.FollowAddresses(func(own set) { told <- own })
	}
	await := func(what string, told chan set, addr string, want bool) {
		t.Helper()
		for deadline := time.After(long); ; {
			select {
			case own := <-told:
				if _, has := own[netip.MustParseAddr(addr)]; has == want {
					return
				}
			case <-deadline:
				t.Fatalf("the follower did not receive %s", what)
			}
		}
	}
	one, stop := follow()
	await("the first set", one, "10.99.0.1", true)
	two, stopTwo := follow()
	defer stopTwo()
	await("the first set, beside another", two, "fd99::1", true)
	a.Address("eth9", "10.99.0.77/24")
	await("an address", one, "10.99.0.77", true)
	await("an address", two, "10.99.0.77", true)
	stop()
	for len(one) > 0 {
		<-one
	}
	a.IP("addr", "del", "10.99.0.77/24", "dev", "eth9")
	await("its end", two, "10.99.0.77", false)
	if len(one) > 0 {
		t.Error("a follower that has stopped was called")
	}
}

// TestFollowPaths: a follower is called when a neighbour has answered. It is also called for a path that was known
// already.
func TestFollowPaths(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	tab := a.table()
	told := make(chan struct{}, 100)
	stop := tab.FollowPaths(func() { told <- struct{}{} })
	var first, second Dest
	await := func(v *View, d *Dest, to netip.Addr) {
		t.Helper()
		for deadline := time.After(long); v.Path(d, to) == nil; {
			select {
			case <-told:
			case <-deadline:
				t.Fatal("not told")
			}
		}
	}
	to := netip.MustParseAddr("10.99.0.2")
	await(tab.View(netip.Addr{}, 0), &first, to)
	// This View asks on its own, and the answer is the same neighbour.
	await(tab.View(netip.MustParseAddr("10.99.0.1"), 0), &second, to)
	stop()
	for len(told) > 0 {
		<-told
	}
	newWay(t, tab, "", "fd99::2").resolve()
	tab.FollowPaths(func() {}) // waits until no follower is being called
	if len(told) > 0 {
		t.Error("a follower that has stopped was called")
	}
}

// TestNoNeighbour asks for neighbours that do not exist. The calls return in time, and the neighbours are found when they
// exist.
func TestNoNeighbour(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ to, prefix string }{{"10.99.0.66", "10.99.0.66/24"}, {"fd99::66", "fd99::66/64"}} {
		t.Run(tc.to, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			a.hurry()
			w := newWay(t, a.table(), "", tc.to)
			began := mono.Now()
			if p, err := w.v.Resolve(t.Context(), &w.d, w.to); err != ErrUnreachable {
				t.Fatalf("%v, %v, want %v", p, err, ErrUnreachable)
			}
			if d := mono.Now().Sub(began); d >= answerMax {
				t.Errorf("that took %v, although the kernel gives up in less than a second", d)
			}
			b.Address("eth9", tc.prefix)
			deliver(t, a, "eth9", w.awaitPath("the way to who has come", func(*Path) bool { return true }), b, w.to)
		})
	}
}

const unprivileged = "NEIGH_UNPRIVILEGED" // set in the process without the capability

// TestSlowKernel: the table does not wait for a kernel that takes long to give up a neighbour.
func TestSlowKernel(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	a.Set("net/ipv4/neigh/eth9/retrans_time_ms", "60000")
	newWay(t, a.table(), "", "10.99.0.66").awaitNone(ErrUnreachable)
}

// TestUnprivileged has no CAP_NET_ADMIN. A stale neighbour has no path, so the socket sends, and the kernel's own
// probe restores the path. The test starts itself again without the capability.
func TestUnprivileged(t *testing.T) {
	if os.Getenv(unprivileged) == "" {
		t.Parallel()
		a, _ := pair(t)
		a.hurry()
		need.Programs(t, "util-linux", "setpriv")
		const without = "-net_admin"
		cmd := exec.Command("ip", "netns", "exec", a.Name, "setpriv", "--bounding-set", without, "--inh-caps", without,
			os.Args[0], "-test.run", "^TestUnprivileged$")
		cmd.Env = append(os.Environ(), unprivileged+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	tab, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	// The socket is not connected. If it were, a refusal by the other end would be returned instead of sending the
	// next datagram.
	sock, err := net.ListenUDP("udp4", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	w := newWay(t, tab, "", "10.99.0.2")
	w.await("the kernel's refusal", func() bool { w.path(); return w.v.Why(&w.d) == unix.EPERM })
	for range 3 {
		// The link sends every datagram through the socket until there is a path. On a busy machine the neighbour may
		// be stale again before this process looks.
		w.await("the way that the socket found", func() bool {
			if w.path() != nil {
				return true
			}
			if _, err := sock.WriteToUDPAddrPort([]byte("what the link does when there is no path"), netip.MustParseAddrPort("10.99.0.2:9")); err != nil {
				t.Fatal(err)
			}
			return false
		})
		w.awaitNone(ErrStale)
	}
}

// TestRace asks from many goroutines while the neighbour's address changes. No address may be a mixture of two.
func TestRace(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	tab := a.table()
	a.IP("neigh", "replace", "10.99.0.2", "lladdr", "02:00:00:00:00:00", "dev", "eth9", "nud", "permanent")
	w := newWay(t, tab, "", "10.99.0.2")
	w.resolve()
	stop := make(chan struct{})
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			var d Dest
			for {
				select {
				case <-stop:
					return
				default:
				}
				if p := w.v.Path(&d, w.to); p != nil && (p.DstMAC[0] != 2 || p.DstMAC[4] != p.DstMAC[5]) {
					t.Errorf("half an address: %x", p.DstMAC[:])
					return
				}
			}
		})
	}
	for i := range byte(9) {
		a.Inside(func() error {
			l, err := netlink.LinkByName("eth9")
			if err != nil {
				return err
			}
			return netlink.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT,
				IP: net.IP{10, 99, 0, 2}, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, i, i}})
		})
		w.awaitPath("the new address", func(p *Path) bool { return p.DstMAC[5] == i })
		// A change of routes makes all callers ask again.
		a.IP("route", "add", netip.AddrFrom4([4]byte{10, 50, i, 0}).String()+"/24", "via", "10.99.0.2")
	}
	close(stop)
	g.Wait()
}

// TestOverrun: if messages of the kernel are lost, the table asks for everything again.
func TestOverrun(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	tab := a.table()
	w, nobody := newWay(t, tab, "", "10.99.0.2"), newWay(t, tab, "", "10.99.0.3")
	w.resolve()
	gen := tab.gen.Load()
	b.Address("eth9", "10.99.0.3/24")
	tab.events <- []event{{kind: overrun}}
	w.await("a question", func() bool { w.path(); return tab.gen.Load() > gen && w.d.gen.Load() > gen })
	if w.path() == nil {
		t.Error("the path is lost")
	}
	nobody.resolve()
	tab.events <- []event{{kind: lost}}
	w.awaitNone(ErrLost)
	nobody.awaitNone(ErrLost)
}

// TestClosed: a table that was opened twice remains usable after the first Close, and not after the second.
func TestClosed(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	tab := a.table()
	var other *Table
	a.Inside(func() (err error) { other, err = Open(); return err })
	if other != tab {
		t.Fatal("two tables of one namespace")
	}
	w := newWay(t, tab, "", "10.99.0.2")
	w.resolve()
	other.Close()
	if w.path() == nil {
		t.Error("closed, although one of two users remains")
	}
	var mine *Table
	a.Inside(func() (err error) { mine, err = open(); return err })
	mine.refs = 1
	w = newWay(t, mine, "", "10.99.0.2")
	w.resolve()
	mine.Close()
	if p := w.path(); p != nil || w.v.Why(&w.d) != ErrClosed {
		t.Errorf("%v, %v", p, w.v.Why(&w.d))
	}
	if _, err := w.v.Resolve(t.Context(), &w.d, w.to); err != ErrClosed {
		t.Errorf("%v, want %v", err, ErrClosed)
	}
}

// TestVLAN resolves paths through VLAN devices, also one above another.
func TestVLAN(t *testing.T) {
	t.Parallel()
	a, b := newHost(t), newHost(t)
	lay(a, b, "eth9")
	if err := a.tryVLAN(); err != nil {
		if _, gone := os.Stat("/proc/net/vlan"); gone != nil && strings.Contains(err.Error(), "not supported") {
			t.Skip("this kernel has no VLAN devices (CONFIG_VLAN_8021Q); test/kernel runs this test on one that has")
		}
		t.Fatal(err)
	}
	for _, h := range []host{a, b} {
		h.IP("link", "add", "link", "eth9", "name", "v42", "type", "vlan", "id", "42", "egress-qos-map", "0:3")
		h.IP("link", "add", "link", "eth9", "name", "s7", "type", "vlan", "protocol", "802.1ad", "id", "7")
		h.IP("link", "set", "s7", "up")
		h.IP("link", "add", "link", "s7", "name", "c9", "type", "vlan", "id", "9")
		for _, dev := range []string{"v42", "c9"} {
			h.IP("link", "set", dev, "up")
		}
	}
	a.Address("v42", "10.42.0.1/24", "fd42::1/64")
	b.Address("v42", "10.42.0.2/24", "fd42::2/64")
	a.Address("c9", "10.9.0.1/24")
	b.Address("c9", "10.9.0.2/24")
	tab := a.table()
	index := a.link("eth9").Attrs().Index
	for _, tc := range []struct {
		to   string
		dev  string
		tags [2]frame.Tag
	}{
		// This case is the first because the IPv6 address is lost when the link is set down.
		{"fd42::2", "v42", [2]frame.Tag{{Proto: frame.TagC, TCI: 3<<13 | 42}}},
		{"10.42.0.2", "v42", [2]frame.Tag{{Proto: frame.TagC, TCI: 3<<13 | 42}}},
		{"10.9.0.2", "c9", [2]frame.Tag{{Proto: frame.TagS, TCI: 7}, {Proto: frame.TagC, TCI: 9}}},
	} {
		w := newWay(t, tab, "", tc.to)
		p := w.awaitPath("a way", func(*Path) bool { return true })
		if p.Link != index || p.Device != a.link(tc.dev).Attrs().Index || p.Tags != tc.tags {
			t.Errorf("%+v", p)
		}
		deliver(t, a, "eth9", p, b, w.to)
		a.IP("link", "set", "eth9", "down")
		w.await("no path", func() bool { return w.path() == nil })
		a.IP("link", "set", "eth9", "up")
		if tc.to != "fd42::2" { // the address was lost with the link
			w.awaitPath("the way again", func(*Path) bool { return true })
		}
	}
}

// tryVLAN makes and deletes a VLAN device.
func (h host) tryVLAN() (err error) {
	h.Inside(func() error {
		var l netlink.Link
		if l, err = netlink.LinkByName("eth9"); err != nil {
			return nil
		}
		v := &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "try", ParentIndex: l.Attrs().Index}, VlanId: 1,
			VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
		if err = netlink.LinkAdd(v); err == nil {
			err = netlink.LinkDel(v)
		}
		return nil
	})
	return err
}
