package gateway

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// The receiver's half of a rendezvous: upper has matched an announcement with a receive, and the message must be
// fetched.
//
// rndvRecv is an announced message that has met its receive.
type rndvRecv struct {
	exposed
	slot    int    // upper's name for it
	id      uint64 // the peer's name for it
	nbufs   uint8  // parts of the receive
	nranges uint8
	empty   bool // the receive is empty, and bufs is emptyBuf
	bufs    [xengine.MaxIOV][]byte
	ranges  [xengine.MaxIOV]xwire.RMAIov // the message in the peer's memory; with RndvWrite the receive in ours
}

// Fetch implements xengine.Fetcher. It only queues the transfer, because upper must not be called back from here.
func (g *Gateway) Fetch(x *xengine.Fetch) {
	f := rndvRecv{slot: x.Slot, id: x.ID}
	f.nbufs = uint8(copy(f.bufs[:], x.Into))
	f.nranges = uint8(copy(f.ranges[:], x.From))
	g.transfers.Push(tokRndvRecv | g.rndvRecvs.add(f))
}

// startReceive reads a message, or asks the peer to write it. It reports whether Lower took the request.
func (g *Gateway) startReceive(name uint64) bool {
	// Upper does not withdraw a fetch, so the name is valid.
	f := g.rndvRecvs.get(name)
	// Both ends have this setting.
	if g.cfg.RndvWrite {
		return g.requestWrite(f, name)
	}
	if f.nbufs == 0 {
		g.completeRead(name)
		return true
	}
	// Read only as much as the receive has room for; the rest is truncated.
	room := uint64(0)
	for _, b := range f.bufs[:f.nbufs] {
		room += uint64(len(b))
	}
	return g.accepted(g.low.Read(f.bufs[:f.nbufs], shortenRanges(f.ranges[:f.nranges], room), tokRndvRecv|name))
}

// shortenRanges shortens ranges to n bytes altogether, and drops empty ones. They have at least n bytes.
func shortenRanges(iov []xwire.RMAIov, n uint64) []xwire.RMAIov {
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

// requestWrite asks the peer to write its message into the receive. A native peer that has to write nothing never
// answers, so an empty receive offers a byte.
func (g *Gateway) requestWrite(f *rndvRecv, name uint64) bool {
	// The peer has used one name for two messages.
	if _, twice := g.writes[f.id]; twice {
		g.violation()
		return false
	}
	if f.nbufs == 0 {
		f.bufs[0], f.nbufs, f.empty = g.emptyBuf[:], 1, true
	}
	// The peer may write into the receive from now on, until write_done.
	handle, err := g.low.Expose(f.bufs[:f.nbufs], true, f.ranges[:f.nbufs])
	if err != nil {
		g.Fail(err) // the peer waits, and the protocol has no refusal
		return false
	}
	f.exposed, f.nranges = exposed{handle, true}, f.nbufs
	if g.writes == nil {
		g.writes = make(map[uint64]uint64)
	}
	g.writes[f.id] = name
	g.control.Push(controlPacket{kind: controlWriteData, id: name})
	return true
}

// receiveWriteDone completes a message that the peer has written. It reports false if data is still missing: native
// sends write_done over the main connection without waiting for its writes on the others.
func (g *Gateway) receiveWriteDone(id uint64) bool {
	// Only a message that the peer was asked to write.
	name, ok := g.writes[id]
	if !ok {
		g.violation()
		return true
	}
	if f := g.rndvRecvs.get(name); g.cfg.Spread && f.exposed.is && g.low.Accessed(f.exposed.handle) < f.size() {
		return false
	}
	delete(g.writes, id)
	f := g.rndvRecvs.get(name)
	g.conceal(&f.exposed)
	slot := f.slot
	g.rndvRecvs.remove(name)
	g.up.Fetched(slot, nil)
	return true
}

// size is how many bytes the peer has to write.
func (f *rndvRecv) size() (n uint64) {
	if f.empty {
		return 0
	}
	for _, b := range f.bufs[:f.nbufs] {
		n += uint64(len(b))
	}
	return n
}

// completeRead completes a message that was read, and queues read_done.
func (g *Gateway) completeRead(name uint64) {
	f := g.rndvRecvs.get(name)
	// The connection has ended in the meantime.
	if f == nil {
		return
	}
	g.control.Push(controlPacket{kind: controlReadDone, id: f.id})
	slot := f.slot
	g.rndvRecvs.remove(name)
	g.up.Fetched(slot, nil)
}
