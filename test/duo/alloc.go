package duo

import (
	"testing"

	"gofabric/core"
)

// NoAllocation tests that no operation allocates in steady state, from post to completion, at either end of a stack.
func NoAllocation(t *testing.T, provider string) {
	a, b := Pair(t, provider, core.EPTypeRDM, make([]byte, 1<<20))
	for name, op := range operations(a, b) {
		for _, size := range []int{64, 4096, 65536, 1 << 20} {
			buf, in := make([]byte, size), make([]byte, size)
			for range 50 { // connects, and fills the pools
				Check(t, op(buf, in))
			}
			var err error
			n := testing.AllocsPerRun(200, func() {
				if e := op(buf, in); e != nil {
					err = e
				}
			})
			Check(t, err)
			if n != 0 {
				t.Errorf("%s of %d bytes: %v allocations per operation", name, size, n)
			}
		}
	}
}

// operations returns functions that do one operation of each kind from a to b and wait for its completions.
func operations(a, b *Side) map[string]func(buf, in []byte) error {
	args := &core.AtomicArgs{IOV: make([][]byte, 1), RMAIOC: []core.RMAIoc{{Key: 1}},
		Type: core.Uint64, Op: core.AtomicSum, Ctx: 1}
	result := make([][]byte, 1)
	alone := func(post func() error) error {
		if err := Post(post, a, b); err != nil {
			return err
		}
		return Until(a, b, 1, 0)
	}
	both := func(receive, post func() error) error {
		if err := receive(); err != nil {
			return err
		}
		if err := Post(post, a, b); err != nil {
			return err
		}
		return Until(a, b, 1, 1)
	}
	return map[string]func(buf, in []byte) error{
		"send": func(buf, in []byte) error {
			return both(func() error { return b.EP.Recv(in, 0, core.AddrUnspec, 2) },
				func() error { return a.EP.Send(buf, 0, a.Peer, 1) })
		},
		"tagged": func(buf, in []byte) error {
			return both(func() error { return b.EP.TRecv(in, 0, core.AddrUnspec, 7, 0, 2) },
				func() error { return a.EP.TSend(buf, 0, a.Peer, 7, 1) })
		},
		"write": func(buf, _ []byte) error {
			return alone(func() error { return a.EP.Write(buf, 0, a.Peer, 0, 1, 1) })
		},
		"read": func(_, in []byte) error {
			return alone(func() error { return a.EP.Read(in, 0, a.Peer, 0, 1, 1) })
		},
		"fetch": func(buf, in []byte) error {
			buf, in = buf[:min(len(buf), 4096)], in[:min(len(in), 4096)]
			args.IOV[0], args.RMAIOC[0].Count, args.Addr, result[0] = buf, len(buf)/8, a.Peer, in
			return alone(func() error { return a.EP.FetchAtomic(args, result, nil, 0) })
		},
	}
}
