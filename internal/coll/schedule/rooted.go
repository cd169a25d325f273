package schedule

// Operations with a root. Ranks are counted from the root: rel is 0 there.

// Sizes above which data is cut into blocks, in bytes, measured as those in rootless.go. A tree of broadcast or
// reduce is the least work even for a megabyte, but not the least time if members have processors, or a network, of
// their own.
const (
	treeMax   = 256 << 10 // broadcast and reduce, all data
	blockMax  = 4 << 10   // gather and scatter, the block of one member
	directMax = 8         // gather and scatter with up to so many members use no tree
)

// rel is this member's rank counted from the root; member is the inverse.
func (a *Args) rel() int           { return mod(a.Rank-a.Root, a.Members) }
func (a *Args) member(rel int) int { return (rel + a.Root) % a.Members }

// lowBit is the distance to the parent in a binomial tree: the lowest bit of rel. For the root it is the first
// power of two that is not below n.
func lowBit(rel, n int) int {
	mask := 1
	for mask < n && rel&mask == 0 {
		mask <<= 1
	}
	return mask
}

// broadcast sends the root's data down a binomial tree.
func (o *Op) broadcast(a *Args) {
	b := a.Out[:a.Block]
	if a.Block > treeMax && a.Members > 2 {
		o.scatterRing(a, b)
		return
	}
	rel := a.rel()
	mask := lowBit(rel, a.Members)
	if rel != 0 {
		o.wait(o.recv(a.member(rel-mask), 0, b), -1)
	}
	// The largest subtree first: its members have the longest way to go.
	for mask >>= 1; mask > 0; mask >>= 1 {
		if rel+mask < a.Members {
			o.send(a.member(rel+mask), 0, b)
		}
	}
}

// scatterRing is the broadcast of large data: the root sends each member a part, and the parts travel around a
// ring.
func (o *Op) scatterRing(a *Args, b []byte) {
	n, rel := a.Members, a.rel()
	// cut returns the i-th part.
	cut := func(i int) []byte { i = mod(i, n); return b[i*len(b)/n : (i+1)*len(b)/n] }
	mine := int32(-1)
	if rel == 0 {
		for i := 1; i < n; i++ {
			o.send(a.member(i), 0, cut(i))
		}
	} else {
		mine = o.recv(a.Root, 0, cut(rel))
	}
	right, left := a.member(mod(rel+1, n)), a.member(mod(rel-1, n))
	for s := range n - 1 {
		next := int32(-1)
		if rel != 0 { // the root has it all
			next = o.recv(left, s+1, cut(rel-s-1))
		}
		o.wait(mine, -1)
		if rel != n-1 { // the right neighbour is not the root
			o.send(right, s+1, cut(rel-s))
		}
		mine = next
	}
}

// reduceTo reduces the data of all members up a binomial tree to the root.
func (o *Op) reduceTo(a *Args) {
	if a.Block > treeMax && a.Members > 2 {
		o.reduceBlocks(a)
		return
	}
	rel, size := a.rel(), a.Block
	// The children are those of a binomial tree: at distances 1, 2, 4 and so on below the distance to the parent.
	mask := lowBit(rel, a.Members)
	// A member has at most one child per bit of its rank.
	var kids [32]struct {
		at int32
		b  []byte
	}
	n := 0
	for m := 1; m < mask && rel+m < a.Members; m <<= 1 {
		n++
	}
	o.reserve(n+1, (n+1)*size)
	for i := range n {
		kids[i].b = o.scratch(size)
		kids[i].at = o.recv(a.member(rel+1<<i), 0, kids[i].b)
	}
	// A member without children sends its own data as it is.
	sum := a.In[:size]
	if n > 0 {
		// The root reduces into Out, others into scratch memory.
		if sum = a.Out; rel != 0 {
			sum = o.scratch(size)
		}
		sum = sum[:size]
		o.move(sum, a.In[:size])
	}
	for i := range n {
		o.wait(kids[i].at, -1)
		o.reduce(sum, kids[i].b)
	}
	if rel != 0 { // the root has all parts
		o.send(a.member(rel-mask), 0, sum)
	}
}

// reduceBlocks is the reduction of large data: each member reduces one block and sends it to the root.
func (o *Op) reduceBlocks(a *Args) {
	c := o.partition(a.Block, a.Members)
	if a.Rank != a.Root {
		own, steps := o.scatterReduced(a, c, nil)
		o.send(a.Root, steps, own)
		return
	}
	out := a.Out[:a.Block]
	_, steps := o.scatterReduced(a, c, out)
	for i := range a.Members {
		if i != a.Rank {
			o.recv(i, steps, c.blocks(out, i, i+1))
		}
	}
}

// span is the number of members in the subtree of rel in a binomial tree.
func span(rel, n int) int { return min(lowBit(rel, n), n-rel) }

// gather brings the blocks of all members to the root.
func (o *Op) gather(a *Args) {
	n, rel, size := a.Members, a.rel(), a.Block
	in := a.In[:size]
	if size > blockMax || n <= directMax {
		if rel != 0 {
			o.send(a.Root, 0, in)
			return
		}
		for i := range n {
			if i != a.Root {
				o.recv(i, 0, block(a.Out, i, size))
			}
		}
		o.move(block(a.Out, a.Root, size), in)
		return
	}
	// A member without children sends its own block.
	all := in
	if kids := span(rel, n); kids > 1 {
		// Blocks come in the order of rel, which is that of Out if the root is rank 0.
		if all = a.Out[:0]; rel != 0 || a.Root != 0 {
			o.reserve(1, kids*size)
			all = o.scratch(kids * size)
		}
		all = all[:kids*size]
		o.move(all[:size], in)
		for m := 1; m < kids; m <<= 1 {
			o.recv(a.member(rel+m), 0, all[m*size:(m+span(rel+m, n))*size])
		}
		o.waitAll()
	}
	switch {
	case rel != 0:
		o.send(a.member(rel-lowBit(rel, n)), 0, all)
	// Rotate from the order of rel to that of ranks.
	case a.Root != 0:
		o.move(a.Out[a.Root*size:n*size], all)
		o.move(a.Out[:a.Root*size], all[(n-a.Root)*size:])
	}
}

// scatter gives each member a block of the root's data.
func (o *Op) scatter(a *Args) {
	n, rel, size := a.Members, a.rel(), a.Block
	out := a.Out[:size]
	if size > blockMax || n <= directMax {
		if rel != 0 {
			o.recv(a.Root, 0, out)
			return
		}
		for i := 1; i < n; i++ {
			o.send(a.member(i), 0, block(a.In, a.member(i), size))
		}
		o.move(out, block(a.In, a.Root, size))
		return
	}
	kids := span(rel, n)
	all := out
	switch {
	// The root's data has the order of rel already.
	case rel == 0 && a.Root == 0:
		all = a.In[:n*size]
	case kids > 1:
		o.reserve(1, kids*size)
		all = o.scratch(kids * size)
	}
	mask := lowBit(rel, n)
	if rel != 0 {
		o.wait(o.recv(a.member(rel-mask), 0, all[:kids*size]), -1)
	} else if a.Root != 0 {
		o.move(all, a.In[a.Root*size:n*size])
		o.move(all[(n-a.Root)*size:], a.In[:a.Root*size])
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if rel+mask < n {
			o.send(a.member(rel+mask), 0, all[mask*size:(mask+span(rel+mask, n))*size])
		}
	}
	if !same(out, all) {
		o.move(out, all[:size])
	}
}
