package rma

import (
	"bytes"
	"fmt"
	"testing"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// user records the calls that it gets.
type user struct {
	*End
	mem    []byte
	busy   bool
	events []string
}

func (u *user) note(format string, args ...any) {
	u.events = append(u.events, fmt.Sprintf(format, args...))
}
func (u *user) Message(conn int, b []byte) bool {
	if u.busy {
		return false
	}
	u.note("message %d %s", conn, b)
	return true
}
func (u *user) Finished(token uint64)                  { u.note("finished %d", token) }
func (u *user) Named(r wire.RMAIov, write bool) []byte { return u.mem[r.Addr:][:r.Len] }
func (u *user) Written(f *Frame, exposed bool)         { u.note("written %d %v", f.Len, exposed) }
func (u *user) Pump()                                  {}

func (u *user) want(t *testing.T, events ...string) {
	t.Helper()
	if fmt.Sprint(u.events) != fmt.Sprint(events) {
		t.Errorf("%q, want %q", u.events, events)
	}
	u.events = nil
}

func pair() (a, b *user) {
	a, b = &user{mem: make([]byte, 10)}, &user{mem: []byte("0123456789")}
	a.End, b.End = New(a), New(b)
	a.Peer, b.Peer = b.End, a.End
	return a, b
}

func parts(s ...string) (list [][]byte) {
	for _, p := range s {
		list = append(list, []byte(p))
	}
	return list
}

// TestMessages checks that messages are in order on each connection, and stay in the queue while the peer does not
// accept them.
func TestMessages(t *testing.T) {
	a, b := pair()
	a.AuxConns = 2
	for i, group := range []uint64{0, 1, 2, 3} {
		if done, err := a.Send([]byte(fmt.Sprint(i)), parts("x", "y"), i == 3, group, uint64(i)); done != (i < 3) ||
			err != nil {
			t.Fatal(done, err)
		}
	}
	b.busy = true
	if a.Deliver(1) || len(a.Out) != 4 {
		t.Fatal("taken")
	}
	b.busy = false
	for _, i := range []int{3, 1, 0, 0} {
		a.Deliver(i)
	}
	b.want(t, "message 2 3xy", "message 2 1xy", "message 0 0xy", "message 1 2xy")
	for len(b.Out) > 0 {
		b.Deliver(0)
	}
	a.want(t, "finished 3")
	a.Full = func() bool { return true }
	if _, err := a.Send(nil, nil, false, 0, 9); err != engine.ErrAgain {
		t.Error(err)
	}
}

// TestBorrowedPayload checks that payload is read when it is delivered or released.
func TestBorrowedPayload(t *testing.T) {
	a, b := pair()
	a.Lazy = true
	var lent []*Frame
	a.Queued = func(f *Frame) {
		if f.Lent {
			lent = append(lent, f)
		}
	}
	p := parts("one")
	for range 2 {
		if done, _ := a.Send(nil, p, false, 0, 5); done {
			t.Fatal("done")
		}
	}
	a.Release(lent[1])
	copy(p[0], "two")
	a.Deliver(0)
	a.Deliver(0)
	b.want(t, "message 0 two", "message 0 one")
	a.want(t, "finished 5")
}

// TestMemory reads and writes registered and exposed memory.
func TestMemory(t *testing.T) {
	a, b := pair()
	got := parts("....", "..")
	if err := a.Read(got, []wire.RMAIov{{Addr: 1, Len: 2}, {Addr: 4, Len: 4}}, 7); err != nil || a.Pending() != 1 {
		t.Fatal(err, a.Pending())
	}
	a.Deliver(0)
	b.Deliver(0)
	a.want(t, "finished 7")
	if s := bytes.Join(got, nil); string(s) != "124567" || a.Pending() != 0 {
		t.Errorf("%s", s)
	}
	room := parts("....", "....")
	ranges := make([]wire.RMAIov, 2)
	h, err := b.Expose(room, true, ranges)
	if err != nil || b.Exposed() != 2 {
		t.Fatal(err)
	}
	done, err := a.Store(parts("abc", "def"),
		Frame{Token: 8, Ranges: []wire.RMAIov{{Addr: 1, Len: 3, Key: ranges[0].Key}, {Len: 3, Key: ranges[1].Key}},
			Delivery: true})
	if done || err != nil {
		t.Fatal(done, err)
	}
	a.Deliver(0)
	b.Deliver(0)
	a.want(t, "finished 8")
	b.want(t, "written 6 true")
	if s := bytes.Join(room, nil); string(s) != ".abcdef." || b.Accessed(h) != 6 {
		t.Errorf("%s, %d accessed", s, b.Accessed(h))
	}
	if b.Conceal(h); b.Exposed() != 0 {
		t.Error("still exposed")
	}
	if done, _ = a.Store(parts("X"), Frame{Ranges: []wire.RMAIov{{Addr: 9, Len: 1}}}); !done ||
		!a.Deliver(0) || b.mem[9] != 'X' {
		t.Errorf("%s", b.mem)
	}
	b.want(t, "written 1 false")
	a.Break()
	if _, err := b.Send([]byte("x"), nil, false, 0, 1); err != nil || len(b.Out) != 0 || !a.Broken {
		t.Error("the frame was not lost")
	}
}
