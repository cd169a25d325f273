package engine

import "math/bits"

// Operations without a root.

// Sizes from which bandwidth counts for more than the number of steps, bytes: measured as the work of all members of one machine together, over tcp RDM with 2 to 8
// of them, where the alternatives cost the same. A ring has a step per member.
const (
	doublingMax = 64 << 10  // of allreduce among a power of two of members, altogether: up to a tenth more work than halving, but in half the steps
	ringUnit    = 128 << 10 // else, for each member
	ringMax     = 1 << 20   // but no more
	smallSum    = 24 << 10  // of reduce-scatter, altogether; a power of two of members halves in as many steps
	bruckMax    = 32 << 10  // of allgather, one member's block
	allToAllMax = 8         // peers of all to all at a time
)

// evenly says whether n is a power of two.
func evenly(n int) bool { return n&(n-1) == 0 }

// barrier tells everybody, over members at distances of powers of two.
func (o *Op) barrier(a *Args) {
	for s, d := 0, 1; d < a.Members; s, d = s+1, d<<1 {
		o.send(mod(a.Rank+d, a.Members)%a.Members, s, nil)
		o.wait(o.recv(mod(a.Rank-d, a.Members), s, nil), -1)
	}
}

// allReduce chooses how everybody gets the reduction.
func (o *Op) allReduce(a *Args) {
	most := doublingMax
	if !evenly(a.Members) {
		most = min(ringUnit*a.Members, ringMax)
	}
	if a.Block <= most {
		o.doubling(a)
		return
	}
	c := o.cuts(a.Block, a.Members)
	out := a.Out[:a.Block]
	_, step := o.scatterReduced(a, c, out)
	if evenly(a.Members) {
		o.doubleRanges(a, c, out, step)
	} else {
		o.ring(a, c, out, step)
	}
}

// doubling exchanges all of the data with a member at each power of two's distance. Of members beyond the largest power of two, neighbours go as one. The sums
// are always those of consecutive ranks, the lower ones first, so that everybody has the same bits.
func (o *Op) doubling(a *Args) {
	o.reserve(1, a.Block)
	o.doublingIn(a, o.scratch(a.Block))
}

// doublingIn does it with the help of other, as large as the data.
func (o *Op) doublingIn(a *Args, other []byte) {
	n, rank, size := a.Members, a.Rank, a.Block
	pow := 1 << (bits.Len(uint(n)) - 1)
	extra := n - pow // pairs of ranks 2i and 2i+1
	sum := a.Out[:size]
	if rank < 2*extra && rank%2 == 0 {
		o.send(rank+1, 0, a.In[:size])
		o.waitAll() // Out may be In
		o.wait(o.recv(rank+1, 1, sum), -1)
		return
	}
	if !same(sum, a.In) {
		o.move(sum, a.In[:size])
	}
	id := rank - extra
	if rank < 2*extra {
		id = rank / 2
		o.wait(o.recv(rank-1, 0, other), -1)
		o.reduce(other, sum)
		sum, other = other, sum
	}
	for mask, step := 1, 2; mask < pow; mask, step = mask<<1, step+1 {
		peer := id ^ mask
		lower := peer < id
		if peer < extra {
			peer = 2*peer + 1
		} else {
			peer += extra
		}
		r := o.recv(peer, step, other)
		o.wait(r, o.send(peer, step, sum))
		if lower {
			o.reduce(other, sum)
			sum, other = other, sum
		} else {
			o.reduce(sum, other)
		}
	}
	if out := a.Out[:size]; !same(sum, out) {
		o.move(out, sum)
		sum = out
	}
	if rank < 2*extra {
		o.send(rank-1, 1, sum)
	}
}

// reduceScatter gives everybody a block of the reduction.
func (o *Op) reduceScatter(a *Args) {
	out := a.Out[:a.Block]
	if total := a.Block * a.Members; total <= smallSum && !evenly(a.Members) {
		all := *a
		all.Block = total
		o.reserve(2, 2*total)
		all.Out = o.scratch(total)
		o.doublingIn(&all, o.scratch(total))
		o.move(out, block(all.Out, a.Rank, a.Block))
		return
	}
	own, _ := o.scatterReduced(a, o.cuts(a.Block*a.Members, a.Members), nil)
	o.move(out, own)
}

// ring sends the blocks that everybody has one of round.
func (o *Op) ring(a *Args, c cuts, out []byte, step int) {
	n, rank := a.Members, a.Rank
	right, left := mod(rank+1, n)%n, mod(rank-1, n)
	mine := int32(-1)
	for s := range n - 1 {
		k := mod(rank-s-1, n)
		next := o.recv(left, step+s, c.cut(out, k, k+1))
		k = mod(rank-s, n)
		o.wait(mine, -1)
		o.send(right, step+s, c.cut(out, k, k+1))
		mine = next
	}
}

// doubleRanges exchanges ranges of blocks that double, among a power of two of members.
func (o *Op) doubleRanges(a *Args, c cuts, out []byte, step int) {
	for mask := 1; mask < a.Members; mask <<= 1 {
		peer := a.Rank ^ mask
		from, theirs := a.Rank&^(mask-1), peer&^(mask-1)
		r := o.recv(peer, step, c.cut(out, theirs, theirs+mask))
		o.send(peer, step, c.cut(out, from, from+mask))
		o.wait(r, -1)
		step++
	}
}

// allGather gives everybody everybody's block.
func (o *Op) allGather(a *Args) {
	n, rank, size := a.Members, a.Rank, a.Block
	out := a.Out[:n*size]
	if size > bruckMax {
		o.move(block(out, rank, size), a.In[:size])
		o.ring(a, cuts{size: n * size, unit: max(size, 1), n: n}, out, 0)
		return
	}
	// Bruck: block i is that of rank+i until the end.
	o.reserve(1, n*size)
	all := o.scratch(n * size)
	o.move(all[:size], a.In[:size])
	step := 0
	for have := 1; have < n; have <<= 1 {
		k := min(have, n-have) * size
		r := o.recv((rank+have)%n, step, all[have*size:have*size+k])
		o.send(mod(rank-have, n), step, all[:k])
		o.wait(r, -1)
		step++
	}
	o.move(out[rank*size:], all[:(n-rank)*size])
	o.move(out[:rank*size], all[(n-rank)*size:])
}

// allToAll has everybody give everybody a block.
func (o *Op) allToAll(a *Args) {
	n, size := a.Members, a.Block
	o.move(block(a.Out, a.Rank, size), block(a.In, a.Rank, size))
	for i := 1; i < n; i++ {
		from, to := mod(a.Rank-i, n), (a.Rank+i)%n
		o.recv(from, 0, block(a.Out, from, size))
		o.send(to, 0, block(a.In, to, size))
		if i%allToAllMax == 0 {
			o.waitAll()
		}
	}
}
