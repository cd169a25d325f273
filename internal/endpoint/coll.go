package endpoint

import (
	"math/rand/v2"
	"net/netip"
	"slices"

	"gofabric/core"
	coll "gofabric/internal/coll/engine"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Collective operations (fi_collective(3)): what an endpoint knows of groups. internal/coll/engine says what to send to whom; here that is posted, like a peer's
// other operations but with an owner (collOp), who goes on when it is told of the ends.

// collectives is the part of an endpoint for collective operations. It implements engine.Collector. Everything is guarded by the domain's lock.
type collectives struct {
	e      *Endpoint
	r      Router
	rx     *engine.RxContext
	groups []*group // by place in their address; nil where one was closed
	byID   map[uint32]*group
	joins  int        // groups that are being joined
	left   [64]uint32 // the latest groups that were left, in a ring: what comes for them is not for one that is being joined
	lefts  int
	peers  map[core.FIAddr]*collPeer
	active int // operations under way
	shared int // of them, those of groups with other members on this host
	free   *collOp

	events []collEvent // what the Collector was told, for Run
	queued bool

	send engine.Send
	done engine.Completion
	args coll.Args
}

// collPeer is a member of one or more groups.
type collPeer struct {
	fi       core.FIAddr
	addr     netip.AddrPort
	conn     *engine.Conn // where its messages are expected
	expected int          // how many
}

// expect changes the number of messages that are expected.
func (p *collPeer) expect(n int) {
	p.expected += n
	if p.conn != nil {
		p.conn.SetExpected(p.expected)
	}
}

// collEvent is bad news: of a group, or of a peer.
type collEvent struct {
	tag  uint64
	rank int    // of who gave up
	src  uint64 // and its source
	peer *collPeer
	err  error
	tell bool // the others do not know
}

// initCollective prepares e for collective operations, if it was opened for them.
func (e *Endpoint) initCollective(t *Transmitter, rx *engine.RxContext) {
	if e.info.Caps&core.CapCollective == 0 || t == nil || e.info.EP == nil || e.info.EP.Type != core.EPTypeRDM {
		return
	}
	e.coll = &collectives{e: e, r: t.r, rx: rx, byID: map[uint32]*group{}, peers: map[core.FIAddr]*collPeer{}}
	rx.SetCollector(e.coll)
}

// A tag is the group, the number of the operation in it, and the step of the operation.
const (
	groupShift = wire.CollGroup
	seqShift   = 8
	seqMask    = 1<<24 - 1
	joinBit    = 1 << 31 // of the group: wire.CollJoin
)

func groupOf(tag uint64) uint32 { return uint32(tag >> groupShift) }

// Wanted implements engine.Collector: others may be ahead of us, in a group or in joining one.
func (k *collectives) Wanted(tag, member uint64) bool {
	id := groupOf(tag)
	if id&joinBit != 0 {
		return tag&answerBit == 0 // an answer that nobody waits for is to an attempt that was given up
	}
	if g := k.byID[id]; g != nil {
		return g.err == nil && member < uint64(len(g.members))
	}
	return k.joins > 0 && !slices.Contains(k.left[:], id) // perhaps the group that is being joined: see sweep
}

// Aborted implements engine.Collector.
func (k *collectives) Aborted(tag, member, src uint64) {
	err, tell := error(core.Errno(member>>32&0xffff)), false
	if err == core.Errno(0) {
		err, tell = core.ErrConnReset, true // the answer to something of ours
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

func (k *collectives) note(ev collEvent) {
	if k.e.closed {
		return
	}
	k.events = append(k.events, ev)
	if !k.queued {
		k.queued = true
		k.e.prog.Soon(k)
	}
}

// Run implements progress.Task: it acts on bad news.
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
				g.takenBack(&ev)
			}
		}
	}
}

// peer finds or makes the entry of an address in the vector.
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

// sweep drops messages of groups that nobody knows: while a group is being joined they might be its.
func (k *collectives) sweep() {
	if k.joins > 0 {
		return
	}
	k.discard(func(id uint32) bool { return id&joinBit == 0 && k.byID[id] == nil }, true)
}

// discard drops the messages of groups that nobody expects, and may tell their senders so.
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

// submitAbort tells a peer that a group is given up.
func (k *collectives) submitAbort(c *engine.Conn, tag uint64, rank int, why core.Errno) {
	k.send = engine.Send{Kind: engine.KindColl, Tag: tag, Data: wire.CollAbort | uint64(why&0xffff)<<32 | uint64(rank), Owner: nobody{}}
	c.SubmitColl(&k.send) // a peer that cannot be told has ended, or knows no groups
}

// nobody is the owner of what nobody waits for.
type nobody struct{}

func (nobody) Done(*engine.Completion) {}

// crowd counts n operations of a group with other members on this host: who waits for them gives its processor away (progress.Engine.Crowd).
func (k *collectives) crowd(g *group, n int) {
	if g.crowded {
		k.shared += n
		k.e.prog.Crowd(n)
	}
}

// end forgets everything: the endpoint is closing.
func (k *collectives) end() {
	k.e.prog.Crowd(-k.shared)
	k.shared = 0
	k.events, k.groups, k.byID, k.joins = nil, nil, nil, 0
}

// number draws one that others will not have drawn.
func number() uint64 { return rand.Uint64() }
