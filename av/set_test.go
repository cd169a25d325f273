package av

import (
	"errors"
	"slices"
	"testing"

	"gofabric/core"
	"pgregory.net/rapid"
)

func fill(t testing.TB, av *Table, n int) []core.FIAddr {
	t.Helper()
	fi := make([]core.FIAddr, n)
	if got, err := av.InsertSym("10.0.0.1", n, "7000", 1, fi, 0); got != n || err != nil {
		t.Fatal(got, err)
	}
	return fi
}

func TestSetAttr(t *testing.T) {
	av := newTable(t, 0)
	fill(t, av, 10)
	if err := av.Remove([]core.FIAddr{4, 9}, 0); err != nil {
		t.Fatal(err)
	}
	no := core.AddrNotAvail
	for _, c := range []struct {
		attr core.AVSetAttr
		want []core.FIAddr
		err  error
	}{
		{core.AVSetAttr{}, nil, nil},
		{core.AVSetAttr{StartAddr: no, EndAddr: no}, nil, nil},
		{core.AVSetAttr{Flags: core.AVSetUniverse}, []core.FIAddr{0, 1, 2, 3, 5, 6, 7, 8}, nil},
		{core.AVSetAttr{StartAddr: 2, EndAddr: 8, Stride: 2}, []core.FIAddr{2, 6, 8}, nil},
		{core.AVSetAttr{StartAddr: 3, EndAddr: 1 << 40, Stride: 1, Count: 5}, []core.FIAddr{3, 5, 6, 7, 8}, nil},
		{core.AVSetAttr{StartAddr: 0, EndAddr: 0, Stride: 1}, []core.FIAddr{0}, nil},
		{core.AVSetAttr{StartAddr: 1, EndAddr: no - 1, Stride: 1 << 63}, []core.FIAddr{1}, nil},
		{core.AVSetAttr{StartAddr: 0, EndAddr: 8, Stride: 1, Count: 7}, nil, core.ErrInval},
		{core.AVSetAttr{StartAddr: 3, EndAddr: 2, Stride: 1}, nil, core.ErrInval},
		{core.AVSetAttr{StartAddr: 3, EndAddr: 5}, nil, core.ErrInval},
		{core.AVSetAttr{StartAddr: 3, EndAddr: no, Stride: 1}, nil, core.ErrInval},
		{core.AVSetAttr{StartAddr: 3, EndAddr: 4, Stride: 1, Flags: core.AVSetUniverse}, nil, core.ErrInval},
		{core.AVSetAttr{Count: -1}, nil, core.ErrInval},
		{core.AVSetAttr{CommKey: []byte{1}}, nil, core.ErrOpNotSupp},
		{core.AVSetAttr{Flags: 1 << 10}, nil, core.ErrBadFlags},
	} {
		s, err := av.OpenSet(c.attr)
		if !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, want %v", c.attr, err, c.err)
		}
		if err != nil {
			continue
		}
		if got := s.Members(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.attr, got, c.want)
		}
		if s.Close() != nil || s.Close() == nil || s.Insert(1) == nil {
			t.Error("Close")
		}
	}
}

func TestSetKeepsVector(t *testing.T) {
	av := newTable(t, 0)
	fi := fill(t, av, 2)
	a, _ := av.OpenSet(core.AVSetAttr{Flags: core.AVSetUniverse | core.AVSetBarrier})
	b, _ := av.OpenSet(core.AVSetAttr{})
	other, _ := newTable(t, 0).OpenSet(core.AVSetAttr{})
	if a.Addr() == b.Addr() || a.Addr() == core.AddrNotAvail || a.(*Set).Flags() != core.AVSetBarrier ||
		b.(*Set).Flags() != core.AVSetCollectives {
		t.Error(a.Addr(), b.Addr())
	}
	if _, err := av.Lookup(a.Addr()); err == nil {
		t.Error("the address of a set is an index")
	}
	for _, err := range []error{a.Combine(core.SetUnion, other), a.Combine(core.SetIntersect, other),
		a.Combine(core.SetDiff, other), a.Insert(fi[0]), a.Insert(77), b.Remove(fi[0])} {
		if !errors.Is(err, core.ErrInval) {
			t.Error(err)
		}
	}
	if err := av.Close(); !errors.Is(err, core.ErrBusy) {
		t.Error(err)
	}
	a.(*Set).Ref()
	if err := a.Close(); !errors.Is(err, core.ErrBusy) {
		t.Error(err)
	}
	a.(*Set).Unref()
	if err := errors.Join(a.Close(), b.Close(), av.Close()); err != nil {
		t.Error(err)
	}
	if _, err := av.OpenSet(core.AVSetAttr{}); err == nil {
		t.Error("a closed vector made a set")
	}
}

// TestSetModel compares sets with lists.
func TestSetModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		av, err := New(core.AVAttr{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]core.FIAddr, 40)
		if n, err := av.InsertSym("10.0.0.1", 40, "7000", 1, all, 0); n != 40 || err != nil {
			t.Fatal(n, err)
		}
		var sets [3]core.AVSetDriver
		var want [3][]core.FIAddr
		for i := range sets {
			if sets[i], err = av.OpenSet(core.AVSetAttr{Count: rapid.IntRange(0, 9).Draw(t, "count")}); err != nil {
				t.Fatal(err)
			}
		}
		pick := func() int { return rapid.IntRange(0, len(sets)-1).Draw(t, "set") }
		in := func(l []core.FIAddr) func(core.FIAddr) bool {
			return func(fi core.FIAddr) bool { return slices.Contains(l, fi) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				i, fi := pick(), rapid.SampledFrom(all).Draw(t, "fi")
				if there := in(want[i])(fi); (sets[i].Insert(fi) != nil) != there {
					t.Fatalf("insert of %d, there: %v", fi, there)
				} else if !there {
					want[i] = append(want[i], fi)
				}
			},
			"remove": func(t *rapid.T) {
				i, fi := pick(), rapid.SampledFrom(all).Draw(t, "fi")
				if there := in(want[i])(fi); (sets[i].Remove(fi) == nil) != there {
					t.Fatalf("removal of %d, there: %v", fi, there)
				}
				want[i] = slices.DeleteFunc(want[i], func(m core.FIAddr) bool { return m == fi })
			},
			"union": func(t *rapid.T) {
				i, j := pick(), pick()
				for _, fi := range slices.Clone(want[j]) {
					if !in(want[i])(fi) {
						want[i] = append(want[i], fi)
					}
				}
				if err := sets[i].Combine(core.SetUnion, sets[j]); err != nil {
					t.Fatal(err)
				}
			},
			"intersect": func(t *rapid.T) {
				i, j := pick(), pick()
				other := in(slices.Clone(want[j]))
				want[i] = slices.DeleteFunc(want[i], func(fi core.FIAddr) bool { return !other(fi) })
				if err := sets[i].Combine(core.SetIntersect, sets[j]); err != nil {
					t.Fatal(err)
				}
			},
			"diff": func(t *rapid.T) {
				i, j := pick(), pick()
				want[i] = slices.DeleteFunc(want[i], in(slices.Clone(want[j])))
				if err := sets[i].Combine(core.SetDiff, sets[j]); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				for i, s := range sets {
					if got := s.Members(); !slices.Equal(got, want[i]) {
						t.Fatalf("set %d: %v, want %v", i, got, want[i])
					}
				}
			},
		})
	})
}
