package interop

import (
	"testing"

	"gofabric/core"
)

// This file requests from native peers what native does not support. The operation ends with an error. What needs only
// our end works.

// eachForeign runs f over all native stacks with reliable endpoints that are installed.
func eachForeign(t *testing.T, f func(t *testing.T, s nativeStack)) {
	t.Run("tcp", func(t *testing.T) { eachNative(t, 0, f) })
	t.Run("rxm", func(t *testing.T) { eachRXM(t, f) })
	t.Run("rxd", func(t *testing.T) { eachRXD(t, f) })
}

// TestForeignRefused posts operations that native peers do not support: atomics over tcp, and completion levels. Each
// ends with ErrOpNotSupp, and the traffic continues.
func TestForeignRefused(t *testing.T) {
	t.Parallel()
	eachForeign(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		n := l.natives[0]
		l.join(n, true, nil, nil)
		all := []core.RMAIov{{Addr: 64, Len: 3, Key: keyAll}}
		sum := atom{core.Uint64, core.AtomicSum, 8}
		type refusal struct {
			name string
			op   op
		}
		cases := []refusal{{"match complete", op{call: "sendmsg", length: 100, flags: core.OpMatchComplete}}}
		if s.kind == core.EPTypeRDM {
			cases = append(cases, refusal{"tagged match complete",
				op{call: "tsendmsg", length: 100_000, tag: 5, flags: core.OpMatchComplete}})
		}
		if s.provider == rxm || s.provider == rxd { // over tcp, native commits the data
			cases = append(cases, refusal{"commit complete",
				op{call: "writemsg", length: 3, segs: all, flags: core.OpCommitComplete}})
		} else {
			cases = append(cases, refusal{"atomic", op{call: "atomic", length: 3, segs: all, atom: sum}},
				refusal{"fetch", op{call: "fetch", length: 3, segs: all, atom: sum}},
				refusal{"compare", op{call: "compare", length: 3, segs: all,
					atom: atom{core.Uint64, core.AtomicCSwap, 8}}})
		}
		for _, c := range cases {
			ok := l.sub(c.name, func() {
				for _, fence := range []core.OpFlags{0, core.OpFence} { // also if the operation has to wait first
					if fence != 0 {
						read := op{call: "read", ctx: l.context(), off: 1 << 20, length: 1 << 20,
							segs: []core.RMAIov{{Addr: 0, Len: 1 << 20, Key: keyAll}}}
						l.post(l.ours, read)
						defer l.good(l.ours, read.ctx)
					}
					p := c.op
					p.ctx, p.flags = l.context(), p.flags|fence
					l.post(l.ours, p)
					if got := l.want(l.ours, p.ctx); got.err != core.ErrOpNotSupp {
						l.t.Errorf("ended with %v: %s; want %v", got.err, got.detail, core.ErrOpNotSupp)
					}
				}
				l.flush(l.ours, n)
				l.flush(n, l.ours)
			})
			if !ok {
				return
			}
		}
	})
}

// TestForeignFence reads native's memory and then overwrites it behind a fence, which the sender implements. The reads
// must not see the write, and a message behind the next fence arrives after it.
func TestForeignFence(t *testing.T) {
	t.Parallel()
	eachForeign(t, func(t *testing.T, s nativeStack) {
		l := s.link(t, 1)
		n := l.natives[0]
		l.join(n, true, nil, nil)
		const size = 400_000
		whole := []core.RMAIov{{Addr: 64, Len: size, Key: keyAll}}
		for round := range uint64(3) {
			l.fill(n, "mem", 64, size, round)
			l.fill(l.ours, "tx", 0, size, round+10)
			recv := op{call: "recv", ctx: l.context(), length: 64}
			l.post(n, recv)
			var reads [3]op
			for i := range reads {
				reads[i] = op{call: "read", ctx: l.context(), off: i * size, length: size, segs: whole}
				l.post(l.ours, reads[i])
			}
			write := op{call: "writemsg", ctx: l.context(), length: size, segs: whole,
				flags: core.OpFence | core.OpDeliveryComplete}
			l.post(l.ours, write)
			send := op{call: "sendmsg", ctx: l.context(), length: 64, flags: core.OpFence}
			l.post(l.ours, send)
			for i, r := range reads {
				l.good(l.ours, r.ctx)
				l.check(l.ours, "rx", i*size, size, round)
			}
			l.good(n, recv.ctx)
			l.check(n, "mem", 64, size, round+10)
			l.good(l.ours, write.ctx)
			l.good(l.ours, send.ctx)
		}
	})
}
