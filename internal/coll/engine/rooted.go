package engine

// Operations with a root. Ranks are counted from the root: rel is 0 there.

// Sizes from which data is cut into blocks, bytes, measured as those of operations without a root. A tree of broadcast or reduce is the least work even for a megabyte, but
// not the least time where members have processors, or a network, of their own.
const (
	treeMax  = 256 << 10 // of broadcast and reduce, altogether
	blockMax = 4 << 10   // of gather and scatter, one member's block
	fewMax   = 8         // members whom the root deals with one by one in any case
)

func (a *Args) rel() int           { return mod(a.Rank-a.Root, a.Members) }
func (a *Args) member(rel int) int { return (rel + a.Root) % a.Members }

// lowBit is the mask of the parent in a binomial tree: rel's lowest bit; for the root, the first power of two that is not below n.
func lowBit(rel, n int) int {
	mask := 1
	for mask < n && rel&mask == 0 {
		mask <<= 1
	}
	return mask
}

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
	for mask >>= 1; mask > 0; mask >>= 1 {
		if rel+mask < a.Members {
			o.send(a.member(rel+mask), 0, b)
		}
	}
}

// scatterRing is the broadcast of large data: the root gives everybody a part, and the parts go round.
func (o *Op) scatterRing(a *Args, b []byte) {
	n, rel := a.Members, a.rel()
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
		if rel != n-1 { // the right one is the root
			o.send(right, s+1, cut(rel-s))
		}
		mine = next
	}
}

// reduceTo brings the reduction of everybody's data to the root.
func (o *Op) reduceTo(a *Args) {
	if a.Block > treeMax && a.Members > 2 {
		o.reduceBlocks(a)
		return
	}
	rel, size := a.rel(), a.Block
	mask := lowBit(rel, a.Members)
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
	sum := a.In[:size]
	if n > 0 {
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
	if rel != 0 {
		o.send(a.member(rel-mask), 0, sum)
	}
}

// reduceBlocks is the reduction of large data: every member reduces a block of it, and sends it to the root.
func (o *Op) reduceBlocks(a *Args) {
	c := o.cuts(a.Block, a.Members)
	if a.Rank != a.Root {
		own, steps := o.scatterReduced(a, c, nil)
		o.send(a.Root, steps, own)
		return
	}
	out := a.Out[:a.Block]
	_, steps := o.scatterReduced(a, c, out)
	for i := range a.Members {
		if i != a.Rank {
			o.recv(i, steps, c.cut(out, i, i+1))
		}
	}
}

// span is how many members the subtree of rel has in a binomial tree.
func span(rel, n int) int { return min(lowBit(rel, n), n-rel) }

// gather brings everybody's block to the root.
func (o *Op) gather(a *Args) {
	n, rel, size := a.Members, a.rel(), a.Block
	in := a.In[:size]
	if size > blockMax || n <= fewMax {
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
	all := in
	if kids := span(rel, n); kids > 1 {
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
	case a.Root != 0:
		o.move(a.Out[a.Root*size:n*size], all)
		o.move(a.Out[:a.Root*size], all[(n-a.Root)*size:])
	}
}

// scatter gives everybody a block of the root's.
func (o *Op) scatter(a *Args) {
	n, rel, size := a.Members, a.rel(), a.Block
	out := a.Out[:size]
	if size > blockMax || n <= fewMax {
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
