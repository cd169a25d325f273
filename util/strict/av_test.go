package strict

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"gofabric/core"
)

// TestVectorKnows checks to which addresses an application may send after it has filled a vector in some way.
func TestVectorKnows(t *testing.T) {
	addr, none := core.IPAddr(netip.MustParseAddrPort("10.0.0.1:1")), core.Addr{}
	failed := errors.New("failed")
	insert := func(v *vector, room int, flags core.InsertFlags, addrs ...core.Addr) {
		_, _ = v.Insert(addrs, make([]core.FIAddr, room), flags)
	}
	for _, c := range []struct {
		name          string
		attr          core.AVAttr
		fill          func(v *vector, f *fakeAV)
		known, others []core.FIAddr
	}{
		{"empty", core.AVAttr{}, func(*vector, *fakeAV) {}, nil, []core.FIAddr{0, 1}},
		{"inserted", core.AVAttr{}, func(v *vector, _ *fakeAV) { insert(v, 2, 0, addr, addr) }, []core.FIAddr{0, 1}, []core.FIAddr{2, core.AddrNotAvail}},
		{"one refused", core.AVAttr{}, func(v *vector, _ *fakeAV) { insert(v, 2, 0, none, addr) }, []core.FIAddr{0}, []core.FIAddr{1, core.AddrNotAvail}},
		{"removed", core.AVAttr{}, func(v *vector, _ *fakeAV) {
			insert(v, 2, 0, addr, addr)
			_ = v.Remove([]core.FIAddr{0}, 0)
		}, []core.FIAddr{1}, []core.FIAddr{0}},
		{"not removed", core.AVAttr{}, func(v *vector, f *fakeAV) {
			insert(v, 1, 0, addr)
			f.fail = failed
			_ = v.Remove([]core.FIAddr{0}, 0)
		}, []core.FIAddr{0}, []core.FIAddr{1}},
		{"by service", core.AVAttr{}, func(v *vector, _ *fakeAV) { _, _ = v.InsertSvc("a", "1", 0) }, []core.FIAddr{0}, []core.FIAddr{1}},
		{"by a service that there is not", core.AVAttr{}, func(v *vector, f *fakeAV) {
			f.fail = failed
			_, _ = v.InsertSvc("a", "1", 0)
		}, nil, []core.FIAddr{0}},
		{"by names in order", core.AVAttr{}, func(v *vector, _ *fakeAV) { _, _ = v.InsertSym("a0", 2, "1", 2, make([]core.FIAddr, 4), 0) }, []core.FIAddr{0, 3}, []core.FIAddr{4}},
		{"contexts of a peer", core.AVAttr{RxCtxBits: 4}, func(v *vector, _ *fakeAV) { insert(v, 1, 0, addr) }, []core.FIAddr{0, core.RxAddr(0, 15, 4)}, []core.FIAddr{1}},
		{"the application did not take the indices", core.AVAttr{}, func(v *vector, _ *fakeAV) { insert(v, 0, 0, addr) }, []core.FIAddr{0, 9}, nil},
		{"nor those of names", core.AVAttr{}, func(v *vector, _ *fakeAV) { _, _ = v.InsertSym("a0", 2, "1", 2, nil, 0) }, []core.FIAddr{0, 9}, nil},
		{"events tell all", core.AVAttr{Flags: core.AVEvent}, func(*vector, *fakeAV) {}, []core.FIAddr{0, 9}, nil},
	} {
		b := newBelow(t, Kind{})
		opened, err := b.d.OpenAV(c.attr, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := opened.(*vector)
		c.fill(v, v.AVDriver.(*fakeAV))
		for _, fi := range c.known {
			if !v.has(fi) {
				t.Errorf("%s: %#x is unknown", c.name, fi)
			}
		}
		for _, fi := range c.others {
			if v.has(fi) {
				t.Errorf("%s: %#x is known, and must not be", c.name, fi)
			}
		}
		if said := strings.Contains(b.log.String(), "some addresses were refused"); said != (c.name == "one refused") {
			t.Errorf("%s: the hook says %q", c.name, &b.log)
		}
	}
}

func TestVectorRefused(t *testing.T) {
	b := newBelow(t, Kind{})
	if _, err := b.d.OpenAV(core.AVAttr{Name: "shared"}, nil); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("a shared vector of a provider that has none: %v", err)
	}
	b = newBelow(t, Kind{Caps: core.CapSharedAV})
	if _, err := b.d.OpenAV(core.AVAttr{Name: "shared"}, nil); err != nil {
		t.Errorf("a shared vector of a provider that has some: %v", err)
	}
}
