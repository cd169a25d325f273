package gofabric_test

// This file checks that collective operations and atomics allocate nothing, from post to completion, over every stack
// that has them.

import (
	"fmt"
	"testing"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/test/wait"
)

// allocSide is an endpoint with the objects that it needs.
type allocSide struct {
	ep    *core.Endpoint
	cq    *core.CompletionQueue
	eq    *core.EventQueue
	av    *core.AddressVector
	mr    *core.MemoryRegion
	fi    []core.FIAddr
	set   *core.AVSet
	mc    *core.MC
	in    []byte
	out   []byte
	done  int
	taken [16]core.CQEntry
	all   []core.Object
}

// allocSides opens n endpoints, each in its own domain. Each has the addresses of all.
func allocSides(t *testing.T, stack string, caps core.Caps, n, size int) []*allocSide {
	t.Helper()
	sides := make([]*allocSide, n)
	addrs := make([]core.Addr, n)
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range sides {
		s := &allocSide{in: make([]byte, n*size), out: make([]byte, n*size)}
		sides[i] = s
		t.Cleanup(func() { gofabric.CloseAll(s.all...) })
		hints := core.NewHints()
		hints.Fabric.ProvName, hints.EP.Type, hints.Caps = stack, core.EPTypeRDM, caps
		infos, _, err := gofabric.GetInfo(core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
		fatal(err)
		fabric, err := gofabric.OpenFabric(infos[0])
		fatal(err)
		domain, err := fabric.OpenDomain(infos[0])
		fatal(err)
		s.cq, err = domain.OpenCQ(core.CQAttr{Format: core.CQFormatContext})
		fatal(err)
		s.eq, err = fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
		fatal(err)
		s.av, err = domain.OpenAV(core.AVAttr{})
		fatal(err)
		s.ep, err = domain.OpenEndpoint(infos[0])
		fatal(err)
		s.mr, err = domain.RegMR(&core.MRAttr{IOV: [][]byte{s.in},
			Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 1})
		fatal(err)
		s.all = []core.Object{fabric, domain, s.cq, s.eq, s.av, s.ep, s.mr}
		fatal(s.ep.BindCQ(s.cq, core.BindTransmit|core.BindRecv))
		fatal(s.ep.BindAV(s.av, 0))
		fatal(s.ep.BindEQ(s.eq, 0))
		fatal(s.ep.Enable())
		addrs[i], err = s.ep.Name()
		fatal(err)
	}
	for _, s := range sides {
		s.fi = make([]core.FIAddr, n)
		if got, err := s.av.Insert(addrs, s.fi, 0); got != n || err != nil {
			t.Fatalf("%d addresses inserted: %v", got, err)
		}
	}
	return sides
}

// pump reads all queues.
func pump(sides []*allocSide) error {
	for _, s := range sides {
		n, err := s.cq.Read(s.taken[:])
		s.done += n
		if err != nil && err != core.ErrAgain {
			return err
		}
	}
	return nil
}

// everywhere posts an operation at some sides and waits until it is complete at all of them.
func everywhere(sides, posting []*allocSide, post func(rank int, s *allocSide) error) error {
	end := wait.End()
	for rank, s := range posting {
		for s.done = 0; ; {
			err := post(rank, s)
			if err == nil {
				break
			}
			if err != core.ErrAgain || time.Now().After(end) {
				return err
			}
			if err := pump(sides); err != nil {
				return err
			}
		}
	}
	for i, left := 0, len(posting); left > 0; i++ {
		if err := pump(sides); err != nil {
			return err
		}
		if i&1023 == 1023 && time.Now().After(end) {
			return core.ErrTimedOut
		}
		left = 0
		for _, s := range posting {
			if s.done == 0 {
				left++
			}
		}
	}
	return nil
}

var allocStacks = []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"}

// checkAllocs checks that calls of f allocate nothing.
func checkAllocs(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	once := func() {
		if e := f(); e != nil && err == nil {
			err = e
		}
	}
	for i := 0; i < 50 && err == nil; i++ { // connect, and fill the pools
		once()
	}
	if err == nil {
		n := testing.AllocsPerRun(100, once)
		if n != 0 {
			n = testing.AllocsPerRun(100, once) // the sides may have begun to share memory in this round
		}
		if n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestNoAllocCollective(t *testing.T) {
	const n, most = 3, 96 << 10
	type post = func(rank int, s *allocSide, count int) error
	ops := []struct {
		name string
		post post
	}{
		{"barrier", func(_ int, s *allocSide, _ int) error { return s.ep.Barrier(s.mc.Addr(), 1) }},
		{"broadcast", func(_ int, s *allocSide, k int) error {
			return s.ep.Broadcast(s.in, k, 0, s.mc.Addr(), s.fi[1], core.Uint64, 0, 1)
		}},
		{"all to all", func(_ int, s *allocSide, k int) error {
			return s.ep.AllToAll(s.in, k, 0, s.out, 0, s.mc.Addr(), core.Uint64, 0, 1)
		}},
		{"allreduce", func(_ int, s *allocSide, k int) error {
			return s.ep.AllReduce(s.in, k, 0, s.out, 0, s.mc.Addr(), core.Double, core.AtomicSum, 0, 1)
		}},
		{"allgather", func(_ int, s *allocSide, k int) error {
			return s.ep.AllGather(s.in, k, 0, s.out, 0, s.mc.Addr(), core.Uint64, 0, 1)
		}},
		{"reduce-scatter", func(_ int, s *allocSide, k int) error {
			return s.ep.ReduceScatter(s.in, k, 0, s.out, 0, s.mc.Addr(), core.Double, core.AtomicSum, 0, 1)
		}},
		{"reduce", func(_ int, s *allocSide, k int) error {
			return s.ep.Reduce(s.in, k, 0, s.out, 0, s.mc.Addr(), s.fi[2], core.Double, core.AtomicSum, 0, 1)
		}},
		{"scatter", func(_ int, s *allocSide, k int) error {
			return s.ep.Scatter(s.in, k, 0, s.out, 0, s.mc.Addr(), s.fi[0], core.Uint64, 0, 1)
		}},
		{"gather", func(_ int, s *allocSide, k int) error {
			return s.ep.Gather(s.in, k, 0, s.out, 0, s.mc.Addr(), s.fi[1], core.Uint64, 0, 1)
		}},
	}
	for _, stack := range allocStacks {
		t.Run(stack, func(t *testing.T) {
			sides := allocSides(t, stack, core.CapMsg|core.CapTagged|core.CapCollective, n, most)
			joinAll(t, sides)
			for _, op := range ops {
				for _, size := range []int{8, 4 << 10, most} {
					step := func(rank int, s *allocSide) error { return op.post(rank, s, size/8) }
					checkAllocs(t, fmt.Sprintf("%s of %d bytes", op.name, size),
						func() error { return everywhere(sides, sides, step) })
				}
			}
		})
	}
}

// joinAll makes a group of all sides.
func joinAll(t *testing.T, sides []*allocSide) {
	t.Helper()
	var err error
	for _, s := range sides {
		if s.set, err = s.av.OpenSet(core.AVSetAttr{StartAddr: s.fi[0], EndAddr: s.fi[len(s.fi)-1],
			Stride: 1}); err == nil {
			s.mc, err = s.ep.JoinCollective(s.set.Addr(), s.set, 0, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.all = append(s.all, s.set, s.mc)
	}
	end := wait.End()
	for _, s := range sides {
		var ev core.EQEvent
		for err = core.ErrAgain; err == core.ErrAgain && time.Now().Before(end); {
			if err = pump(sides); err == nil {
				err = s.eq.Read(&ev, 0)
			}
		}
		if err != nil || ev.Type != core.EventJoinComplete {
			t.Fatalf("event %v, %v", ev.Type, err)
		}
	}
}

func TestNoAllocAtomic(t *testing.T) {
	for _, stack := range allocStacks {
		t.Run(stack, func(t *testing.T) {
			sides := allocSides(t, stack, core.CapMsg|core.CapAtomic, 2, 4096)
			a, b := sides[0], sides[1]
			base, key := b.mr.Base(), b.mr.Key()
			m := &core.AtomicArgs{IOV: make([][]byte, 1), RMAIOC: make([]core.RMAIoc, 1), Addr: a.fi[1],
				Type: core.Uint64, Op: core.AtomicSum, Ctx: 1}
			result, compare := make([][]byte, 1), make([][]byte, 1)
			for _, size := range []int{8, 512, 2048} {
				m.IOV[0], m.RMAIOC[0] = a.in[:size], core.RMAIoc{Addr: base, Count: size / 8, Key: key}
				result[0], compare[0] = a.out[:size], a.out[4096:4096+size]
				for name, post := range map[string]func(int, *allocSide) error{
					"atomic": func(int, *allocSide) error { m.Op = core.AtomicSum; return a.ep.Atomic(m, 0) },
					"fetch":  func(int, *allocSide) error { m.Op = core.AtomicSum; return a.ep.FetchAtomic(m, result, nil, 0) },
					"compare": func(int, *allocSide) error {
						m.Op = core.AtomicCSwap
						return a.ep.CompareAtomic(m, compare, nil, result, nil, 0)
					},
				} {
					checkAllocs(t, fmt.Sprintf("%s of %d bytes", name, size),
						func() error { return everywhere(sides, sides[:1], post) })
				}
			}
		})
	}
}
