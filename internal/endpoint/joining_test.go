package endpoint_test

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

const room = 1 << 16 // bytes that a connection stages

// TestJoin: the members of a group agree, whoever asks first. Groups that share members do not disturb each other.
func TestJoin(t *testing.T) {
	for n := 1; n <= 5; n++ {
		m := newMesh(t, n, room, 0)
		var members []int
		for i := range n {
			members = append(members, i)
		}
		for turn := range n {
			mc := make([]*core.MC, n)
			for k := range n { // each begins once, and the next one asks when its request is there
				i := (turn + k) % n
				mc[i] = m.join(i, members...)
				if m.flow(); k < n-1 {
					m.event(i, mc[i], "")
				}
			}
			for i := range n {
				m.event(i, mc[i], "joined")
			}
			for i, g := range mc {
				must(t, m.all[i].Barrier(g.Addr(), core.OpContext(turn+1)))
			}
			m.flow()
			for i, g := range mc {
				m.ends(i)
				must(t, g.Close())
				if err := g.Close(); err != core.ErrBadF {
					t.Errorf("Close again: %v", err)
				}
			}
			m.flow()
		}
	}
	m := newMesh(t, 4, room, 0)
	a, b := m.joined(0, 1, 2), m.joined(3, 1, 2)
	for _, mc := range [][]*core.MC{a, b} {
		for rank, i := range []int{0, 1, 2} {
			if &mc[0] == &b[0] && rank == 0 {
				i = 3
			}
			must(t, m.all[i].Barrier(mc[rank].Addr(), 7))
		}
		m.flow()
		m.wantEnds(1, "7")
		m.wantEnds(2, "7")
	}
	m.wantEnds(0, "7")
	m.wantEnds(3, "7")
}

// TestJoinRefused: calls to join that fail at once, and what they say.
func TestJoinRefused(t *testing.T) {
	m := newMesh(t, 2, room, 0)
	x := m.all[0]
	good := m.set(x, []int{0, 1}, 0)
	try := func(what string, e *core.Endpoint, addr core.FIAddr, set *core.AVSet, flags core.JoinFlags, want core.Errno, hint string) {
		t.Helper()
		_, err := e.JoinCollective(addr, set, flags, nil)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), hint) || !strings.Contains(err.Error(), "fi_join_collective") {
			t.Errorf("%s: %v, want %v and %q", what, err, want, hint)
		}
	}
	try("unknown flags", x.Endpoint, good.Addr(), good, 1<<40, core.ErrBadFlags, "flags must be 0")
	try("no set", x.Endpoint, core.AddrNotAvail, nil, 0, core.ErrInval, "address vector")
	try("set of another vector", x.Endpoint, core.AddrNotAvail, m.set(m.all[1], []int{0, 1}, 0), 0, core.ErrInval, "address vector")
	try("address of no group", x.Endpoint, 1, good, 0, core.ErrInval, "a set or of a group")
	try("no member itself", x.Endpoint, core.AddrNotAvail, m.set(x, []int{1}, 0), 0, core.ErrInval, "one of the members")
	try("an empty set", x.Endpoint, core.AddrNotAvail, m.set(x, nil, 0), 0, core.ErrInval, "one of the members")

	e := opened(t, m.d.OpenEndpoint, meshInfo(5))
	try("not enabled", e, core.AddrNotAvail, good, 0, core.ErrOpBadState, "enable")
	must(t, errors.Join(e.BindCQ(x.q, core.BindTransmit|core.BindRecv), e.BindAV(x.v, 0), e.Enable()))
	try("no event queue", e, core.AddrNotAvail, good, 0, core.ErrNoEQ, "bind an event queue")
	must(t, e.Close())
	info := meshInfo(5)
	info.Caps &^= core.CapCollective
	e = opened(t, m.d.OpenEndpoint, info)
	try("no capability", e, core.AddrNotAvail, good, 0, core.ErrOpNotSupp, "CapCollective")
	must(t, e.Close())
	m.event(0, nil, "")

	for _, addr := range []core.FIAddr{good.Addr(), core.AddrNotAvail} {
		mc, err := x.JoinCollective(addr, good, core.JoinCollective, nil)
		must(t, err)
		must(t, mc.Close())
		m.flow()
		m.all[0].eq.Read(&core.EQEvent{}, 0)
	}
}

// TestWithdrawn: a member closes its group before the join is complete, and joins again. The others notice nothing.
func TestWithdrawn(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	members := []int{0, 1, 2}
	var mc [3]*core.MC
	mc[0], mc[1] = m.join(0, members...), m.join(1, members...)
	m.flow()
	must(t, mc[1].Close())
	m.flow()
	m.event(0, mc[0], "")
	m.event(1, mc[1], "")
	mc[2] = m.join(2, members...)
	m.flow()
	for i := range 3 {
		m.event(i, mc[i], "")
	}
	mc[1] = m.join(1, members...)
	m.flow()
	for i := range 3 {
		m.event(i, mc[i], "joined")
		must(t, m.all[i].Barrier(mc[i].Addr(), 1))
	}
	m.flow()
	for i := range 3 {
		m.wantEnds(i, "1")
	}
}

