package engine

import "gofabric/internal/atomics"

// cuts divides data into a block of whole elements for each member.
type cuts struct{ size, unit, n int }

func (o *Op) cuts(size, n int) cuts { return cuts{size: size, unit: max(atomics.Size(o.typ), 1), n: n} }

// at is where block i begins.
func (c cuts) at(i int) int { return c.size / c.unit * i / c.n * c.unit }

// cut is blocks i to j-1 of b.
func (c cuts) cut(b []byte, i, j int) []byte { return b[c.at(i):c.at(j)] }

// most is the length of the largest run of k blocks.
func (c cuts) most(k int) int { return (c.size/c.unit*k/c.n + 1) * c.unit }

// scatterReduced gives every member its block of the reduction of everybody's In, cut as c says. work is as long as In, and in the end has the block in its
// place; it may be In; nil if there is none. Own is where the block is; step is the next free number.
func (o *Op) scatterReduced(a *Args, c cuts, work []byte) (own []byte, step int) {
	if evenly(a.Members) {
		return o.halving(a, c, work)
	}
	return o.ringReduce(a, c, work)
}

// halving exchanges halves, then quarters, and so on, among a power of two of members.
func (o *Op) halving(a *Args, c cuts, work []byte) (own []byte, step int) {
	aside := same(work, a.In)
	pieces, total := 1, c.most(a.Members/2)
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
		keep, give := from, from+half
		if rank&half != 0 {
			keep, give = give, keep
		}
		mine := c.cut(work, keep, keep+half)
		in := tmp[:len(mine)]
		if half == a.Members/2 && !aside {
			in = mine // nothing is there yet
		}
		r := o.recv(rank^half, step, in)
		o.wait(r, o.send(rank^half, step, c.cut(src, give, give+half)))
		if half == a.Members/2 && !aside {
			o.reduce(mine, c.cut(src, keep, keep+half))
			src = work
		} else {
			o.reduce(mine, in)
		}
		from = keep
		step++
	}
	return c.cut(work, rank, rank+1), step
}

// ringReduce sends partial sums round, each on its way to the member whose block it is.
func (o *Op) ringReduce(a *Args, c cuts, work []byte) (own []byte, step int) {
	n, rank := a.Members, a.Rank
	right, left := (rank+1)%n, mod(rank-1, n)
	o.reserve(3, 3*c.most(1))
	var tmp [3][]byte
	for i := range tmp {
		tmp[i] = o.scratch(c.most(1))
	}
	// The sum that comes in step s is that of block rank-2-s: received in one of three buffers, while the one before leaves from another and the next may come.
	expect := func(s int) (int32, []byte) {
		k := mod(rank-2-s+n, n)
		b := tmp[s%3][:c.at(k+1)-c.at(k)]
		return o.recv(left, s, b), b
	}
	k := mod(rank-1, n)
	sum := c.cut(a.In, k, k+1)
	r, in := expect(0)
	for s := range n - 1 {
		next, nextIn := int32(-1), []byte(nil)
		if s+1 < n-1 {
			next, nextIn = expect(s + 1)
		}
		o.wait(r, o.send(right, s, sum))
		k := mod(rank-2-s+n, n)
		o.reduce(in, c.cut(a.In, k, k+1))
		sum, r, in = in, next, nextIn
	}
	if work == nil {
		return sum, n - 1
	}
	own = c.cut(work, rank, rank+1)
	o.move(own, sum)
	return own, n - 1
}
