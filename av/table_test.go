package av

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"gofabric/core"
	"gofabric/test/need"
)

func newTable(t testing.TB, format core.AddrFormat) *Table {
	t.Helper()
	av, err := New(core.AVAttr{}, format, nil)
	if err != nil {
		t.Fatal(err)
	}
	return av
}

func addr(s string) core.Addr {
	ap := netip.MustParseAddrPort(s)
	return core.Addr{Format: formatOf(ap.Addr()), IP: ap}
}

func insert(t testing.TB, av *Table, s string) core.FIAddr {
	t.Helper()
	var fi [1]core.FIAddr
	if n, err := av.Insert([]core.Addr{addr(s)}, fi[:], 0); n != 1 || err != nil {
		t.Fatal(s, n, err)
	}
	return fi[0]
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		attr   core.AVAttr
		format core.AddrFormat
		want   error
	}{
		{core.AVAttr{Type: 9}, 0, core.ErrInval},
		{core.AVAttr{Name: "shared"}, 0, core.ErrNoSys},
		{core.AVAttr{Flags: 1 << 11}, 0, core.ErrInval},
		{core.AVAttr{Count: -1}, 0, core.ErrInval},
		{core.AVAttr{}, core.FormatSockaddrIB, core.ErrInval},
		{core.AVAttr{Flags: core.AVRead}, 0, core.ErrInval},
		{core.AVAttr{Type: core.AVTable, Flags: core.AVEvent | core.AVSymmetric, Count: math.MaxInt},
			core.FormatStr, nil},
	} {
		if _, err := New(c.attr, c.format, nil); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.attr, err, c.want)
		}
	}
}

