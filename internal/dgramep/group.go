// Multicast groups of an endpoint (fi_join, fi_cm(3)). A joined group has an address of its own for sends.

package dgramep

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/transport/datagram"
)

// groupBit distinguishes the address of a joined group from an index into the address vector, which is much
// smaller.
const groupBit core.FIAddr = 1 << 63

// groupsMax bounds the memberships of an endpoint.
const groupsMax = 1 << 12

// groups are an endpoint's memberships.
type groups struct {
	list    []*group           // by the low bits of their addresses; nil where a group was left
	open    int                // number of groups in list
	members map[netip.Addr]int // number of entries in list for each group
}

// group is a membership in a multicast group (struct fid_mc, fi_cm(3)).
type group struct {
	e     *dgramEndpoint
	at    netip.AddrPort
	index int
	recv  bool
	left  bool
	self  *core.MC // the application's object
}

// Join implements core.Multicaster.
func (e *dgramEndpoint) Join(addr core.Addr, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	refuse := func(err error, hint string) error { return e.Refuse("fi_join", addr.IP, err, hint) }
	if flags&^(core.JoinSend|core.JoinRecv) != 0 {
		return refuse(core.ErrBadFlags, "flags are JoinSend, JoinRecv or none")
	}
	if a := addr.IP.Addr(); !a.Unmap().IsMulticast() {
		return refuse(core.ErrInval, "not a multicast address")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	switch {
	case e.EQ() == nil:
		return refuse(core.ErrNoEQ, "bind an event queue first")
	case !e.Enabled():
		return refuse(core.ErrOpBadState, "enable the endpoint first")
	case e.groups.open >= groupsMax:
		return refuse(core.ErrNoSpc, "the endpoint has joined as many groups as it can")
	}
	ip, number := addr.IP.Addr().Unmap(), addr.IP.Port()
	if number == 0 {
		number = e.port.Local().Port()
	}
	g := &group{e: e, at: netip.AddrPortFrom(ip, number)}
	g.recv = e.Info().Caps&core.CapRecv != 0 && flags != core.JoinSend
	if g.recv && e.groups.members[ip] == 0 {
		j, ok := e.port.(datagram.Joiner)
		if !ok {
			return refuse(core.ErrNoSys, "the provider has no multicast")
		}
		if err := j.Join(ip); err != nil {
			return err
		}
	}
	e.groups.add(g)
	g.self = made(g)
	e.EQ().Push(core.EQEvent{Type: core.EventJoinComplete, Object: g.self, Context: ctx})
	return nil
}

// add gives g an address.
func (t *groups) add(g *group) {
	if t.members == nil {
		t.members = map[netip.Addr]int{}
	}
	if g.recv {
		t.members[g.at.Addr()]++
	}
	t.open++
	for i, other := range t.list {
		if other == nil {
			g.index, t.list[i] = i, g
			return
		}
	}
	g.index = len(t.list)
	t.list = append(t.list, g)
}

// groupAt returns the group of an address.
func (e *dgramEndpoint) groupAt(fi core.FIAddr) (netip.AddrPort, bool) {
	i := fi &^ groupBit
	if i >= core.FIAddr(len(e.groups.list)) || e.groups.list[i] == nil {
		return netip.AddrPort{}, false
	}
	return e.groups.list[i].at, true
}

// Addr is fi_mc_addr (fi_cm(3)).
func (g *group) Addr() core.FIAddr { return groupBit | core.FIAddr(g.index) }

// Close leaves the group (fi_close(3)).
func (g *group) Close() error {
	e := g.e
	e.prog.Lock()
	defer e.prog.Unlock()
	if g.left {
		return core.ErrBadF
	}
	if ip := g.at.Addr(); g.recv {
		if e.groups.members[ip] == 1 {
			if err := e.port.(datagram.Joiner).Leave(ip); err != nil {
				return e.Refuse("fi_close", endpoint.NoPeer, err, "")
			}
		}
		if e.groups.members[ip]--; e.groups.members[ip] == 0 {
			delete(e.groups.members, ip)
		}
	}
	g.left = true
	e.groups.list[g.index] = nil
	e.groups.open--
	e.EQ().PurgeObject(g.self)
	return nil
}
