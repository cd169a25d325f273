package av

import (
	"errors"
	"fmt"
	"testing"

	"gofabric/core"
)

func TestUserIDByInsert(t *testing.T) {
	av := newTable(t, 0)
	plain := insert(t, av, "10.0.0.9:1")
	fi := []core.FIAddr{1 << 50, 77}
	list := []core.Addr{addr("10.0.0.1:1"), addr("10.0.0.2:1")}
	if n, err := av.Insert(list, fi, core.InsertUserID); n != 2 || err != nil || fi[0] != 1 || fi[1] != 2 {
		t.Fatal(n, err, fi)
	}
	check := func(fi, want core.FIAddr) {
		t.Helper()
		if got := av.UserID(fi); got != want {
			t.Errorf("UserID(%d) = %d, want %d", fi, got, want)
		}
	}
	check(plain, plain)
	check(1, 1<<50)
	check(2, 77)
	check(5000, 5000)
	check(core.AddrNotAvail, core.AddrNotAvail)
	fi[0] = 78 // inserted again: the newer identifier counts
	if _, err := av.Insert(list[1:], fi[:1], core.InsertUserID); err != nil {
		t.Fatal(err)
	}
	check(2, 78)
	if err := av.Remove([]core.FIAddr{1, 2, 2}, 0); err != nil {
		t.Fatal(err)
	}
	check(2, 2)
	for i := range 300 { // more than the initial room for identifiers
		if got := insert(t, av, fmt.Sprintf("10.0.1.1:%d", 1000+i)); i == 299 {
			check(got, got)
		}
	}
	if err := av.SetUserID(plain, 5, 0); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
	if _, err := av.Insert(list, nil, core.InsertUserID); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
	if _, err := av.InsertSvc("10.0.0.1", "1", core.InsertUserID); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
}

func TestUserIDByCall(t *testing.T) {
	av, err := New(core.AVAttr{Flags: core.AVUserID}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	fi := insert(t, av, "10.0.0.1:1")
	if got := av.UserID(fi); got != core.AddrNotAvail {
		t.Error("unset:", got)
	}
	if err := av.SetUserID(fi, 1234, 0); err != nil || av.UserID(fi) != 1234 {
		t.Error(err, av.UserID(fi))
	}
	if err := av.SetUserID(fi+1, 1, 0); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
	if err := av.SetUserID(fi, 1, core.InsertAuthKey); !errors.Is(err, core.ErrBadFlags) {
		t.Error(err)
	}
	if _, err := av.Insert([]core.Addr{addr("10.0.0.2:1")}, make([]core.FIAddr, 1), core.InsertUserID); !errors.Is(err,
		core.ErrBadFlags) {
		t.Error(err)
	}
	if err := av.Remove([]core.FIAddr{fi}, 0); err != nil {
		t.Fatal(err)
	}
	if fi := insert(t, av, "10.0.0.3:1"); av.UserID(fi) != core.AddrNotAvail {
		t.Error("a reused index has the identifier of its previous address")
	}
	if n := testing.AllocsPerRun(100, func() { av.UserID(fi) }); n != 0 {
		t.Error(n)
	}
}