// TestWithdrawnLate: a member gives up when the answer is on its way. The others have joined, and their group fails.
func TestWithdrawnLate(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	var mc [3]*core.MC
	m.held = [2]int{0, 1}
	for i := range 3 {
		mc[i] = m.join(i, 0, 1, 2)
	}
	m.flow()
	m.event(0, mc[0], "joined")
	m.event(1, mc[1], "")
	m.event(2, mc[2], "joined")
	must(t, m.all[2].Barrier(mc[2].Addr(), 2))
	must(t, m.all[2].Broadcast(make([]byte, 4), 1, 0, mc[2].Addr(), 2, core.Uint32, 0, 4)) // 1 keeps it while it is joining
	m.flow()
	must(t, mc[1].Close())
	m.held = [2]int{}
	m.flow()
	m.event(1, mc[1], "")
	m.wantEnds(2, "2: Connection reset by peer, 4") // 1 has refused the broadcast
	for i, want := range map[int]error{0: core.ErrCanceled, 2: core.ErrConnReset} {
		if err := m.all[i].Barrier(mc[i].Addr(), 3); err != want {
			t.Errorf("endpoint %d: a later operation: %v, want %v", i, err, want)
		}
	}
}

// TestRankZeroWithdraws: rank 0 gives up. The join fails at the member that has asked. The one whose request has not
// arrived takes part in the next attempt.
func TestRankZeroWithdraws(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	var mc [3]*core.MC
	m.held = [2]int{2, 0} // the request of 2
	for i := range 3 {
		mc[i] = m.join(i, 0, 1, 2)
	}
	m.flow()
	must(t, mc[0].Close())
	m.flow()
	m.event(0, mc[0], "")
	m.event(1, mc[1], "Operation canceled")
	if err := m.all[1].Barrier(mc[1].Addr(), 3); err != core.ErrCanceled {
		t.Errorf("an operation of the group: %v", err)
	}
	m.held = [2]int{}
	m.flow()
	m.event(2, mc[2], "") // its request may be for the next attempt
	must(t, mc[1].Close())
	mc[0], mc[1] = m.join(0, 0, 1, 2), m.join(1, 0, 1, 2)
	m.flow()
	for i := range 3 {
		m.event(i, mc[i], "joined")
	}
}

// TestJoinMemberFails: the connection to a member fails during the join. All members of the group learn of it.
func TestJoinMemberFails(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	var mc [3]*core.MC
	mc[0], mc[1] = m.join(0, 0, 1, 2), m.join(1, 0, 1, 2)
	m.flow()
	m.cut(0, 2)
	m.flow()
	m.event(0, mc[0], "Connection reset by peer")
	m.event(1, mc[1], "Connection reset by peer")
	mc[2] = m.join(2, 0, 1, 2)
	m.flow()
	m.event(2, mc[2], "No route to host")

	m = newMesh(t, 4, room, 0) // the request of 3 has not arrived
	m.held = [2]int{3, 0}
	mc[0] = m.join(0, 0, 1, 2, 3)
	late := m.join(3, 0, 1, 2, 3)
	m.flow()
	m.cut(0, 2)
	m.flow()
	m.event(0, mc[0], "Connection reset by peer")
	m.event(3, late, "Connection reset by peer")

	m = newMesh(t, 2, room, 0)
	mc[1] = m.join(1, 0, 1)
	m.flow()
	m.cut(0, 1)
	m.flow()
	m.event(1, mc[1], "Connection reset by peer")
}

// TestJoinNative: a native peer has no collective operations.
func TestJoinNative(t *testing.T) {
	for _, at := range []int{0, 1} {
		m := newMesh(t, 2, room, 0)
		m.all[at].drv.conns[1-at].Ours = false
		mc := m.join(at, 0, 1)
		m.flow()
		m.event(at, mc, "Operation not supported")
	}
}

// TestJoinNoRoom: a request to join waits until its connection has room.
func TestJoinNoRoom(t *testing.T) {
	m := newMesh(t, 2, 64, 0)
	m.held = [2]int{1, 0}
	c := m.all[1].drv.conns[0]
	for m.all[1].Inject(make([]byte, 32), 0) == nil {
		must(t, m.all[0].Recv(make([]byte, 32), 0, core.AddrUnspec, 1))
	}
	queued := 0
	m.locked(func() { queued = c.Queued() })
	mc := []*core.MC{m.join(0, 0, 1), m.join(1, 0, 1)}
	m.flow()
	m.locked(func() {
		if c.Queued() != queued {
			t.Error("the request was queued, though there is no room")
		}
	})
	m.held = [2]int{}
	m.flow()
	for i := range 2 {
		m.event(i, mc[i], "joined")
	}
}

// TestJoinClosedEndpoint: an endpoint closes during a join. The others see its connections end.
func TestJoinClosedEndpoint(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	mc := []*core.MC{m.join(0, 0, 1, 2), m.join(1, 0, 1, 2)}
	m.flow()
	must(t, m.all[1].Endpoint.Close())
	if err := mc[1].Close(); err != nil {
		t.Errorf("Close of the group: %v", err)
	}
	m.locked(func() { m.all[0].drv.conns[1].Fail(engine.ErrPeerClose) })
	m.flow()
	m.event(0, mc[0], "Connection reset by peer")
}
