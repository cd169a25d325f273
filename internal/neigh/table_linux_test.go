package neigh

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/xdp/frame"
	"gofabric/test/need"
)

// TestStack follows VLAN devices down.
func TestStack(t *testing.T) {
	up := netlink.LinkAttrs{EncapType: "ether", RawFlags: unix.IFF_UP | unix.IFF_RUNNING, NetNsID: -1, MTU: 9000}
	attrs := func(index, parent int, change func(*netlink.LinkAttrs)) netlink.LinkAttrs {
		a := up
		a.Index, a.ParentIndex, a.HardwareAddr = index, parent, net.HardwareAddr{2, 0, 0, 0, 0, byte(index)}
		if change != nil {
			change(&a)
		}
		return a
	}
	links := map[int]netlink.Link{}
	add := func(l netlink.Link) { links[l.Attrs().Index] = l }
	add(&netlink.Veth{LinkAttrs: attrs(1, 77, nil)}) // the other end of a veth is not a parent
	add(&netlink.Vlan{LinkAttrs: attrs(2, 1, func(a *netlink.LinkAttrs) { a.MTU = 1500 }), VlanId: 42,
		VlanProtocol: 0x8100, EgressQosMap: map[uint32]uint32{0: 5, 3: 1}})
	add(&netlink.Vlan{LinkAttrs: attrs(3, 1, nil), VlanId: 7, VlanProtocol: 0x88a8})
	add(&netlink.Vlan{LinkAttrs: attrs(4, 3, nil), VlanId: 9, VlanProtocol: 0x8100})
	add(&netlink.Vlan{LinkAttrs: attrs(5, 4, nil), VlanId: 10, VlanProtocol: 0x8100})
	add(&netlink.Vlan{LinkAttrs: attrs(6, 1, func(a *netlink.LinkAttrs) { a.NetNsID = 0 }), VlanId: 42,
		VlanProtocol: 0x8100})
	add(&netlink.Dummy{LinkAttrs: attrs(7, 0, func(a *netlink.LinkAttrs) { a.RawFlags = unix.IFF_UP })})
	add(&netlink.Vlan{LinkAttrs: attrs(8, 7, nil), VlanId: 42, VlanProtocol: 0x8100})
	add(&netlink.Tuntap{LinkAttrs: attrs(9, 0,
		func(a *netlink.LinkAttrs) { a.EncapType, a.HardwareAddr = "none", nil })})
	add(&netlink.Device{LinkAttrs: attrs(10, 0, func(a *netlink.LinkAttrs) { a.RawFlags |= unix.IFF_LOOPBACK })})
	add(&netlink.Vlan{LinkAttrs: attrs(11, 99, nil), VlanId: 42, VlanProtocol: 0x8100})
	tab := &Table{links: map[int]*device{}}
	lookup := func(index int) (*device, error) {
		l := links[index]
		if l == nil {
			return nil, unix.ENODEV
		}
		d := deviceOf(l)
		tab.links[index] = &d
		return &d, nil
	}
	for _, tc := range []struct {
		index int
		want  stack
		err   error
	}{
		{index: 1, want: stack{link: 1, mtu: 9000, mac: frame.MAC{2, 0, 0, 0, 0, 1}}},
		{index: 2, want: stack{link: 1, mtu: 1500, mac: frame.MAC{2, 0, 0, 0, 0, 2},
			tags: [2]frame.Tag{{Proto: frame.TagC, TCI: 5<<13 | 42}}}},
		{index: 3, want: stack{link: 1, mtu: 9000, mac: frame.MAC{2, 0, 0, 0, 0, 3},
			tags: [2]frame.Tag{{Proto: frame.TagS, TCI: 7}}}},
		{index: 4, want: stack{link: 1, mtu: 8996, mac: frame.MAC{2, 0, 0, 0, 0, 4},
			tags: [2]frame.Tag{{Proto: frame.TagS, TCI: 7}, {Proto: frame.TagC, TCI: 9}}}},
		{index: 5, err: ErrLink}, {index: 6, err: ErrLink}, {index: 7, err: ErrDown}, {index: 8, err: ErrDown},
		{index: 9, err: ErrLink}, {index: 10, err: ErrLink},
		{index: 11, err: unix.ENODEV},
	} {
		s, err := stackOf(tc.index, lookup)
		if err != tc.err || err == nil && s != tc.want {
			t.Errorf("device %d: %+v, %v; want %+v, %v", tc.index, s, err, tc.want, tc.err)
		}
	}
	for _, tc := range []struct {
		index, on int
		want      bool
	}{{4, 4, true}, {4, 3, true}, {4, 1, true}, {4, 2, false}, {1, 4, false}, {1, 77, false}, {99, 1, false},
		{11, 99, true}} {
		if tab.stands(tc.index, tc.on) != tc.want {
			t.Errorf("device %d above %d: want %v", tc.index, tc.on, tc.want)
		}
	}
}

