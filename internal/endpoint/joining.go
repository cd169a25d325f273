package endpoint

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Joining a group: the members agree on the group's number. Each member sends rank 0 a request with the number of
// its attempt. When all have asked, rank 0 draws the group's number and sends it to every member. A member that
// gives up withdraws its request, or ends the group if it has the answer already. When rank 0 gives up, it refuses
// the requests.

// The low bits of a join's tag are the attempt and answerBit. Attempt 0 stands for all attempts.
const (
	attemptShift = 1
	answerBit    = 1
	attemptMask  = 1<<32 - 1
)

// joining is the state of a join. It implements engine.Owner and progress.Task.
type joining struct {
	g       *group
	left    int  // at rank 0: the number of members that have not asked
	decided bool // the group has its number
	at      int  // at rank 0: the rank that gets the next answer; elsewhere 1 when the request is sent
	reply   [8]byte
	empty   [0]byte
	err     error
	queued  bool
	over    bool
}

// join starts the join.
func (g *group) join() {
	k := g.k
	k.joins++
	j := &joining{g: g}
	g.joining = j
	if g.rank != 0 {
		g.attempts = []uint32{1 + rand.Uint32N(1<<31-2)}
		j.expect(0, g.attempts[0]<<attemptShift|answerBit, 0, j.reply[:])
	} else {
		g.attempts = make([]uint32, len(g.members))
		for rank := 1; rank < len(g.members); rank++ {
			j.left++
			j.expect(rank, 0, attemptMask&^answerBit, j.empty[:])
		}
	}
	j.Run()
}

// expect posts a receive from a member. rank 0 posts it again for a member that has withdrawn its request.
func (j *joining) expect(rank int, low uint32, ignore uint64, buf []byte) {
	k, p := j.g.k, j.g.members[rank]
	c, err := k.r.Route(p.fi)
	if err == nil && c.LacksCollectives() {
		err = engine.ErrUnsupported
	}
	if err != nil {
		j.err = err
		return
	}
	p.conn = c
	p.expect(1)
	op := k.rx.NewColl()
	op.SetBuf(buf)
	op.Ctx, op.Owner = uint64(rank), j
	queued := c.Queued()
	k.rx.PostColl(op, uint64(j.g.joinID)<<groupShift|uint64(low), uint64(rank), c.Src, ignore)
	if c.Queued() != queued {
		k.r.Posted(c, false)
	}
}

// Done implements engine.Owner.
func (j *joining) Done(c *engine.Completion) {
	g := j.g
	if c.Kind != engine.KindRecv {
		if c.Err != nil && j.err == nil {
			j.err = c.Err
		}
		j.later()
		return
	}
	rank := int(c.Ctx)
	if j.over || c.Err != nil {
		g.members[rank].expect(-1)
	}
	switch {
	case j.over:
		return
	case c.Err != nil:
		j.err = c.Err
	case g.rank == 0: // the member stays expected until the end: without it there is no group
		g.attempts[rank] = uint32(c.Tag) >> attemptShift
		j.left--
	default:
		g.members[0].expect(-1)
		if c.Len != uint64(len(j.reply)) {
			j.err = engine.ErrProtocol
		} else { // at once: the next message may be for the group
			j.decide(uint32(binary.LittleEndian.Uint64(j.reply[:])))
		}
	}
	j.later()
}

// decide sets the group's number. It fails if the number is in use.
func (j *joining) decide(id uint32) {
	g := j.g
	if id &^= joinBit; id == 0 || g.k.byID[id] != nil {
		j.err = core.ErrAgain // the number is in use here, by chance of one in 2^31
		return
	}
	j.decided = true
	g.id, g.seq = id, 0
	g.k.byID[id] = g
}

func (j *joining) later() {
	if !j.queued && !j.over && !j.g.k.e.closed {
		j.queued = true
		j.g.k.e.prog.RunOnUnlock(j)
	}
}

