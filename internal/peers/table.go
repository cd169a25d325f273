package peers

import (
	"net/netip"

	"gofabric/core"
)

// table finds peers by their index in the address vector. loop is the second connection of an endpoint with itself.
// It is not in byFI.
type table struct {
	byFI []*Peer
	loop *Peer
}

// add adds p, which was accepted.
func (t *table) add(p *Peer) {
	if p.c.Loop() == 2 {
		t.loop = p
		return
	}
	t.index(p)
}

func (t *table) index(p *Peer) {
	if p.fi == core.AddrNotAvail {
		return
	}
	for uint64(len(t.byFI)) <= uint64(p.fi) {
		t.byFI = append(t.byFI, nil)
	}
	t.byFI[p.fi] = p
}

// loopAt returns loop if its address is a, else nil.
func (t *table) loopAt(a netip.AddrPort) *Peer {
	if t.loop != nil && t.loop.addr == a {
		return t.loop
	}
	return nil
}

// of returns the peers with an index: none, one, or the two connections of an endpoint with itself.
func (t *table) of(fi core.FIAddr) [2]*Peer {
	var ps [2]*Peer
	if uint64(fi) < uint64(len(t.byFI)) {
		ps[0] = t.byFI[fi]
	}
	if t.loop != nil && t.loop.fi == fi {
		ps[1] = t.loop
	}
	return ps
}

// remove removes p under all its indices. Only a peer that had several needs the search.
func (t *table) remove(p *Peer) {
	if t.loop == p {
		t.loop = nil
	}
	if uint64(p.fi) < uint64(len(t.byFI)) && t.byFI[p.fi] == p {
		t.byFI[p.fi] = nil
	}
	if !p.named {
		return
	}
	for fi, q := range t.byFI {
		if q == p {
			t.byFI[fi] = nil
		}
	}
}
