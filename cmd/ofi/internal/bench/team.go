package bench

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"gofabric/core"
)

// This file measures atomics and collective operations, which fabtests do not measure on their own.

// team is the group that a side is a member of.
type team struct {
	set     *core.AVSet
	group   *core.MC
	members []core.FIAddr
	rank    int
}

// meet joins the group of the endpoints with these addresses. s is one of them, and all must call meet at the same
// time.
func (s *side) meet(names []string) error {
	own, err := s.ep.Name()
	if err != nil {
		return err
	}
	t := &team{rank: -1}
	var addrs []core.Addr
	for i, name := range names {
		if name == own.String() {
			t.rank = i
		}
		a, err := core.ParseAddr(name)
		if err != nil {
			return err
		}
		addrs = append(addrs, a)
	}
	t.members = make([]core.FIAddr, len(addrs))
	if n, err := s.av.Insert(addrs, t.members, 0); err != nil || n != len(addrs) {
		return fmt.Errorf("the addresses of %d members were not accepted: %w", len(addrs)-n, err)
	}
	if t.set, err = s.av.OpenSet(core.AVSetAttr{StartAddr: t.members[0], EndAddr: t.members[len(addrs)-1], Stride: 1}); err != nil {
		return err
	}
	if t.group, err = s.ep.JoinCollective(t.set.Addr(), t.set, 0, nil); err != nil {
		t.set.Close()
		return err
	}
	s.team, s.peer = t, t.members[0]
	_, err = s.event(core.EventJoinComplete)
	return err
}

// atomics runs fetch-adds on a number of the other side, one at a time. The other side only makes progress, as in
// fi_rdm_atomic.
func (s *side) atomics(w Work, first bool) (time.Duration, error) {
	if !first {
		if err := s.await(s.rxq, 1); err != nil {
			return 0, err
		}
		return 0, s.sendSync(false)
	}
	desc := []core.Desc{s.desc}
	result := [][]byte{s.in(w.Test, 0)[:8]}
	m := &core.AtomicArgs{IOV: [][]byte{s.out(w.Test, 0)}, Desc: desc, Addr: s.peer, Type: core.Uint64, Op: core.AtomicSum,
		RMAIOC: []core.RMAIoc{{Addr: s.remote.Base, Count: 1, Key: s.remote.Key}}, Ctx: 4}
	took, err := s.timed(w, func() error { return s.ep.FetchAtomic(m, result, desc, 0) })
	if err != nil {
		return 0, err
	}
	if err := s.sendSync(false); err != nil {
		return 0, err
	}
	return took, s.await(s.rxq, 1)
}

// timed posts one operation after another, and returns the time of those that are timed.
func (s *side) timed(w Work, post func() error) (time.Duration, error) {
	begin := time.Now()
	for i := range w.Warmup + w.Iters {
		if i == w.Warmup {
			begin = time.Now()
		}
		for err := post(); err != nil; err = post() {
			if err = s.again(err); err != nil {
				return 0, err
			}
		}
		if err := s.await(s.txq, 1); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// sums adds vectors of doubles over all members, one operation after another. After the last, the first member
// makes the others continue their progress until all are done.
func (s *side) sums(w Work, first bool) (time.Duration, error) {
	in, out, n := s.out(w.Test, 0), s.in(w.Test, 0)[:w.Test.Size], len(s.team.members)
	for i := 0; i+8 <= len(in); i += 8 {
		binary.NativeEndian.PutUint64(in[i:], math.Float64bits(float64(s.team.rank+i)))
	}
	clear(out)
	took, err := s.timed(w, func() error {
		return s.ep.AllReduce(in, len(in)/8, s.desc, out, s.desc, s.team.group.Addr(), core.Double, core.AtomicSum, 0, 5)
	})
	if err != nil {
		return 0, err
	}
	for i := 0; i+8 <= len(out); i += 8 {
		if got, want := math.Float64frombits(binary.NativeEndian.Uint64(out[i:])), float64(n*(n-1)/2+n*i); got != want {
			return 0, fmt.Errorf("number %d of the sum is %v, not %v", i/8, got, want)
		}
	}
	if !first {
		return took, s.await(s.rxq, 1)
	}
	for _, s.peer = range s.team.members[1:] {
		if err := s.sendSync(false); err != nil {
			return 0, err
		}
	}
	return took, nil
}
