package strict

import (
	"hash/maphash"
	"slices"

	"gofabric/core"
)

// claim identifies a message that was peeked at, by the endpoint and the context (fi_tagged(3), FI_CLAIM).
type claim struct {
	s   *state
	ctx core.OpContext
}

// ctxBase marks contexts of this package. It differs from all addresses of a process and from small numbers.
const ctxBase core.OpContext = 0xf15c_0000_0000_0000

// track adds a transfer to the domain's table. The provider borrows its regions and its context.
func (d *domain) track(t *transfer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq++
	t.seq = d.seq
	if t.id == 0 {
		t.id = ctxBase | core.OpContext(d.seq&(1<<48-1))
	}
	d.transfers[t.id] = t
	for _, r := range t.regions {
		r.users++
	}
	if t.lent {
		d.inUse[t.Ctx] = true
	}
	t.s.dir(&t.Op).n++
}

// end removes a transfer from the table.
func (d *domain) end(t *transfer) {
	d.mu.Lock()
	d.endLocked(t)
	d.mu.Unlock()
}

func (d *domain) endLocked(t *transfer) {
	if d.transfers[t.id] != t {
		return
	}
	delete(d.transfers, t.id)
	for _, r := range t.regions {
		r.users--
	}
	if t.lent {
		delete(d.inUse, t.Ctx)
	}
	t.s.dir(&t.Op).n--
}

// find returns the transfer of a context from below, nil if the context is not one of this package.
func (d *domain) find(below core.OpContext) *transfer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.transfers[below]
}

// forget drops all transfers of an endpoint that is closed.
func (d *domain) forget(s *state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.transfers {
		if t.s == s {
			d.endLocked(t)
		}
	}
	for c := range d.claims {
		if c.s == s {
			delete(d.claims, c)
		}
	}
	delete(d.eps, s)
}

// list returns the transfers for which f is true, the oldest first.
func (d *domain) list(f func(*transfer) bool) []*transfer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*transfer
	for _, t := range d.transfers {
		if f(t) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *transfer) int { return int(int64(a.seq) - int64(b.seq)) })
	return found
}

// The checksum of a long buffer covers its first and last bytes.
const sumEdge = 8 << 10

var sumSeed = maphash.MakeSeed()

// sumOf returns a checksum of buffers.
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

// broken says how the application violated the rules for a transfer that was under way, or returns "".
func (t *transfer) broken() string {
	if t.sends && sumOf(t.IOV) != t.sum {
		return "the buffer was changed before the operation completed. On hardware: the adapter reads it at some later time, perhaps twice, so that the peer " +
			"receives the new bytes, or some of both"
	}
	for i := range t.same {
		if len(t.array[i]) != len(t.same[i]) || addressOf(t.array[i]) != addressOf(t.same[i]) {
			return "the iov array was changed before the operation completed, which FI_ASYNC_IOV forbids. On hardware: the provider reads the array again, and " +
				"transfers the buffers that it names then"
		}
	}
	return ""
}
