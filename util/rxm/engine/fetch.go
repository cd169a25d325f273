package engine

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// fetch is a message of the peer's that was announced, and has met its receive.
type fetch struct {
	exposed
	slot  int    // upper's
	id    uint64 // the peer's name
	ninto uint8
	nfrom uint8
	empty bool // there is no room, but for show
	into  [xengine.MaxIOV][]byte
	from  [xengine.MaxIOV]xwire.RMAIov // where the peer has it; in its place, where it is to write it
}

// Fetch implements the Fetcher of internal/xnet/engine: it takes note.
func (g *Gateway) Fetch(x *xengine.Fetch) {
	f := fetch{slot: x.Slot, id: x.ID}
	f.ninto = uint8(copy(f.into[:], x.Into))
	f.nfrom = uint8(copy(f.from[:], x.From))
	g.started.Push(tokFetch | g.fetches.add(f))
}

// startFetch has a message brought, and reports whether that could begin.
func (g *Gateway) startFetch(name uint64) bool {
	f := g.fetches.get(name)
	if g.cfg.RndvWrite {
		return g.askWrite(f, name)
	}
	if f.ninto == 0 {
		g.fetched(name)
		return true
	}
	room := uint64(0)
	for _, b := range f.into[:f.ninto] {
		room += uint64(len(b))
	}
	return g.took(g.low.Read(f.into[:f.ninto], trim(f.from[:f.nfrom], room), tokFetch|name))
}

// trim shortens ranges to n bytes altogether; they have as many. Empty ones are left out.
func trim(iov []xwire.RMAIov, n uint64) []xwire.RMAIov {
	k := 0
	for _, v := range iov {
		v.Len = min(v.Len, n)
		if n -= v.Len; v.Len > 0 {
			iov[k] = v
			k++
		}
	}
	return iov[:k]
}

// askWrite tells the peer where to write its message. It waits for the answer of a peer that wants to write nothing for ever, so that an empty receive offers
// a byte.
func (g *Gateway) askWrite(f *fetch, name uint64) bool {
	if _, twice := g.writes[f.id]; twice {
		g.protocol()
		return false
	}
	if f.ninto == 0 {
		f.into[0], f.ninto, f.empty = g.nothing[:], 1, true
	}
	handle, err := g.low.Expose(f.into[:f.ninto], true, f.from[:f.ninto])
	if err != nil {
		g.Fail(err) // the peer waits, and there is no way to tell it
		return false
	}
	f.exposed, f.nfrom = exposed{handle, true}, f.ninto
	if g.writes == nil {
		g.writes = make(map[uint64]uint64)
	}
	g.writes[f.id] = name
	g.control.Push(notice{kind: noticeWriteData, id: name})
	return true
}

// takeWriteDone completes a message that the peer has written, and reports whether it could: native says so over the first connection when what it wrote is still on its
// way over another.
func (g *Gateway) takeWriteDone(id uint64) bool {
	name, ok := g.writes[id]
	if !ok {
		g.protocol()
		return true
	}
	if f := g.fetches.get(name); g.cfg.Spread && f.exposed.is && g.low.Accessed(f.exposed.handle) < f.size() {
		return false
	}
	delete(g.writes, id)
	f := g.fetches.get(name)
	g.conceal(&f.exposed)
	slot := f.slot
	g.fetches.remove(name)
	g.up.Fetched(slot, nil)
	return true
}

// size is how long the message is, as far as there is room for it.
func (f *fetch) size() (n uint64) {
	if f.empty {
		return 0
	}
	for _, b := range f.into[:f.ninto] {
		n += uint64(len(b))
	}
	return n
}

// fetched completes a message that was read, and tells the peer.
func (g *Gateway) fetched(name uint64) {
	f := g.fetches.get(name)
	if f == nil {
		return
	}
	g.control.Push(notice{kind: noticeReadDone, id: f.id})
	slot := f.slot
	g.fetches.remove(name)
	g.up.Fetched(slot, nil)
}