func TestInsertRefuses(t *testing.T) {
	for _, c := range []struct {
		format core.AddrFormat
		a      core.Addr
		want   core.Errno
	}{
		{core.FormatSockaddrIn, addr("1.2.3.4:5"), 0},
		{core.FormatSockaddrIn, addr("[::1]:5"), core.ErrInval},
		{core.FormatSockaddrIn6, addr("[::1]:5"), 0},
		{core.FormatSockaddrIn6, addr("1.2.3.4:5"), core.ErrInval},
		{core.FormatSockaddrIn6, addr("[::ffff:1.2.3.4]:5"), 0},
		{core.FormatUnspec, addr("1.2.3.4:0"), core.ErrAddrNotAvail},
		{core.FormatUnspec, addr("0.0.0.0:5"), core.ErrAddrNotAvail},
		{core.FormatUnspec, addr("[::]:5"), core.ErrAddrNotAvail},
		{core.FormatUnspec, addr("[::ffff:0.0.0.0]:5"), core.ErrAddrNotAvail},
		{core.FormatUnspec, core.Addr{}, core.ErrAddrNotAvail},
		{core.FormatUnspec, core.Addr{Format: core.FormatSockaddrIn, IP: netip.MustParseAddrPort("[::1]:5")},
			core.ErrInval},
		{core.FormatUnspec, core.Addr{Format: core.FormatSockaddrIn6, IP: netip.MustParseAddrPort("1.2.3.4:5")},
			core.ErrInval},
		{core.FormatUnspec, core.Addr{Format: core.FormatSockaddrIB, IP: netip.MustParseAddrPort("[::1]:5")},
			core.ErrInval},
		{core.FormatStr, core.Addr{Format: core.FormatStr, Str: "fi_sockaddr_in://1.2.3.4:5"}, 0},
		{core.FormatStr, core.Addr{Format: core.FormatStr, Str: "fi_sockaddr_in://1.2.3.4"}, core.ErrAddrNotAvail},
		{core.FormatStr, core.Addr{Format: core.FormatStr, Str: "fi_shm://x"}, core.ErrInval},
		{core.FormatStr, core.Addr{Format: core.FormatStr, Str: "rubbish"}, core.ErrInval},
	} {
		av := newTable(t, c.format)
		good := core.Addr{Format: core.FormatSockaddrIn, IP: netip.MustParseAddrPort("9.9.9.9:9")}
		if c.format == core.FormatSockaddrIn6 {
			good = addr("[2001:db8::9]:9")
		}
		fi := make([]core.FIAddr, 3)
		list := []core.Addr{good, c.a, good}
		n, err := av.Insert(list, fi, core.InsertMore)
		want := 3
		if c.want != 0 {
			want = 2
		}
		if n != want || err != nil || fi[0] != 0 || fi[2] != 0 || (fi[1] == core.AddrNotAvail) != (c.want != 0) {
			t.Errorf("%v in %v: %d %v %v", c.a, c.format, n, err, fi)
		}
		n, err = av.Insert(list, nil, core.InsertSyncErr)
		if c.want == 0 {
			if n != 3 || err != nil {
				t.Errorf("%v in %v: %d %v", c.a, c.format, n, err)
			}
			continue
		}
		refused, ok := errors.AsType[*InsertError](err)
		if n != 2 || !ok || !slices.Equal(refused.Errs, []core.Errno{0, c.want, 0}) || !errors.Is(err, c.want) {
			t.Errorf("%v in %v: %d %v", c.a, c.format, n, err)
		}
	}
	av := newTable(t, 0)
	if _, err := av.Insert(nil, nil, 1<<11); !errors.Is(err, core.ErrBadFlags) {
		t.Error(err)
	}
	if _, err := av.Insert(make([]core.Addr, 2), make([]core.FIAddr, 1), 0); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
	if n, err := av.Insert(nil, nil, 0); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestIndices(t *testing.T) {
	av := newTable(t, 0)
	for i := range 2000 {
		if fi := insert(t, av, fmt.Sprintf("10.0.%d.%d:7", i/256, i%256)); fi != core.FIAddr(i) {
			t.Fatal(i, fi)
		}
	}
	if err := av.Remove([]core.FIAddr{1500, 70, 3, 700}, 0); err != nil {
		t.Fatal(err)
	}
	for i, want := range []core.FIAddr{3, 70, 700, 1500, 2000} { // the lowest free index first
		if fi := insert(t, av, fmt.Sprintf("[2001:db8::%d]:1", i+1)); fi != want {
			t.Fatal(fi, want)
		}
	}
	for _, fi := range []core.FIAddr{2001, core.AddrNotAvail, 1 << 32} {
		if _, err := av.Lookup(fi); err != core.ErrInval {
			t.Error(fi, err)
		}
	}
	if err := av.Remove([]core.FIAddr{0, 5000, 1}, 0); err != core.ErrInval {
		t.Error(err)
	}
	if _, err := av.Lookup(0); err != core.ErrInval {
		t.Error("0 was not removed because 5000 could not be")
	}
	if err := av.Remove(nil, core.InsertMore); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
}

func TestDuplicates(t *testing.T) {
	av := newTable(t, 0)
	a := insert(t, av, "1.2.3.4:5")
	if b := insert(t, av, "1.2.3.4:5"); b != a {
		t.Fatal(a, b)
	}
	if b := insert(t, av, "[::ffff:1.2.3.4]:5"); b != a {
		t.Fatal(a, b)
	}
	if b := insert(t, av, "1.2.3.4:6"); b == a {
		t.Fatal("two ports have the same index")
	}
	for range 3 {
		if got, err := av.Lookup(a); err != nil || got != addr("1.2.3.4:5") {
			t.Fatal(got, err)
		}
		av.Remove([]core.FIAddr{a}, 0)
	}
	if _, err := av.Lookup(a); err != core.ErrInval {
		t.Fatal(err)
	}
}

func TestZones(t *testing.T) {
	av := newTable(t, 0)
	eth0, eth1, none := insert(t, av, "[fe80::1%eth0]:5"), insert(t, av, "[fe80::1%eth1]:5"),
		insert(t, av, "[fe80::1]:5")
	for s, want := range map[string]core.FIAddr{
		"[fe80::1%eth0]:5": eth0, "[fe80::1%eth1]:5": eth1, "[fe80::1]:5": none, "[fe80::1%eth2]:5": core.AddrNotAvail,
	} {
		if got := av.Reverse(addr(s)); got != want {
			t.Error(s, got, want)
		}
		if want != core.AddrNotAvail {
			if a, err := av.Lookup(want); err != nil || a != addr(s) {
				t.Error(s, a, err)
			}
		}
	}
	if a := insert(t, av, "[2001:db8::1%eth0]:5"); av.Reverse(addr("[2001:db8::1]:5")) != a {
		t.Error("the zone of a global address matters")
	}
}

// TestModel compares the table with a list, under random insertions and removals. There are few addresses, so that
// many are equal.
func TestModel(t *testing.T) {
	type peer struct {
		a    core.Addr
		uses int
	}
	rapid.Check(t, func(t *rapid.T) {
		av, _ := New(core.AVAttr{Count: rapid.IntRange(0, 100).Draw(t, "count")}, 0, nil)
		var model []peer // by index
		events := map[core.FIAddr]core.Addr{}
		av.OnInsert(func(fi core.FIAddr, a core.Addr) { events[fi] = a })
		av.OnRemove(func(fi core.FIAddr) { delete(events, fi) })
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				a := addr(fmt.Sprintf("10.0.0.%d:%d", rapid.IntRange(1, 60).Draw(t, "ip"),
					rapid.IntRange(1, 2).Draw(t, "port")))
				want := slices.IndexFunc(model, func(p peer) bool { return p.a == a && p.uses > 0 })
				if want < 0 {
					want = slices.IndexFunc(model, func(p peer) bool { return p.uses == 0 })
				}
				if want < 0 {
					want = len(model)
					model = append(model, peer{})
				}
				model[want].a = a
				model[want].uses++
				var fi [1]core.FIAddr
				if n, err := av.Insert([]core.Addr{a}, fi[:], 0); n != 1 || err != nil || int(fi[0]) != want {
					t.Fatal(n, err, fi, want)
				}
			},
			"remove": func(t *rapid.T) {
				fi := rapid.IntRange(0, len(model)).Draw(t, "fi")
				err := av.Remove([]core.FIAddr{core.FIAddr(fi)}, 0)
				if fi == len(model) || model[fi].uses == 0 {
					if err != core.ErrInval {
						t.Fatal(err)
					}
					return
				}
				model[fi].uses--
				if err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				n := 0
				for fi, p := range model {
					a, err := av.Lookup(core.FIAddr(fi))
					if p.uses == 0 {
						if err != core.ErrInval {
							t.Fatal(fi, err)
						}
						continue
					}
					n++
					if err != nil || a != p.a || events[core.FIAddr(fi)] != a {
						t.Fatal(fi, a, err, p.a)
					}
				}
				for ip := range 60 {
					for port := 1; port <= 2; port++ {
						a := addr(fmt.Sprintf("10.0.0.%d:%d", ip+1, port))
						want := core.AddrNotAvail
						if i := slices.IndexFunc(model, func(p peer) bool { return p.a == a && p.uses > 0 }); i >= 0 {
							want = core.FIAddr(i)
						}
						if got := av.Reverse(a); got != want {
							t.Fatal(a, got, want)
						}
					}
				}
				if av.Len() != n || len(events) != n {
					t.Fatal(av.Len(), len(events), n)
				}
			},
		})
	})
}

