package endpoint

import (
	"hash/fnv"
	"net/netip"
	"slices"

	"gofabric/av"
	"gofabric/core"
	coll "gofabric/internal/coll/schedule"
	"gofabric/internal/xnet/engine"
)

// groupBit marks the addresses of groups. No index of a vector and no address of a set has it.
const groupBit = 1 << 62

// noGroup is the number of a group that has none yet. No group and no join uses it.
const noGroup = joinBit

// group is a group of endpoints that this endpoint has joined or is joining. It implements core.MCDriver.
type group struct {
	k             *collectives
	id            uint32 // noGroup until the members have agreed
	joinID        uint32 // hash of the members with joinBit: the same for all joins by these members
	place         int
	rank          int
	seq           uint32
	members       []*collPeer     // by rank; nil at this member's rank
	allowed       core.AVSetFlags // the collectives that the set was opened for; 0: all
	ops           []*collOp
	err           error // not nil: the group has failed or is closed, for this reason
	set           *av.Set
	hasLocalPeers bool // other members are on this host

	ctx      any      // of the join
	self     *core.MC // the application's handle
	joining  *joining // nil when the join has ended
	attempts []uint32 // numbers of join attempts: at rank 0 those of the others by rank, elsewhere our own
}

// JoinCollective joins the group of the members of a set (fi_join_collective, fi_collective(3)). made returns the
// application's handle of the new group. The end of the join is an event on the bound event queue.
func (e *Endpoint) JoinCollective(addr core.FIAddr, set core.AVSetDriver, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	const op = "fi_join_collective"
	e.prog.Lock()
	defer e.prog.Unlock()
	s, ok := set.(*av.Set)
	k := e.collectives()
	switch {
	case k == nil:
		return e.Refuse(op, NoPeer, core.ErrOpNotSupp, "open an RDM endpoint with CapCollective")
	case !e.enabled:
		return e.Refuse(op, NoPeer, core.ErrOpBadState, "enable the endpoint first")
	case e.eq == nil:
		return e.Refuse(op, NoPeer, core.ErrNoEQ, "bind an event queue first")
	case flags&^core.JoinCollective != 0:
		return e.Refuse(op, NoPeer, core.ErrBadFlags, "the flags must be 0 or JoinCollective")
	case !ok || s.Table() != e.av.Table:
		return e.Refuse(op, NoPeer, core.ErrInval, "the set must be one of the endpoint's address vector")
	case addr != core.AddrNotAvail && addr != s.Addr() && k.at(addr) == nil:
		return e.Refuse(op, NoPeer, core.ErrInval, "the address must be that of a set or of a group")
	}
	g, err := k.newGroup(s)
	if err != nil {
		return e.Refuse(op, NoPeer, err, "the endpoint must be one of the members, which must all be in the address vector")
	}
	g.ctx, g.self = ctx, made(g)
	s.Ref()
	g.join()
	return nil
}

// at returns the group with an address, nil if there is none.
func (k *collectives) at(addr core.FIAddr) *group {
	if i := addr &^ groupBit; addr&groupBit != 0 && uint64(i) < uint64(len(k.groups)) {
		return k.groups[i]
	}
	return nil
}

// newGroup makes a group of the members of a set.
func (k *collectives) newGroup(s *av.Set) (*group, error) {
	fis := s.Members()
	if len(fis) > coll.MaxMembers {
		return nil, core.ErrInval
	}
	local, _ := k.e.ends(^uint64(0))
	local = netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
	g := &group{k: k, rank: -1, place: -1, set: s, allowed: s.Flags() & core.AVSetCollectives}
	h, here := fnv.New32a(), 0
	for i, fi := range fis {
		p, err := k.peer(fi)
		if err != nil {
			return nil, err
		}
		b, _ := p.addr.MarshalBinary()
		h.Write(b)
		if p.addr.Addr() == local.Addr() || p.addr.Addr().IsLoopback() {
			here++
		}
		if p.addr == local && g.rank < 0 {
			g.rank, p = i, nil
		}
		g.members = append(g.members, p)
	}
	if g.rank < 0 {
		return nil, core.ErrInval
	}
	g.hasLocalPeers = here > 1
	g.id, g.joinID = noGroup, h.Sum32()|joinBit
	for i, other := range k.groups {
		if other == nil {
			g.place = i
		}
	}
	if g.place < 0 {
		g.place = len(k.groups)
		k.groups = append(k.groups, nil)
	}
	k.groups[g.place] = g
	return g, nil
}

// Addr returns the group's address for collective operations (fi_mc_addr, fi_cm(3)).
func (g *group) Addr() core.FIAddr { return groupBit | core.FIAddr(g.place) }

// Close leaves the group (fi_close(3)). Operations in progress end with ErrCanceled, and fail at the other members.
func (g *group) Close() error {
	k := g.k
	k.e.prog.Lock()
	defer k.e.prog.Unlock()
	if g.set == nil {
		return core.ErrBadF
	}
	g.set.Unref()
	g.set = nil
	if k.e.closed {
		return nil
	}
	if g.err == nil && (len(g.ops) > 0 || g.joining != nil) {
		g.fail(core.ErrCanceled, nil, true)
	}
	if g.err == nil {
		g.err = core.ErrBadF
	}
	if k.byID[g.id] == g {
		delete(k.byID, g.id)
		k.leftGroups[k.leftCount%len(k.leftGroups)] = g.id
		k.leftCount++
	}
	k.groups[g.place] = nil
	k.discard(func(id uint32) bool { return id == g.id }, true)
	return nil
}

// waitsFor reports whether an operation or a join of the group still needs a message from p.
func (g *group) waitsFor(p *collPeer) bool {
	if g.joining != nil && p != nil && (g.members[0] == p || g.rank == 0 && slices.Contains(g.members, p)) {
		return true
	}
	for rank, m := range g.members {
		if m != p {
			continue
		}
		for _, o := range g.ops {
			if o.plan.Expects(rank) {
				return true
			}
		}
	}
	return false
}

// comesFrom reports whether an abort comes from a member of the group. An abort that a member began must come from
// the rank that it names. A refusal may come from any member. A source in no address vector cannot be checked and
// passes.
func (g *group) comesFrom(ev *collEvent) bool {
	if ev.src == engine.AnySource {
		return true
	}
	if !ev.tell {
		return ev.rank < len(g.members) && g.is(ev.rank, ev.src)
	}
	for rank := range g.members {
		if g.is(rank, ev.src) {
			return true
		}
	}
	return false
}

// fail ends the group with err. lost is the member that has failed, nil if it is none. With tell, fail sends an
// abort to the other members.
func (g *group) fail(err error, lost *collPeer, tell bool) {
	if g.err != nil {
		return
	}
	k := g.k
	g.err = err
	for _, o := range g.ops {
		k.rx.CancelColl(o, func(slot uint64) {
			rank, _ := o.plan.Slot(int(slot))
			o.plan.Finished(int(slot))
			g.members[rank].expect(-1)
			o.pending--
		})
		o.later()
	}
	if j := g.joining; j != nil {
		if tell {
			j.giveUp(lost)
		}
		j.end(err)
	}
	id := g.id
	if id == noGroup {
		return
	}
	k.discard(func(of uint32) bool { return of == id }, false)
	if !tell {
		return
	}
	for _, p := range g.members {
		if p == nil || p == lost {
			continue
		}
		if c, err := k.r.Route(p.fi); err == nil {
			k.submitAbort(c, uint64(id)<<groupShift, g.rank, Errno(g.err))
			k.r.Posted(c, false)
		}
	}
}
