package endpoint

import (
	"math/rand/v2"
	"net/netip"
	"slices"

	"gofabric/core"
	coll "gofabric/internal/coll/schedule"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Collective operations (fi_collective(3)): the endpoint's table of groups. internal/coll/schedule plans an operation
// as sends and receives between members. This package posts them like a peer's other operations, but with an owner
// (collOp). The owner gets their completions and starts the next step.
//
// A message can arrive before this member has posted its receive, because other members may be a step ahead. Wanted
// decides which of these messages are kept. A failure ends the group at all members: each member that gives up
// sends an abort message to the others.

// collectives is the collective part of an endpoint. It implements engine.Collector. The domain's lock guards all
// of it.
type collectives struct {
	e      *Endpoint
	r      Router
	rx     *engine.RxContext
	groups []*group // by index in their address; nil where one was closed
	byID   map[uint32]*group
	joins  int // groups that are being joined
	// Ring of the groups closed last: a message for one of them is not for a group that is being joined.
	leftGroups [64]uint32
	leftCount  int
	peers      map[core.FIAddr]*collPeer
	active     int // operations in progress
	shared     int // those of active in groups that have other members on this host
	free       *collOp

	events []collEvent // failures that the engine reported, for Run
	queued bool

	send engine.Send
	done engine.Completion
	args coll.Args
}

// collPeer is a member of one or more groups.
type collPeer struct {
	fi       core.FIAddr
	addr     netip.AddrPort
	conn     *engine.Conn // the connection that its messages are expected on
	expected int          // number of messages
}

// expect adds n to the number of expected messages.
func (p *collPeer) expect(n int) {
	p.expected += n
	if p.conn != nil {
		p.conn.SetExpected(p.expected)
	}
}

// collEvent is a failure of a group or of a peer.
type collEvent struct {
	tag  uint64
	rank int    // rank of the member that gave up
	src  uint64 // source of its message
	peer *collPeer
	err  error
	tell bool // the other members do not know yet
}

// initCollective prepares e for collective operations, if it was opened for them.
func (e *Endpoint) initCollective(rx *engine.RxContext) {
	if e.info.Caps&core.CapCollective == 0 || e.info.EP.Type != core.EPTypeRDM {
		return
	}
	k := &collectives{e: e, r: e.tx.r, rx: rx, byID: map[uint32]*group{}, peers: map[core.FIAddr]*collPeer{}}
	e.coll = k
	rx.SetCollector(k)
}

// collectives returns the collective part of e, nil if there is none. Locked.
func (e *Endpoint) collectives() *collectives {
	k, _ := e.coll.(*collectives)
	return k
}

// A tag holds the group's number, the number of the operation in the group, and the step of the operation.
const (
	groupShift = wire.CollGroup
	seqShift   = 8
	seqMask    = 1<<24 - 1
	joinBit    = 1 << 31 // of the group: wire.CollJoin
)

func groupOf(tag uint64) uint32 { return uint32(tag >> groupShift) }

// Wanted implements engine.Collector. Other members may be ahead of this one, in an operation or in joining.
func (k *collectives) Wanted(tag, member uint64) bool {
	id := groupOf(tag)
	if id&joinBit != 0 {
		return tag&answerBit == 0 // no receive waits for this answer: it belongs to a join attempt that was given up
	}
	if g := k.byID[id]; g != nil {
		return g.err == nil && member < uint64(len(g.members))
	}
	return k.joins > 0 && !slices.Contains(k.leftGroups[:], id) // it may be for the group that is being joined; see sweep
}

// Aborted implements engine.Collector.
func (k *collectives) Aborted(tag, member, src uint64) {
	err, tell := error(core.Errno(member>>32&0xffff)), false
	if err == core.Errno(0) {
		err, tell = core.ErrConnReset, true // the peer refused a message of ours
	}
	k.note(collEvent{tag: tag, rank: int(uint32(member)), src: src, err: err, tell: tell})
}

// Moved implements engine.Collector.
func (k *collectives) Moved(from, to *engine.Conn) {
	for _, p := range k.peers {
		if p.conn == from {
			p.conn = to
		}
	}
}

// Lost implements engine.Collector.
func (k *collectives) Lost(c *engine.Conn, err error) {
	for _, p := range k.peers {
		if p.conn == c {
			p.conn = nil
			k.note(collEvent{peer: p, err: err, tell: true})
		}
	}
}

// note stores a failure and schedules Run. The engine reports failures from within its own calls, where no
// operation may be posted.
func (k *collectives) note(ev collEvent) {
	if k.e.closed {
		return
	}
	k.events = append(k.events, ev)
	if !k.queued {
		k.queued = true
		k.e.prog.RunOnUnlock(k)
	}
}

// Run implements progress.Task: it handles the failures that were noted.
func (k *collectives) Run() {
	k.queued = false
	events := k.events
	k.events = nil
	for _, ev := range events {
		if k.e.closed {
			break
		}
		for _, g := range k.groups {
			if g == nil || g.err != nil {
				continue
			}
			if ev.peer != nil && g.waitsFor(ev.peer) || ev.peer == nil && g.id == groupOf(ev.tag) && g.comesFrom(&ev) {
				g.fail(ev.err, ev.peer, ev.tell)
			} else if ev.peer == nil && g.joinID == groupOf(ev.tag) {
				g.joinWithdrawn(&ev)
			}
		}
	}
}

// peer returns the entry of an address in the vector, a new one if there is none.
func (k *collectives) peer(fi core.FIAddr) (*collPeer, error) {
	if p := k.peers[fi]; p != nil {
		return p, nil
	}
	a, err := k.e.av.Lookup(fi)
	if err != nil || !a.IP.IsValid() {
		return nil, core.ErrInval
	}
	p := &collPeer{fi: fi, addr: a.IP}
	k.peers[fi] = p
	return p, nil
}

// sweep drops messages for unknown groups. It keeps them while a join is in progress, since they may be for its
// group.
func (k *collectives) sweep() {
	if k.joins > 0 {
		return
	}
	k.discard(func(id uint32) bool { return id&joinBit == 0 && k.byID[id] == nil }, true)
}

// discard drops the unexpected messages of the groups that f selects. With tell it refuses them, so that the
// senders learn of it.
func (k *collectives) discard(f func(id uint32) bool, tell bool) {
	type refused struct {
		c   *engine.Conn
		tag uint64
	}
	var list []refused
	k.rx.DiscardColl(func(c *engine.Conn, tag uint64) bool {
		if !f(groupOf(tag)) {
			return false
		}
		list = append(list, refused{c, tag})
		return true
	})
	for _, r := range list {
		if r.c.State() != engine.Connected {
			continue
		}
		if tell {
			r.c.RefuseColl(r.tag)
		}
		k.r.Posted(r.c, false)
	}
}

// submitAbort sends a peer the message that this member gives up a group.
func (k *collectives) submitAbort(c *engine.Conn, tag uint64, rank int, why core.Errno) {
	k.send = engine.Send{Kind: engine.KindColl, Tag: tag, Data: wire.CollAbort | uint64(why&0xffff)<<32 | uint64(rank), Owner: ignored{}}
	c.SubmitColl(&k.send) // the error is ignored: the peer has ended, or has no collectives
}

// ignored is the owner of operations whose completion is not needed.
type ignored struct{}

func (ignored) Done(*engine.Completion) {}

// countLocalWaits counts n operations of a group that has other members on this host. A thread that waits for such
// operations yields its processor to them (progress.Engine.AddLocalWaits).
func (k *collectives) countLocalWaits(g *group, n int) {
	if g.hasLocalPeers {
		k.shared += n
		k.e.prog.AddLocalWaits(n)
	}
}

// end drops all state, because the endpoint is closing.
func (k *collectives) end() {
	k.e.prog.AddLocalWaits(-k.shared)
	k.shared = 0
	k.events, k.groups, k.byID, k.joins = nil, nil, nil, 0
}

// number draws a random number, which is unique with high probability.
func number() uint64 { return rand.Uint64() }