// unopened returns a table without netlink, for tests of its internals.
func unopened() *Table {
	t := &Table{
		questions: make(chan question, 2), wakes: make(chan *entry, 1), done: make(chan struct{}),
		links: map[int]*device{1: {index: 1, up: true, ethernet: true, mtu: 1500}}, hops: map[hopKey]*hop{},
		entries: map[entryKey]*entry{}, refused: map[error]*entry{},
	}
	t.gen.Store(1)
	return t
}

// known adds a neighbour as if the kernel had found it.
func (t *Table) known(addr string) *entry {
	k := hopKey{1, netip.MustParseAddr(addr)}
	h := &hop{key: k, nud: netlink.NUD_REACHABLE, mac: frame.MAC{2, 0, 0, 0, 0, 9}}
	e := &entry{key: entryKey{hop: k, src: netip.MustParseAddr("10.0.0.1")}, hop: h}
	h.entries = []*entry{e}
	t.hops[k], t.entries[e.key] = h, e
	t.attend(h, true)
	return e
}

// point points a Dest to an entry.
func (d *Dest) point(t *Table, e *entry) { d.entry.Store(e); d.gen.Store(t.gen.Load()) }

// TestForgotten: an entry without a user is removed after a while, with its path. Its next user asks again.
func TestForgotten(t *testing.T) {
	tab := unopened()
	e, used := tab.known("10.0.0.2"), tab.known("10.0.0.3")
	v := tab.View(netip.Addr{}, 0)
	var d, du Dest
	d.point(tab, e)
	du.point(tab, used)
	for i := range sweepsMax + 1 {
		if v.Path(&du, netip.Addr{}) == nil || e.dead.Load() || e.path.Load() == nil {
			t.Fatalf("gone after %d sweeps", i)
		}
		for _, e := range tab.entries {
			tab.review(e)
		}
	}
	if !e.dead.Load() || len(tab.entries) != 1 || len(tab.hops) != 1 || used.dead.Load() {
		t.Fatalf("after %d sweeps there are %d entries and %d neighbours", sweepsMax+1, len(tab.entries), len(tab.hops))
	}
	if p := v.Path(&d, netip.Addr{}); p != nil || len(tab.questions) != 1 || v.Why(&d) != ErrResolving {
		t.Errorf("%v, %d questions, %v", p, len(tab.questions), v.Why(&d))
	}
}

// TestMany fills the table. An entry without a user is replaced. If there is none, a new entry is refused for now.
func TestMany(t *testing.T) {
	tab := unopened()
	a := netip.MustParseAddr("10.0.0.0")
	for range entriesMax {
		a = a.Next()
		tab.known(a.String())
	}
	more := entryKey{hop: hopKey{1, netip.MustParseAddr("239.0.0.1")}, src: a, cast: frame.Multicast}
	if _, err := tab.entry(more); err != ErrMany || !passing(err) {
		t.Errorf("%v, want %v", err, ErrMany)
	}
	old := tab.entries[entryKey{hop: hopKey{1, a}, src: netip.MustParseAddr("10.0.0.1")}]
	for range 2 {
		tab.review(old)
	}
	e, err := tab.entry(more)
	if err != nil || e.path.Load().DstMAC != (frame.MAC{1, 0, 0x5e, 0, 0, 1}) || !old.dead.Load() ||
		len(tab.entries) != entriesMax {
		t.Errorf("%v, %d entries", err, len(tab.entries))
	}
}

// TestFull: if the table's goroutine has too many unanswered questions, a question waits for the next datagram. No
// question is asked twice.
func TestFull(t *testing.T) {
	tab := unopened()
	v := tab.View(netip.Addr{}, 0)
	var d [3]Dest
	for range 2 {
		for i := range d {
			if p := v.Path(&d[i], netip.MustParseAddr("10.0.0.2")); p != nil {
				t.Fatal(p)
			}
		}
	}
	if len(tab.questions) != 2 || !d[0].asked.Load() || !d[1].asked.Load() || d[2].asked.Load() {
		t.Errorf("%d questions", len(tab.questions))
	}
}

// TestRoutesChange: routes change all the time. Each change makes all callers ask again, but not before the time
// spent on the last answers is a small part of the total.
func TestRoutesChange(t *testing.T) {
	tab := unopened()
	tab.next, tab.sweep = mono.Never, mono.Never
	now := mono.Time(1e9)
	step := func(after, spent time.Duration, want uint64, wait time.Duration) {
		t.Helper()
		now = now.Add(after)
		tab.spent += spent
		tab.routesChanged(now)
		if got := tab.gen.Load(); got != want {
			t.Errorf("generation %d, want %d", got, want)
		}
		if got := tab.wait(now); wait > 0 && got != wait || wait == 0 && got < time.Hour {
			t.Errorf("waits %v, want %v", got, wait)
		}
	}
	step(0, 0, 2, 0)
	step(time.Millisecond, 0, 3, 0)
	step(time.Millisecond, time.Millisecond, 3, 9*time.Millisecond)
	step(time.Millisecond, 0, 3, 8*time.Millisecond)
	now = now.Add(8 * time.Millisecond)
	tab.pass(now)
	if got := tab.gen.Load(); got != 4 || tab.wait(now) < time.Hour {
		t.Errorf("generation %d, want 4", got)
	}
	step(time.Millisecond, time.Hour, 4, bumpMax-time.Millisecond)
	step(bumpMax-time.Millisecond, 0, 5, 0)
}

