package strict

import (
	"hash/maphash"
	"slices"

	"gofabric/core"
)

// op is an operation under way whose completion comes through a queue of this package.
type op struct {
	s       *state
	name    string // the C name of the call
	seq     uint64
	below   core.Context // what the stack below knows it by
	ctx     core.Context // the application's
	lent    bool         // ctx is in domain.inUse
	rx      bool
	tagged  bool
	silent  bool // no entry if it succeeds
	multi   bool
	swallow bool // its error is of no interest: it gave way to remote CQ data
	peek    bool
	claim   bool
	regions []*region
	prefix  int
	first   []byte // of a receive: the buffer with its prefix

	iov   [][]byte // the application's array, with FI_ASYNC_IOV
	same  [][]byte // what was in it
	sends [][]byte // transmitted: must not change meanwhile
	sum   uint64
}

// claim names a message that was peeked at, by who did and the context given (fi_tagged(3), FI_CLAIM).
type claim struct {
	s   *state
	ctx core.Context
}

// ctxBase marks contexts of this package: no address of a process, and no small number, looks like it.
const ctxBase core.Context = 0xf15c_0000_0000_0000

// track enters an operation into the domain's table, and lends its regions and its context to the provider.
func (d *domain) track(o *op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq++
	o.seq = d.seq
	if o.below == 0 {
		o.below = ctxBase | core.Context(d.seq&(1<<48-1))
	}
	d.ops[o.below] = o
	for _, r := range o.regions {
		r.users++
	}
	if o.lent {
		d.inUse[o.ctx] = true
	}
	if o.rx {
		o.s.rx++
	} else {
		o.s.tx++
	}
}

// end takes an operation out of the table.
func (d *domain) end(o *op) {
	d.mu.Lock()
	d.endLocked(o)
	d.mu.Unlock()
}

func (d *domain) endLocked(o *op) {
	if d.ops[o.below] != o {
		return
	}
	delete(d.ops, o.below)
	for _, r := range o.regions {
		r.users--
	}
	if o.lent {
		delete(d.inUse, o.ctx)
	}
	if o.rx {
		o.s.rx--
	} else {
		o.s.tx--
	}
}

// find returns the operation of a context from below, nil if it is not one of this package's.
func (d *domain) find(below core.Context) *op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops[below]
}

// forget drops all operations of an endpoint that is closed.
func (d *domain) forget(s *state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.ops {
		if o.s == s {
			d.endLocked(o)
		}
	}
	for c := range d.claims {
		if c.s == s {
			delete(d.claims, c)
		}
	}
	delete(d.eps, s)
}

// list returns the operations that f wants, the oldest first.
func (d *domain) list(f func(*op) bool) []*op {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*op
	for _, o := range d.ops {
		if f(o) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *op) int { return int(int64(a.seq) - int64(b.seq)) })
	return found
}

// Of a long buffer the first and the last bytes stand for all.
const sumEdge = 8 << 10

var sumSeed = maphash.MakeSeed()

// sumOf is a checksum of buffers.
func sumOf(iov [][]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	for _, b := range iov {
		if len(b) <= 2*sumEdge {
			h.Write(b)
			continue
		}
		h.Write(b[:sumEdge])
		h.Write(b[len(b)-sumEdge:])
	}
	return h.Sum64()
}

// broken says what the application did to an operation that was under way, "" if nothing.
func (o *op) broken() string {
	if o.sends != nil && sumOf(o.sends) != o.sum {
		return "the buffer was changed before the operation completed. On hardware: the adapter reads it when it gets to it, perhaps twice, so that the peer " +
			"receives the new bytes, or some of both"
	}
	for i := range o.same {
		if len(o.iov) != len(o.same) || len(o.iov[i]) != len(o.same[i]) || addressOf(o.iov[i]) != addressOf(o.same[i]) {
			return "the iov array was changed before the operation completed, which FI_ASYNC_IOV forbids. On hardware: the provider reads the array again, and " +
				"transfers whatever it names by then"
		}
	}
	return ""
}
