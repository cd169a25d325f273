package peers

import (
	"net/netip"

	"gofabric/core"
)

// table finds peers by index and by address. Every peer with a connection is in all. loop is the second connection of an endpoint with itself,
// which is in no other table.
type table struct {
	byFI   []*Peer
	byAddr map[netip.AddrPort]*Peer
	all    map[*Peer]struct{}
	loop   *Peer
	hidden map[netip.AddrPort]struct{} // who said that it is behind a firewall
}

// hiddenMax bounds how many such peers are remembered: addresses are the peers' own claims.
const hiddenMax = 1 << 16

func (t *table) init() {
	*t = table{byAddr: map[netip.AddrPort]*Peer{}, all: map[*Peer]struct{}{}, hidden: map[netip.AddrPort]struct{}{}}
}

// hide remembers that a peer cannot be connected to.
func (t *table) hide(a netip.AddrPort) {
	if len(t.hidden) < hiddenMax {
		t.hidden[a] = struct{}{}
	}
}

// add enters p under its address, and its index if it has one.
func (t *table) add(p *Peer) {
	t.all[p] = struct{}{}
	if p.role == loopRx {
		t.loop = p
		return
	}
	if p.addr.IsValid() {
		t.byAddr[p.addr] = p
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

// at and of return the peers with an address or an index: one, or an endpoint's two connections with itself; nil where there is none.
func (t *table) at(a netip.AddrPort) [2]*Peer {
	ps := [2]*Peer{t.byAddr[a]}
	if t.loop != nil && t.loop.addr == a {
		ps[1] = t.loop
	}
	return ps
}

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

func (t *table) remove(p *Peer) {
	delete(t.all, p)
	if t.loop == p {
		t.loop = nil
	}
	if t.byAddr[p.addr] == p {
		delete(t.byAddr, p.addr)
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