// TestRemembered: a known answer serves a new caller with the same question, until routes change or the entry is
// forgotten.
func TestRemembered(t *testing.T) {
	tab := unopened()
	e := tab.known("10.0.0.2")
	src, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	v := tab.View(src, 1)
	has := func(v *View, to netip.Addr, want bool) {
		t.Helper()
		var d Dest
		asked := len(tab.questions)
		if got := v.Path(&d, to); (got != nil) != want || want &&
			(got != e.path.Load() || d.asked.Load() || len(tab.questions) != asked) {
			t.Errorf("%v, want %v; %d questions, %d before", got, want, len(tab.questions), asked)
		}
		for len(tab.questions) > 0 {
			<-tab.questions
		}
	}
	has(v, to, false)
	tab.answers.remember(question{v: v, to: to}, answer{e, tab.gen.Load()})
	has(v, to, true)
	has(tab.View(src, 1), to, true)
	has(tab.View(src, 2), to, false)
	has(tab.View(netip.Addr{}, 1), to, false)
	has(v, netip.MustParseAddr("10.0.0.3"), false)
	tab.gen.Add(1)
	has(v, to, false)
	tab.answers.remember(question{v: v, to: to}, answer{e, tab.gen.Load()})
	has(v, to, true)
	for i, a := 0, to; i < 2*answersMax; i++ {
		a = a.Next()
		tab.answers.remember(question{v: v, to: a}, answer{e, 1})
	}
	if n := len(tab.answers.m); n > answersMax {
		t.Errorf("%d answers", n)
	}
	tab.answers.remember(question{v: v, to: to}, answer{e, tab.gen.Load()})
	has(v, to, true)
	tab.forget(e)
	has(v, to, false)
}

// TestSize checks the memory of a peer.
func TestSize(t *testing.T) {
	const peers = 1 << 16
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list := make([]Dest, peers)
	tab := unopened()
	e := tab.known("10.0.0.2")
	v := tab.View(netip.Addr{}, 0)
	for i := range list {
		list[i].point(tab, e)
		v.Path(&list[i], netip.Addr{})
	}
	runtime.ReadMemStats(&after)
	if n := float64(after.TotalAlloc-before.TotalAlloc) / peers; n > 25 {
		t.Errorf("%.1f bytes for a peer", n)
	}
	runtime.KeepAlive(list)
}

// TestPathAllocs checks that the data path allocates nothing, with or without a path.
func TestPathAllocs(t *testing.T) {
	tab := unopened()
	e := tab.known("10.0.0.2")
	v := tab.View(netip.Addr{}, 0)
	to := netip.MustParseAddr("10.0.0.2")
	var found, stale, none Dest
	found.point(tab, e)
	stale.entry.Store(e)
	if n := testing.AllocsPerRun(100, func() {
		e.idle.Store(true)
		if v.Path(&found, to) == nil || v.Path(&stale, to) == nil || v.Path(&none, to) != nil {
			t.Fatal("another path")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestHere runs in the namespace of the test, without root. Addresses of this host are reported as such.
func TestHere(t *testing.T) {
	tab, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	var d Dest
	if p, err := tab.View(netip.Addr{}, 0).Resolve(context.Background(), &d,
		netip.MustParseAddr("127.0.0.1")); !errors.Is(err, ErrLocal) {
		t.Errorf("%v, %v", p, err)
	}
}

func BenchmarkPath(b *testing.B) {
	tab := unopened()
	e := tab.known("10.0.0.2")
	v := tab.View(netip.Addr{}, 0)
	to := netip.MustParseAddr("10.0.0.2")
	var d Dest
	d.point(tab, e)
	for b.Loop() {
		if v.Path(&d, to) == nil {
			b.Fatal("no path")
		}
	}
}

// TestPrepare: a table asks for the interface of a view and for the host's addresses of both families, before there
// is a destination.
func TestPrepare(t *testing.T) {
	tab, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	changed := tab.changed()
	tab.View(netip.Addr{}, 1).Prepare()
	select {
	case <-changed:
	case <-time.After(long):
		t.Fatal("nothing was asked for")
	}
	if err := tab.Close(); err != nil {
		t.Fatal(err)
	}
	if d := tab.links[1]; d == nil || !d.loopback {
		t.Errorf("interface 1 is %+v", d)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP); !tab.has(ip.Unmap()) {
			t.Errorf("%v is not among the host's addresses %v", a, tab.locals)
		}
	}
}

// has reports whether a is a known address of the host.
func (t *Table) has(a netip.Addr) bool { _, has := t.locals[a]; return has }

// TestWithoutProc: without /proc, the error says so.
func TestWithoutProc(t *testing.T) {
	need.Root(t, "mounting something over /proc")
	said := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("none", "/proc", "tmpfs", 0, "")
		}
		if err == nil {
			_, err = Open()
		}
		said <- err
	}()
	if err := <-said; err == nil || !strings.Contains(err.Error(), "is /proc mounted?") {
		t.Error(err)
	}
}