func peerNumber(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 12: byte(i >> 24), 13: byte(i >> 16),
		14: byte(i >> 8), 15: byte(i)}), 7471)
}

// TestMemory: a peer takes at most 64 bytes, with a million peers, and just after the index has doubled.
func TestMemory(t *testing.T) {
	few := 1
	if need.Raced {
		few = 16
	}
	for _, peers := range []int{1_000_000 / few, 1<<20/few/4*3 + 1} {
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		av := newTable(t, 0)
		a := make([]core.Addr, 1)
		for i := range peers {
			a[0].IP = peerNumber(i)
			if n, err := av.Insert(a, nil, 0); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		each := float64(heap()-before) / float64(peers)
		t.Logf("%d peers: %.1f bytes each", peers, each)
		if each > 64 {
			t.Errorf("%d peers: %.1f bytes each", peers, each)
		}
		if fi := av.ReverseAddrPort(peerNumber(peers - 1)); fi != core.FIAddr(peers-1) {
			t.Error(fi)
		}
		runtime.KeepAlive(av)
	}
}

func TestSubscriptions(t *testing.T) {
	av := newTable(t, 0)
	var log []string
	note := func(who string) (cancel func()) {
		c1 := av.OnInsert(func(fi core.FIAddr, a core.Addr) {
			if av.Reverse(a) != fi {
				t.Error("the subscriber was called before the address can be looked up")
			}
			log = append(log, fmt.Sprint(who, "+", fi))
		})
		c2 := av.OnRemove(func(fi core.FIAddr) { log = append(log, fmt.Sprint(who, "-", fi)) })
		return func() { c1(); c2() }
	}
	cancelA := note("a")
	fi := insert(t, av, "1.2.3.4:5")
	cancelB := note("b")
	insert(t, av, "1.2.3.4:5") // no call: the address is there already
	av.Remove([]core.FIAddr{fi}, 0)
	av.Remove([]core.FIAddr{fi}, 0)
	cancelA()
	cancelA()
	insert(t, av, "1.2.3.4:5")
	cancelB()
	av.Remove([]core.FIAddr{fi}, 0)
	if want := []string{"a+0", "a-0", "b-0", "b+0"}; !slices.Equal(log, want) {
		t.Error(log, want)
	}
}

func TestClose(t *testing.T) {
	av := newTable(t, 0)
	fi := insert(t, av, "1.2.3.4:5")
	av.Ref()
	if err := av.Close(); !errors.Is(err, core.ErrBusy) {
		t.Fatal(err)
	}
	av.Unref()
	if err := av.Close(); err != nil {
		t.Fatal(err)
	}
	if err := av.Close(); err != core.ErrBadF {
		t.Fatal(err)
	}
	if _, err := av.Lookup(fi); err != core.ErrInval || av.Reverse(addr("1.2.3.4:5")) != core.AddrNotAvail {
		t.Fatal(err)
	}
	if n, err := av.Insert([]core.Addr{addr("1.2.3.4:5")}, nil, core.InsertSyncErr); n != 0 ||
		!errors.Is(err, core.ErrBadF) {
		t.Fatal(n, err)
	}
}

func TestConcurrent(t *testing.T) {
	av := newTable(t, 0)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				a := core.Addr{IP: peerNumber(g<<16 | i%100)}
				var fi [1]core.FIAddr
				av.Insert([]core.Addr{a}, fi[:], 0)
				if got := av.Reverse(a); got != fi[0] {
					t.Error(got, fi)
				}
				if i%2 == 0 {
					av.Remove(fi[:], 0)
				}
				av.ReverseAddrPort(peerNumber(i))
				av.AddrPort(core.FIAddr(i % 300))
			}
		})
	}
	wg.Wait()
}

func BenchmarkReverse(b *testing.B) {
	for _, peers := range []int{16, 1024, 1 << 20} {
		b.Run(fmt.Sprint(peers), func(b *testing.B) {
			av := newTable(b, 0)
			for i := range peers {
				av.Insert([]core.Addr{{IP: peerNumber(i)}}, nil, 0)
			}
			aps := make([]netip.AddrPort, 1024)
			for i := range aps {
				aps[i] = peerNumber(i * 7919 % peers)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if av.ReverseAddrPort(aps[i&1023]) == core.AddrNotAvail {
					b.Fatal("absent")
				}
			}
		})
	}
}

func BenchmarkAddrPort(b *testing.B) {
	av := newTable(b, 0)
	for i := range 1024 {
		av.Insert([]core.Addr{{IP: peerNumber(i)}}, nil, 0)
	}
	b.ReportAllocs()
	for i := range b.N {
		if _, ok := av.AddrPort(core.FIAddr(i & 1023)); !ok {
			b.Fatal("absent")
		}
	}
}
