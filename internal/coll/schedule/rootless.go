package schedule

import "math/bits"

// Operations without a root.

// Sizes above which bandwidth counts more than the number of steps, in bytes. They were measured as the work of all
// members on one machine together, over tcp RDM with 2 to 8 members, at the sizes where both algorithms cost the
// same. A ring has a step per member.
const (
	// Allreduce of a power of two of members, all data: up to a tenth more work than halving, but half the steps.
	doublingMax = 64 << 10
	ringUnit    = 128 << 10 // allreduce of other numbers, per member
	ringMax     = 1 << 20   // and its limit
	smallSum    = 24 << 10  // reduce-scatter, all data; a power of two of members halves in as many steps
	bruckMax    = 32 << 10  // allgather, the block of one member
	allToAllMax = 8         // messages of all to all under way at a time
)

// isPowerOfTwo reports whether n is a power of two.
func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }

// barrier is the dissemination algorithm: in step s every member sends to the one at distance 2^s. After log2 of n
// steps every member has a message of all others, directly or not.
func (o *Op) barrier(a *Args) {
	for s, d := 0, 1; d < a.Members; s, d = s+1, d<<1 {
		o.send(mod(a.Rank+d, a.Members)%a.Members, s, nil)
		o.wait(o.recv(mod(a.Rank-d, a.Members), s, nil), -1)
	}
}

// allReduce chooses the algorithm of allreduce.
func (o *Op) allReduce(a *Args) {
	limit := doublingMax
	if !isPowerOfTwo(a.Members) {
		limit = min(ringUnit*a.Members, ringMax)
	}
	if a.Block <= limit {
		o.doubling(a)
		return
	}
	c := o.partition(a.Block, a.Members)
	out := a.Out[:a.Block]
	_, step := o.scatterReduced(a, c, out)
	if isPowerOfTwo(a.Members) {
		o.doubleRanges(a, c, out, step)
	} else {
		o.ring(a, c, out, step)
	}
}

// doubling is recursive doubling: every member exchanges all data with the one at distance 1, 2, 4 and so on. If
// the number of members is no power of two, pairs of neighbours first act as one. All sums are of consecutive
// ranks, lower ones first, so that every member gets the same bits.
func (o *Op) doubling(a *Args) {
	o.reserve(1, a.Block)
	o.doublingIn(a, o.scratch(a.Block))
}

// doublingIn is doubling with other as scratch memory of the size of the data.
func (o *Op) doublingIn(a *Args, other []byte) {
	n, rank, size := a.Members, a.Rank, a.Block
	pow := 1 << (bits.Len(uint(n)) - 1)
	extra := n - pow // pairs of ranks 2i and 2i+1
	sum := a.Out[:size]
	// The lower one of a pair gives its data to the other and waits for the result.
	if rank < 2*extra && rank%2 == 0 {
		o.send(rank+1, 0, a.In[:size])
		o.waitAll() // Out may be In, which is still being sent
		o.wait(o.recv(rank+1, 1, sum), -1)
		return
	}
	if !same(sum, a.In) {
		o.move(sum, a.In[:size])
	}
	// id numbers the members that take part in the doubling.
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
		// Keep the order of ranks in the sum: the lower ranks are the left operand.
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

// reduceScatter gives each member its block of the reduction. Small data of a number of members that is no power of
// two is reduced as a whole.
func (o *Op) reduceScatter(a *Args) {
	out := a.Out[:a.Block]
	// Reduce everything at each member, and keep one block.
	if total := a.Block * a.Members; total <= smallSum && !isPowerOfTwo(a.Members) {
		all := *a
		all.Block = total
		o.reserve(2, 2*total)
		all.Out = o.scratch(total)
		o.doublingIn(&all, o.scratch(total))
		o.move(out, block(all.Out, a.Rank, a.Block))
		return
	}
	own, _ := o.scatterReduced(a, o.partition(a.Block*a.Members, a.Members), nil)
	o.move(out, own)
}

// ring is the allgather of large blocks: in each step every member sends the block that it received last to its
// right neighbour.
func (o *Op) ring(a *Args, c partition, out []byte, step int) {
	n, rank := a.Members, a.Rank
	right, left := mod(rank+1, n)%n, mod(rank-1, n)
	mine := int32(-1)
	for s := range n - 1 {
		// The block that arrives in step s, and the one that leaves, which arrived in the step before.
		k := mod(rank-s-1, n)
		next := o.recv(left, step+s, c.blocks(out, k, k+1))
		k = mod(rank-s, n)
		o.wait(mine, -1)
		o.send(right, step+s, c.blocks(out, k, k+1))
		mine = next
	}
}

// doubleRanges is the allgather of a power of two of members: ranges of blocks are exchanged, and double in each
// step.
func (o *Op) doubleRanges(a *Args, c partition, out []byte, step int) {
	for mask := 1; mask < a.Members; mask <<= 1 {
		peer := a.Rank ^ mask
		// Each member has the blocks from this index on, mask of them.
		from, theirs := a.Rank&^(mask-1), peer&^(mask-1)
		r := o.recv(peer, step, c.blocks(out, theirs, theirs+mask))
		o.send(peer, step, c.blocks(out, from, from+mask))
		o.wait(r, -1)
		step++
	}
}

// allGather gives each member the blocks of all.
func (o *Op) allGather(a *Args) {
	n, rank, size := a.Members, a.Rank, a.Block
	out := a.Out[:n*size]
	// Large blocks travel around the ring.
	if size > bruckMax {
		o.move(block(out, rank, size), a.In[:size])
		o.ring(a, partition{size: n * size, unit: max(size, 1), n: n}, out, 0)
		return
	}

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

// allToAll exchanges a block between each two members.
func (o *Op) allToAll(a *Args) {
	n, size := a.Members, a.Block
	o.move(block(a.Out, a.Rank, size), block(a.In, a.Rank, size))
	for i := 1; i < n; i++ {
		from, to := mod(a.Rank-i, n), (a.Rank+i)%n
		o.recv(from, 0, block(a.Out, from, size))
		o.send(to, 0, block(a.In, to, size))
		// Not all at once: each message needs a buffer somewhere.
		if i%allToAllMax == 0 {
			o.waitAll()
		}
	}
}
