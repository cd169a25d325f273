package av

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/wait"
)

// heard is an Events that records its calls.
type heard chan outcome

type outcome struct {
	n, position int
	err         core.Errno
	context     any
}

func (h heard) Inserted(n int, context any) { h <- outcome{n: n, position: -1, context: context} }
func (h heard) Refused(position int, err core.Errno, _ string, context any) {
	h <- outcome{position: position, err: err, context: context}
}

func (h heard) want(t *testing.T, want ...outcome) {
	t.Helper()
	for i, w := range want {
		select {
		case got := <-h:
			if got != w {
				t.Errorf("event %d: %+v, want %+v", i, got, w)
			}
		case <-time.After(wait.Limit):
			t.Fatalf("no event %d: want %+v", i, w)
		}
	}
	select {
	case got := <-h:
		t.Errorf("another event: %+v", got)
	default:
	}
}

func TestInsertLater(t *testing.T) {
	hold := make(chan struct{})
	resolve := func(node, service string) ([]netip.AddrPort, error) {
		<-hold
		if node == "nobody" {
			return nil, core.ErrNoData
		}
		return []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:7")}, nil
	}
	av, err := New(core.AVAttr{Flags: core.AVEvent}, 0, resolve)
	if err != nil {
		t.Fatal(err)
	}
	list := []core.Addr{addr("10.0.0.2:1"), {}, addr("10.0.0.3:1"), addr("10.0.0.4:0")}
	if _, err := av.Insert(list, nil, 0, "early"); !errors.Is(err, core.ErrNoEQ) {
		t.Error("before an event queue:", err)
	}
	h := make(heard, 16)
	if err := av.BindEvents(h); err != nil {
		t.Fatal(err)
	}
	if err := av.BindEvents(h); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
	svc, fi := make([]core.FIAddr, 1), make([]core.FIAddr, 4)
	if n, err := av.InsertSym("host", 1, "7", 1, svc, 0, "sym"); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := av.Insert(list, fi, 0, "list"); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	list[0] = core.Addr{} // the caller may use list again
	if at, err := av.InsertSvc("nobody", "7", 0, 3); at != core.AddrNotAvail || err != nil {
		t.Fatal(at, err)
	}
	if err := av.Close(); !errors.Is(err, core.ErrBusy) {
		t.Error("Close while insertions are in progress:", err)
	}
	if av.Len() != 0 || len(h) != 0 {
		t.Error("an insertion did not wait for the one before it")
	}
	close(hold)
	h.want(t,
		outcome{n: 1, position: -1, context: "sym"},
		outcome{position: 1, err: core.ErrAddrNotAvail, context: "list"},
		outcome{position: 3, err: core.ErrAddrNotAvail, context: "list"},
		outcome{n: 2, position: -1, context: "list"},
		outcome{position: 0, err: core.ErrNoData, context: 3}, outcome{n: 0, position: -1, context: 3})
	if svc[0] != 0 || !slices.Equal(fi, []core.FIAddr{1, core.AddrNotAvail, 2, core.AddrNotAvail}) {
		t.Error(svc, fi)
	}
	if _, err := av.Insert(nil, nil, 0, "none"); err != nil {
		t.Error(err)
	}
	h.want(t, outcome{position: -1, context: "none"})
	if err := av.Close(); err != nil {
		t.Error("Close after the last event:", err)
	}
	if err := newTable(t, 0).BindEvents(h); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
}

func TestInsertLaterIsBounded(t *testing.T) {
	hold := make(chan struct{})
	av, _ := New(core.AVAttr{Flags: core.AVEvent}, 0,
		func(string, string) ([]netip.AddrPort, error) { <-hold; return nil, core.ErrNoData })
	h := make(heard, 2*maxQueued+8)
	if err := av.BindEvents(h); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; ; n++ {
		if _, err := av.InsertSvc("host", "7", 0); err != nil {
			if !errors.Is(err, core.ErrAgain) {
				t.Error(err)
			}
			break
		}
		if n > maxQueued+1 {
			t.Fatal("without bound")
		}
	}
	close(hold)
	for range 2 * n {
		<-h
	}
	if err := av.Close(); err != nil {
		t.Error(err)
	}
}