// Run implements progress.Task.
func (j *joining) Run() {
	j.queued = false
	g := j.g
	k := g.k
	if j.over || k.e.closed {
		return
	}
	if j.err == nil && g.rank == 0 && j.left == 0 && !j.decided {
		for j.err = core.ErrAgain; j.err == core.ErrAgain; {
			j.err = nil
			j.decide(uint32(number()))
		}
		binary.LittleEndian.PutUint64(j.reply[:], uint64(g.id))
		j.at = 1
	}
	for j.err == nil && (g.rank == 0 && j.decided && j.at < len(g.members) || g.rank != 0 && j.at == 0) {
		to, low, buf := 0, uint32(0), j.empty[:]
		if g.rank == 0 {
			to, low, buf = j.at, g.attempts[j.at]<<attemptShift|answerBit, j.reply[:]
		} else {
			low = g.attempts[0] << attemptShift
		}
		if !j.transmit(to, low, buf) {
			j.queued = true
			k.e.prog.RunAfterPass(j)
			return
		}
		j.at++
	}
	switch {
	case j.err != nil:
		g.fail(j.err, nil, true)
	case j.decided:
		j.end(nil)
	}
}

// transmit sends a join message. It returns false if there is no room for it now.
func (j *joining) transmit(to int, low uint32, buf []byte) bool {
	k := j.g.k
	c, err := k.r.Route(j.g.members[to].fi)
	if err != nil {
		j.err = err
		return true
	}
	s := &k.send
	*s = engine.Send{Kind: engine.KindColl, Tag: uint64(j.g.joinID)<<groupShift | uint64(low), Data: uint64(j.g.rank), Owner: j}
	s.IOV[0], s.NIOV = buf, 1
	_, err = c.SubmitColl(s)
	s.IOV[0], s.Owner = nil, nil
	if err == engine.ErrAgain {
		return false
	}
	if j.err = err; err == nil {
		k.r.Posted(c, false)
	}
	return true
}

// end ends the join and reports it to the application.
func (j *joining) end(err error) {
	g := j.g
	k := g.k
	j.over = true
	g.joining = nil
	k.rx.CancelColl(j, func(rank uint64) { g.members[rank].expect(-1) })
	if g.rank == 0 {
		for rank, a := range g.attempts {
			if a != 0 {
				g.members[rank].expect(-1)
			}
		}
	}
	k.joins--
	k.sweep()
	if g.set == nil { // the application has closed the group in the meantime
		return
	}
	if err == nil {
		k.e.eq.Push(core.EQEvent{Type: core.EventJoinComplete, Object: g.self, Context: g.ctx})
		return
	}
	k.e.eq.PushErr(core.EQErrEntry{Object: g.self, Context: g.ctx, Err: Errno(err), ProvErrno: ProvErrno(err),
		Detail: k.e.d.cfg.Names.Detail("joining a group", NoPeer, NoPeer, err)})
}

// giveUp sends the other members the message that this one does not join. lost, which has failed, gets none.
func (j *joining) giveUp(lost *collPeer) {
	g := j.g
	tell := func(p *collPeer, low uint32) {
		if p == lost {
			return
		}
		if c, err := g.k.r.Route(p.fi); err == nil {
			g.k.submitAbort(c, uint64(g.joinID)<<groupShift|uint64(low), g.rank, Errno(g.err))
			g.k.r.Posted(c, false)
		}
	}
	if g.rank != 0 {
		tell(g.members[0], g.attempts[0]<<attemptShift)
		return
	}
	for rank := max(j.at, 1); rank < len(g.members); rank++ {
		switch a := g.attempts[rank]; {
		case a != 0:
			tell(g.members[rank], a<<attemptShift|answerBit)
		// A member that has not asked yet gets it, too, unless the application has closed the group and may join
		// again.
		case g.set != nil:
			tell(g.members[rank], answerBit)
		}
	}
}

// joinWithdrawn handles a join attempt that another member has withdrawn.
func (g *group) joinWithdrawn(ev *collEvent) {
	a := uint32(ev.tag) >> attemptShift
	j := g.joining
	if g.rank != 0 {
		if j != nil && !j.decided && (a == 0 || a == g.attempts[0]) && g.is(0, ev.src) {
			g.fail(ev.err, nil, a == 0)
		}
		return
	}
	rank := slices.Index(g.attempts, a)
	switch {
	case a == 0 || rank < 1 || !g.is(rank, ev.src):
	case j != nil && !j.decided: // it may ask again
		g.members[rank].expect(-1)
		g.attempts[rank] = 0
		j.left++
		j.expect(rank, 0, attemptMask&^answerBit, j.empty[:])
		j.later()
	default:
		g.fail(ev.err, nil, true)
	}
}

// is reports whether src can be the member with a rank. It returns true for an unknown source.
func (g *group) is(rank int, src uint64) bool {
	p := g.members[rank]
	return src == engine.AnySource || p != nil && uint64(g.k.e.av.ReverseAddrPort(p.addr)) == src
}
