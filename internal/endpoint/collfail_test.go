package endpoint_test

// Collective operations that fail: at which members, and what is left.

import (
	"bytes"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// TestAbort: a member leaves during an operation. It fails at all members, also at those that need nothing from
// this one, and so does every later one.
func TestAbort(t *testing.T) {
	m := newMesh(t, 5, room, 0)
	mc := m.joined(0, 1, 2, 3, 4)
	for i := range 4 {
		must(t, m.all[i].Barrier(mc[i].Addr(), 1))
	}
	m.flow()
	must(t, mc[2].Close())
	m.flow()
	for i := range 4 {
		m.wantEnds(i, "1: Operation canceled")
	}
	for _, i := range []int{0, 1, 3, 4} { // 4 has not taken part
		if err := m.all[i].Barrier(mc[i].Addr(), 2); err != core.ErrCanceled {
			t.Errorf("member %d, a later operation: %v", i, err)
		}
	}
	m.usable(t)
}

// usable checks that all endpoints can join another group and use it.
func (m *mesh) usable(t *testing.T) {
	t.Helper()
	for i, g := range m.joinAll(0) {
		must(t, m.all[i].Barrier(g.Addr(), 99))
	}
	m.flow()
	for i := range m.all {
		m.wantEnds(i, "99")
	}
}

// TestMemberFails: the connection to a member fails during an operation. The failure spreads to members whose
// connections are up.
func TestMemberFails(t *testing.T) {
	m := newMesh(t, 4, room, 0)
	mc := m.joined(0, 1, 2, 3)
	for _, i := range []int{0, 1, 2} {
		must(t, m.all[i].Barrier(mc[i].Addr(), 1))
	}
	m.flow()
	for i := range 3 {
		m.cut(i, 3)
	}
	m.flow()
	for i := range 3 {
		m.wantEnds(i, "1: Connection reset by peer")
	}
	must(t, m.all[3].Barrier(mc[3].Addr(), 2)) // it notices when it sends
	m.flow()
	m.wantEnds(3, "2: No route to host")
	g := m.joined(0, 1, 2)
	for i := range 3 {
		must(t, m.all[i].Barrier(g[i].Addr(), 3))
	}
	m.flow()
	for i := range 3 {
		m.wantEnds(i, "3")
	}
}

// TestIdleGroup: a connection that no operation needs fails. The group is not affected, until an operation does.
func TestIdleGroup(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	mc := m.joined(0, 1, 2)
	m.cut(0, 1)
	m.flow()
	buf := make([]byte, 4)
	for i := range 3 { // the members 1 and 2 send to the root, which is 2
		must(t, m.all[i].Gather(buf, 1, 0, make([]byte, 12), 0, mc[i].Addr(), 2, core.Uint32, 0, 1))
	}
	m.flow()
	for i := range 3 {
		m.wantEnds(i, "1")
		m.all[i].Barrier(mc[i].Addr(), 2)
	}
	m.flow()
	for i := range 3 {
		if got := m.ends(i); got == "2" || got == "" {
			t.Errorf("member %d: %q, want a failure", i, got)
		}
	}
}

// TestEarlyStep: a member is a step ahead. Its message arrives where the join is not complete yet, and is kept.
func TestEarlyStep(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	var mc []*core.MC
	for i := range 3 {
		mc = append(mc, m.join(i, 0, 1, 2))
	}
	m.held = [2]int{0, 2} // the answer to 2
	m.flow()
	m.event(1, mc[1], "joined")
	m.event(2, mc[2], "")
	for _, i := range []int{0, 1} {
		must(t, m.all[i].Barrier(mc[i].Addr(), 1))
	}
	m.flow()
	m.held = [2]int{}
	m.flow()
	m.event(2, mc[2], "joined")
	m.event(0, mc[0], "joined")
	must(t, m.all[2].Barrier(mc[2].Addr(), 1))
	m.flow()
	for i := range 3 {
		m.wantEnds(i, "1")
	}
}

// TestMoved: a connection is replaced while a message is expected on it. The member counts as lost when the new one
// fails.
func TestMoved(t *testing.T) {
	m := newMesh(t, 2, room, 0)
	mc := m.joined(0, 1)
	must(t, m.all[0].Barrier(mc[0].Addr(), 1))
	m.flow()
	m.locked(func() {
		e := m.all[0].drv
		old := e.conns[1]
		e.conns[1] = m.conn(0, 1)
		e.conns[1].Adopt(old)
		old.Drop(engine.ErrPeerClose)
	})
	m.flow()
	m.wantEnds(0, "")
	m.locked(func() { m.all[0].drv.conns[1].Fail(core.ErrConnReset) })
	m.flow()
	m.wantEnds(0, "1: Connection reset by peer")
}

// TestOtherLengths: members disagree about the length of the data. The operation fails, and no memory is
// overwritten.
func TestOtherLengths(t *testing.T) {
	m := newMesh(t, 2, room, 0)
	mc := m.joined(0, 1)
	out := [][]byte{bytes.Repeat([]byte{7}, 16), bytes.Repeat([]byte{7}, 16)}
	for i, count := range []int{1, 2} {
		must(t, m.all[i].AllGather(make([]byte, 8), count, 0, out[i][:8*count], 0, mc[i].Addr(), core.Uint32, 0, 1))
	}
	m.flow()
	failed := 0
	for i := range 2 {
		if got := m.ends(i); got != "1" && got != "" {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("it failed at %d members, want both", failed)
	}
	if !bytes.Equal(out[0][8:], bytes.Repeat([]byte{7}, 8)) {
		t.Error("memory behind the result was overwritten")
	}
}

// TestCloseDuringOperation: an endpoint closes during an operation. Nothing is reported there, and the others see
// its connections end.
func TestCloseDuringOperation(t *testing.T) {
	m := newMesh(t, 3, room, 0)
	mc := m.joined(0, 1, 2)
	for i := range 2 {
		must(t, m.all[i].Barrier(mc[i].Addr(), 1))
	}
	m.flow()
	must(t, m.all[1].Endpoint.Close())
	must(t, mc[1].Close())
	m.wantEnds(1, "")
	m.locked(func() {
		for _, i := range []int{0, 2} {
			m.all[i].drv.conns[1].Fail(core.ErrShutdown)
		}
	})
	m.flow()
	must(t, m.all[2].Barrier(mc[2].Addr(), 1))
	m.flow()
	for _, i := range []int{0, 2} {
		if got := m.ends(i); got == "1" || got == "" {
			t.Errorf("member %d: %q, want a failure", i, got)
		}
	}
}
