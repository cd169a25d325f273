package conform

// Further functions of address vectors: sets, events, identifiers, and sharing (fi_av(3), fi_av_set(3)).

import (
	"slices"
	"testing"

	"gofabric/core"
)

func testVectors(t *testing.T, st Stack) {
	if st.EPType == core.EPTypeMsg {
		return // connected endpoints do not use a vector; RDM stacks test it
	}
	t.Run("set", func(t *testing.T) { avSets(t, st) })
	t.Run("events", func(t *testing.T) { avEvents(t, st) })
	t.Run("user-id", func(t *testing.T) { avUserID(t, st) })
	t.Run("user-id-insert", func(t *testing.T) { avUserIDInsert(t, st) })
	t.Run("shared", func(t *testing.T) { avShared(t, st) })
	t.Run("shared-moves", func(t *testing.T) { avSharedMoves(t, st) })
	t.Run("shared-reader", func(t *testing.T) { avSharedReader(t, st) })
}

// avSets combines sets. A set keeps its vector open.
func avSets(t *testing.T, st Stack) {
	p := Open(t, st)
	av := must(t, "OpenAV", func() (*core.AddressVector, error) { return p.A.Domain.OpenAV(core.AVAttr{Type: core.AVTable}) })
	if n, err := av.InsertSym("10.9.8.1", 4, "7000", 2, nil, 0); n != 8 || err != nil {
		if n, err = av.InsertSym("2001:db8::1", 4, "7000", 2, nil, 0); n != 8 || err != nil {
			t.Fatalf("InsertSym: %d, %v", n, err)
		}
	}
	open := func(attr core.AVSetAttr) *core.AVSet {
		return must(t, "OpenSet", func() (*core.AVSet, error) { return av.OpenSet(attr) })
	}
	want := func(s *core.AVSet, want ...core.FIAddr) {
		t.Helper()
		if got := s.Members(); !slices.Equal(got, want) {
			t.Errorf("members %v, want %v", got, want)
		}
	}
	all, even, empty := open(core.AVSetAttr{Flags: core.AVSetUniverse}),
		open(core.AVSetAttr{StartAddr: 0, EndAddr: 7, Stride: 2, Count: 4}), open(core.AVSetAttr{})
	want(all, 0, 1, 2, 3, 4, 5, 6, 7)
	want(even, 0, 2, 4, 6)
	p.A.ok("Diff", all.Diff(even))
	want(all, 1, 3, 5, 7)
	p.A.ok("Remove", all.Remove(3))
	p.A.ok("Insert", all.Insert(4))
	want(all, 1, 5, 7, 4)
	refuse(t, "insertion of a member", all.Insert(4), core.ErrInval)
	refuse(t, "insertion of no address", all.Insert(8), core.ErrInval)
	refuse(t, "removal of no member", all.Remove(0), core.ErrInval)
	p.A.ok("Union", empty.Union(all))
	p.A.ok("Union", empty.Union(even))
	want(empty, 1, 5, 7, 4, 0, 2, 6)
	p.A.ok("Intersect", empty.Intersect(even))
	want(empty, 4, 0, 2, 6)
	if a, b := all.Addr(), even.Addr(); a == b || a == core.AddrNotAvail || b == core.AddrNotAvail {
		t.Errorf("collective addresses %#x and %#x", a, b)
	}
	refuse(t, "Close of a vector with open sets", av.Close(), core.ErrBusy)
	for _, s := range []*core.AVSet{all, even, empty} {
		p.A.ok("Close of a set", s.Close())
	}
	p.A.ok("Close AV", av.Close())
}
