package interop

import (
	"testing"
	"time"

	"gofabric/core"
)

// Collective operations with a native peer. Native implements them with tagged messages that are not marked as such
// (libfabric's prov/coll), and prov/tcp and prov/rxd have none. A join with such a member is refused with a clear
// error and soon, and ordinary messages continue.

// patient is how long a join that cannot succeed may take.
const patient = waitLimit / 2

func TestNativeCollective(t *testing.T) {
	t.Parallel()
	try := func(t *testing.T, s nativeStack) {
		s.more = core.CapCollective
		for _, c := range []struct {
			name      string
			connected bool
			first     bool // the first member, which the others ask, is ours
		}{
			{"ours is first", false, true},
			{"native is first", false, false},
			{"connected, ours is first", true, true},
			{"connected, native is first", true, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				l := s.link(t, 1)
				n := l.natives[0]
				name, err := l.ours.name()
				l.must(err)
				l.tell(n, "insert %s", name)
				l.must(l.ours.insert(l.tell(n, "name")))
				if c.connected {
					l.flush(l.ours, n)
				}
				for range 2 { // the second time the peer is known to be native
					l.refused(c.first)
				}
				l.flush(l.ours, n)
				l.flush(n, l.ours)
			})
		}
	}
	eachRXM(t, try)
	eachRXD(t, try)
	eachNative(t, core.EPTypeRDM, try)
}

// refused has our end join a group with the native one, which must fail.
func (l *link) refused(first bool) {
	l.t.Helper()
	own, err := l.ours.ep.Name()
	l.must(err)
	self := make([]core.FIAddr, 1)
	if _, err := l.ours.av.Insert([]core.Addr{own}, self, 0); err != nil {
		l.must(err)
	}
	members := []core.FIAddr{self[0], l.ours.dest}
	if !first {
		members[0], members[1] = members[1], members[0]
	}
	set, err := l.ours.av.OpenSet(core.AVSetAttr{})
	l.must(err)
	defer set.Close()
	for _, m := range members {
		l.must(set.Insert(m))
	}
	begin := time.Now()
	g, err := l.ours.ep.JoinCollective(set.Addr(), set, 0, 1)
	l.must(err)
	ev := l.event(l.ours, "error")
	if took := time.Since(begin); ev.err != core.ErrOpNotSupp || took > patient {
		l.t.Errorf("joining ends with %v (%s) after %v, want %v", ev.err, ev.detail, took, core.ErrOpNotSupp)
	}
	if err := l.ours.ep.Barrier(g.Addr(), 2); err != core.ErrOpNotSupp {
		l.t.Errorf("an operation of such a group returned %v, want %v", err, core.ErrOpNotSupp)
	}
	l.must(g.Close())
}
