package schedule

import "gofabric/internal/atomics"

// The first half of reductions of large data: each member gets the reduction of one block (reduce-scatter).
//
// partition divides size bytes into n blocks of whole elements of unit bytes, one for each member.
type partition struct{ size, unit, n int }

// partition divides size bytes among n members, in elements of the operation's type.
func (o *Op) partition(size, n int) partition {
	return partition{size: size, unit: max(atomics.Size(o.typ), 1), n: n}
}

// offset is where block i begins.
func (c partition) offset(i int) int { return c.size / c.unit * i / c.n * c.unit }

// blocks returns the blocks i to j-1 of b.
func (c partition) blocks(b []byte, i, j int) []byte { return b[c.offset(i):c.offset(j)] }

// maxLen is the greatest length of k blocks in a row.
func (c partition) maxLen(k int) int { return (c.size/c.unit*k/c.n + 1) * c.unit }

// scatterReduced gives each member its block of the reduction of all In. work is as long as In and has the block in
// its place at the end; it may be In, or nil. own is the block, step the next unused step number.
func (o *Op) scatterReduced(a *Args, c partition, work []byte) (own []byte, step int) {
	if isPowerOfTwo(a.Members) {
		return o.halving(a, c, work)
	}
	return o.ringReduce(a, c, work)
}

// halving is recursive halving, for a power of two of members: they exchange halves of the data, then quarters, and
// so on.
func (o *Op) halving(a *Args, c partition, work []byte) (own []byte, step int) {
	// If work is In, received data needs a buffer of its own from the first step on.
	inPlace := same(work, a.In)
	pieces, total := 1, c.maxLen(a.Members/2)
	if work == nil {
		pieces, total = 2, total+c.size
	}
	o.reserve(pieces, total)
	if work == nil {
		work = o.scratch(c.size)
	}
	tmp := o.free
	from, rank := 0, a.Rank
	src := a.In
	for half := a.Members / 2; half > 0; half >>= 1 {
		// The upper half of the members keeps the upper half of the blocks.
		keep, give := from, from+half
		if rank&half != 0 {
			keep, give = give, keep
		}
		mine := c.blocks(work, keep, keep+half)
		in := tmp[:len(mine)]
		if half == a.Members/2 && !inPlace {
			in = mine
		}
		r := o.recv(rank^half, step, in)
		o.wait(r, o.send(rank^half, step, c.blocks(src, give, give+half)))
		if half == a.Members/2 && !inPlace {
			o.reduce(mine, c.blocks(src, keep, keep+half))
			src = work
		} else {
			o.reduce(mine, in)
		}
		// The next step halves what was kept.
		from = keep
		step++
	}
	return c.blocks(work, rank, rank+1), step
}

// ringReduce sends partial sums around a ring, each to the member whose block it is.
func (o *Op) ringReduce(a *Args, c partition, work []byte) (own []byte, step int) {
	n, rank := a.Members, a.Rank
	right, left := (rank+1)%n, mod(rank-1, n)
	o.reserve(3, 3*c.maxLen(1))
	var tmp [3][]byte
	for i := range tmp {
		tmp[i] = o.scratch(c.maxLen(1))
	}
	// In step s the sum of block rank-2-s arrives, in one of three buffers: the previous sum leaves from another,
	// and the next one may arrive in the third.
	expect := func(s int) (int32, []byte) {
		k := mod(rank-2-s+n, n)
		b := tmp[s%3][:c.offset(k+1)-c.offset(k)]
		return o.recv(left, s, b), b
	}
	k := mod(rank-1, n)
	sum := c.blocks(a.In, k, k+1)
	r, in := expect(0)
	for s := range n - 1 {
		next, nextIn := int32(-1), []byte(nil)
		if s+1 < n-1 {
			next, nextIn = expect(s + 1)
		}
		o.wait(r, o.send(right, s, sum))
		k := mod(rank-2-s+n, n)
		o.reduce(in, c.blocks(a.In, k, k+1))
		sum, r, in = in, next, nextIn
	}
	// The caller needs only the block.
	if work == nil {
		return sum, n - 1
	}
	own = c.blocks(work, rank, rank+1)
	o.move(own, sum)
	return own, n - 1
}
