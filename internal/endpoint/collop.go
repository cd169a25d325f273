package endpoint

import (
	"gofabric/core"
	coll "gofabric/internal/coll/schedule"
	"gofabric/internal/xnet/engine"
)

// collOp is a collective operation in progress. It implements engine.Owner for its sends and receives, and
// progress.Task.
type collOp struct {
	g       *group
	plan    coll.Op
	seq     uint32
	ctx     core.OpContext
	silent  bool
	pending int // sends and receives that have not completed
	err     error

	step    coll.Step // the step to repeat when there is room again (stuck)
	verb    coll.Verb
	stuck   bool
	queued  bool
	running bool
	next    *collOp
}

// newOp allocates the next operation of the group.
func (g *group) newOp() *collOp {
	k := g.k
	o := k.free
	if o == nil {
		o = &collOp{}
	} else {
		k.free = o.next
	}
	o.g, o.err, o.stuck, o.pending, o.next = g, nil, false, 0, nil
	o.seq = g.seq & seqMask
	g.seq++
	g.ops = append(g.ops, o)
	k.active++
	k.countLocalWaits(g, 1)
	return o
}

// start begins the operation with the engine's arguments.
func (o *collOp) start(a *coll.Args) {
	o.plan.Start(a)
	o.Run()
}

// later schedules Run, so that the operation continues outside the engine's calls.
func (o *collOp) later() {
	if !o.queued && !o.running {
		o.queued = true
		o.g.k.e.prog.RunOnUnlock(o)
	}
}

// Done implements engine.Owner.
func (o *collOp) Done(c *engine.Completion) {
	slot := int(c.Ctx)
	rank, n := o.plan.Slot(slot)
	o.pending--
	o.plan.Finished(slot)
	if c.Kind == engine.KindRecv {
		o.g.members[rank].expect(-1)
		if c.Err == nil && c.Len != uint64(n) && o.err == nil {
			o.err = engine.ErrProtocol
		}
	}
	if c.Err != nil && o.err == nil {
		o.err = c.Err
	}
	if !o.g.k.e.closed {
		o.later()
	}
}

// Run implements progress.Task: it advances the operation as far as possible.
func (o *collOp) Run() {
	o.queued = false
	if o.g == nil || o.g.k.e.closed {
		return // it has ended in the meantime
	}
	k := o.g.k
	o.running = true
	if !o.advance() {
		o.queued = true
		k.e.prog.RunAfterPass(o)
	}
	o.running = false
}

// advance executes the steps of the plan until one must wait. It returns false if a send had no room, so that it
// must be repeated in the next pass.
func (o *collOp) advance() bool {
	g := o.g
	for {
		if o.err != nil && g.err == nil {
			g.fail(o.err, nil, true)
		}
		if g.err != nil {
			if o.pending == 0 {
				o.finish(g.err)
			}
			return true
		}
		if !o.stuck {
			o.verb = o.plan.Next(&o.step)
		}
		o.stuck = false
		switch o.verb {
		case coll.Send:
			if !o.transmit() {
				o.stuck = true
				return false
			}
		case coll.Recv:
			o.expect()
		case coll.Done:
			o.finish(nil)
			return true
		default:
			return true
		}
	}
}

// tag returns the tag of the current step. It is equal at both members of the step.
func (o *collOp) tag() uint64 {
	return uint64(o.g.id)<<groupShift | uint64(o.seq)<<seqShift | uint64(o.step.Number)
}

// transmit posts the send of the current step. It returns false if there is no room for it now.
func (o *collOp) transmit() bool {
	k := o.g.k
	c, err := k.r.Route(o.g.members[o.step.Peer].fi)
	if err != nil {
		o.err = err
		return true
	}
	s := &k.send
	s.Kind, s.Tag, s.Data, s.Ctx, s.Owner = engine.KindColl, o.tag(), uint64(o.g.rank), uint64(o.step.Slot), o
	s.IOV[0], s.NIOV = o.step.Buf, 1
	o.pending++
	copied, err := c.SubmitColl(s)
	s.IOV[0], s.Owner = nil, nil
	switch {
	case err == engine.ErrAgain:
		o.pending--
		return false
	case err != nil:
		o.pending--
		o.err = err
		return true
	case copied:
		o.pending--
		o.plan.Finished(o.step.Slot)
	}
	k.r.Posted(c, false)
	return true
}

// expect posts the receive of the current step. It needs a connection to the member, since only a connection
// reports that the member has failed.
func (o *collOp) expect() {
	k, p := o.g.k, o.g.members[o.step.Peer]
	c, err := k.r.Route(p.fi)
	if err == nil && c.LacksCollectives() {
		err = engine.ErrUnsupported
	}
	if err != nil {
		o.err = err
		return
	}
	if p.conn != c {
		p.conn = c
	}
	p.expect(1)
	op := k.rx.NewColl()
	op.SetBuf(o.step.Buf)
	op.Ctx, op.Owner = uint64(o.step.Slot), o
	o.pending++
	queued := c.Queued()
	k.rx.PostColl(op, o.tag(), uint64(o.step.Peer), c.Src, 0)
	if c.Queued() != queued { // the message was an announcement, and the peer must get the acknowledgement of the fetch
		k.r.Posted(c, false)
	}
}

// finish reports the completion and returns the operation to the free list.
func (o *collOp) finish(err error) {
	g := o.g
	k := g.k
	for i, other := range g.ops {
		if other == o {
			g.ops = append(g.ops[:i], g.ops[i+1:]...)
			break
		}
	}
	k.active--
	k.countLocalWaits(g, -1)
	o.plan.Reset()
	ctx, silent := o.ctx, o.silent
	o.g, o.next = nil, k.free
	o.step = coll.Step{}
	k.free = o
	d := &k.done
	*d = engine.Completion{Kind: engine.KindColl, Silent: silent, Ctx: uint64(ctx), Flags: uint64(core.CompCollective), Src: engine.AnySource, Err: err}
	k.e.Completed(d)
}
