package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"gofabric/core"
)

// Operations of a node, and what must come of them.

type opKind int

const (
	opRecv opKind = iota
	opSend
	opWrite
	opRead
	opAdd
)

func (k opKind) String() string { return [...]string{"receive", "send", "write", "read", "add"}[k] }

type op struct {
	kind   opKind
	to     *peer
	lane   *lane
	buf    []byte
	result []byte
	seq    uint64
	posted time.Time
	told   bool
}

// lane is a kind of operation to a peer: one at a time.
type lane struct {
	busy bool
	next time.Time
}

// peer is another node, or this one.
type peer struct {
	peerReport
	index          int
	sends          [2]lane
	rma, adds      lane
	seq, delivered uint64 // of messages
	wseq           uint64 // of writes
	heardLife      uint32
	heard          uint64 // the last message of that life
}

// post begins what is due.
func (n *node) post(now time.Time) {
	for _, p := range n.peers {
		for i := range p.sends {
			if n.due(&p.sends[i], now) {
				n.send(p, &p.sends[i], now)
			}
		}
		if n.due(&p.rma, now) {
			n.write(p, now)
		}
		if n.due(&p.adds, now) {
			n.add(p, now)
		}
	}
}

func (n *node) due(l *lane, now time.Time) bool { return !l.busy && now.After(l.next) }

// size draws the length of some content: mostly short.
func (n *node) size(most int) int {
	switch r := n.rng.IntN(100); {
	case r < 60:
		return stampSize + n.rng.IntN(100)
	case r < 90:
		return stampSize + n.rng.IntN(10_000)
	}
	return stampSize + n.rng.IntN(most-stampSize)
}

// begin posts o.
func (n *node) begin(o *op, now time.Time, post func(ctx core.Context) error) {
	n.last++
	ctx := n.last
	o.posted = now
	err := post(ctx)
	if err == nil {
		n.ops[ctx] = o
		if o.lane != nil {
			o.lane.busy = true
		}
		return
	}
	if o.kind == opRecv {
		n.fail("a receive cannot be posted: %v", err)
		return
	}
	o.lane.next = now.Add(n.pause(sorryMax))
	if errors.Is(err, core.ErrAgain) {
		return
	}
	o.to.Errs++
	o.to.LastErr = o.kind.String() + ": " + err.Error()
}

func (n *node) pause(most time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(most)))
}

func (n *node) receive(buf []byte) {
	n.begin(&op{kind: opRecv, buf: buf}, time.Now(), func(ctx core.Context) error {
		return n.ep.TRecv(buf, 0, core.AddrUnspec, 0, ^uint64(0), ctx)
	})
}

func (n *node) send(p *peer, l *lane, now time.Time) {
	p.seq++
	s := stamp{kind: aMessage, owner: uint32(n.Me), life: uint32(n.Life), seq: p.seq, delivered: p.delivered}
	o := &op{kind: opSend, to: p, lane: l, seq: p.seq, buf: make([]byte, n.size(msgMax))}
	s.fill(o.buf)
	n.begin(o, now, func(ctx core.Context) error {
		return n.ep.TSendMsg(&core.TaggedArgs{IOV: [][]byte{o.buf}, Addr: core.FIAddr(p.index), Tag: s.tag(), Ctx: ctx}, core.DeliveryComplete)
	})
}

func (n *node) write(p *peer, now time.Time) {
	p.wseq++
	s := stamp{kind: aWrite, owner: uint32(n.Me), life: uint32(n.Life), seq: p.wseq}
	o := &op{kind: opWrite, to: p, lane: &p.rma, seq: p.wseq, buf: make([]byte, n.size(slotMax))}
	s.fill(o.buf)
	n.begin(o, now, func(ctx core.Context) error {
		return n.ep.WriteMsg(&core.RMAArgs{IOV: [][]byte{o.buf}, Addr: core.FIAddr(p.index), Ctx: ctx,
			RMAIOV: []core.RMAIov{{Addr: uint64(n.slotAt(n.Me)), Len: uint64(len(o.buf)), Key: key}}}, core.DeliveryComplete)
	})
}

// readback reads what was written.
func (n *node) readback(p *peer, size int, now time.Time) {
	o := &op{kind: opRead, to: p, lane: &p.rma, seq: p.wseq, buf: make([]byte, size)}
	n.begin(o, now, func(ctx core.Context) error {
		return n.ep.Read(o.buf, 0, core.FIAddr(p.index), uint64(n.slotAt(n.Me)), key, ctx)
	})
}

func (n *node) add(p *peer, now time.Time) {
	one := make([]byte, 8)
	binary.NativeEndian.PutUint64(one, 1)
	o := &op{kind: opAdd, to: p, lane: &p.adds, buf: one, result: make([]byte, 8)}
	n.begin(o, now, func(ctx core.Context) error {
		return n.ep.FetchAtomic(&core.AtomicArgs{IOV: [][]byte{one}, Addr: core.FIAddr(p.index), Type: core.Uint64, Op: core.AtomicSum, Ctx: ctx,
			RMAIOC: []core.RMAIoc{{Addr: uint64(8 * n.Me), Count: 1, Key: key}}}, [][]byte{o.result}, nil, 0)
	})
}

// read takes completions, and waits a moment for the first if asked to. It reports whether there were none.
func (n *node) read(wait bool) (none bool) {
	var entries [16]core.CQEntry
	var src [16]core.FIAddr
	k, err := n.cq.ReadFrom(entries[:], src[:])
	if wait && errors.Is(err, core.ErrAgain) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		k, err = n.cq.SReadFrom(ctx, entries[:], src[:])
		cancel()
	}
	switch {
	case errors.Is(err, core.ErrAgain):
		return true
	case errors.Is(err, core.ErrAvail):
		var e core.CQErrEntry
		if err := n.cq.ReadErr(&e); err != nil {
			n.fail("ReadErr: %v", err)
			return false
		}
		n.end(&e.CQEntry, 0, &e)
		return false
	case err != nil:
		n.fail("Read: %v", err)
		return true
	}
	for i := range k {
		n.end(&entries[i], src[i], nil)
	}
	return false
}

// end is the completion of an operation.
func (n *node) end(e *core.CQEntry, src core.FIAddr, bad *core.CQErrEntry) {
	o := n.ops[e.Ctx]
	if o == nil {
		n.fail("a completion of nothing: %+v %+v", e, bad)
		return
	}
	delete(n.ops, e.Ctx)
	n.ended++
	if o.kind == opRecv {
		if bad == nil {
			n.received(o.buf[:min(e.Len, len(o.buf))], e, src)
		} else if bad.Err == core.ErrTrunc {
			n.fail("a message was too long: %v", bad.Detail)
		}
		n.receive(o.buf)
		return
	}
	p, now := o.to, time.Now()
	o.lane.busy = false
	o.lane.next = now.Add(n.pause(pauseMax))
	if bad != nil {
		o.lane.next = now.Add(n.pause(sorryMax))
		p.Errs++
		p.LastErr = o.kind.String() + ": " + bad.Err.Error() + ": " + bad.Detail
		if o.kind == opAdd {
			p.Unsure++
		}
		return
	}
	p.OKs++
	switch o.kind {
	case opSend:
		p.delivered = max(p.delivered, o.seq)
	case opWrite:
		n.readback(p, len(o.buf), now)
	case opRead:
		n.wasRead(p, o)
	case opAdd:
		n.added(p, binary.NativeEndian.Uint64(o.result))
	}
}

// received checks a message.
func (n *node) received(b []byte, e *core.CQEntry, src core.FIAddr) {
	s, err := read(b)
	if err != nil || s.kind != aMessage || int(s.size) != len(b) || int(s.owner) >= len(n.peers) {
		n.fail("received nonsense: %+v, %d bytes, %v", s, len(b), err)
		return
	}
	if e.Tag != s.tag() || src != core.FIAddr(s.owner) {
		n.fail("message %+v has tag %#x, want %#x, and source %d", s, e.Tag, s.tag(), src)
	}
	p := n.peers[s.owner]
	switch {
	case s.life < p.heardLife:
		n.fail("message of life %d of node %d, which is in life %d", s.life, s.owner, p.heardLife)
	case s.life > p.heardLife:
		p.heardLife, p.HeardLife = s.life, int(s.life)
	case s.seq <= p.heard:
		n.fail("message %d of node %d life %d comes after %d", s.seq, s.owner, s.life, p.heard)
	case s.delivered > p.heard:
		n.fail("message %d of node %d life %d has been delivered, says its sender; the last that came is %d", s.delivered, s.owner, s.life, p.heard)
	}
	p.heard = s.seq
}

// wasRead checks what was read back: what was written, or what the peer began its next life with.
func (n *node) wasRead(p *peer, o *op) {
	s, err := read(o.buf)
	mine := s.kind == aWrite && s.owner == uint32(n.Me) && s.life == uint32(n.Life) && s.seq == o.seq && int(s.size) == len(o.buf)
	fresh := s.kind == anInitial && s.owner == uint32(p.index) && int(s.life) >= p.AddedLife && p.index != n.Me
	if err != nil || !mine && !fresh {
		n.fail("read back from node %d, where write %d of %d bytes was: %+v, %v", p.index, o.seq, len(o.buf), s, err)
	}
}

// added checks the result of an addition.
func (n *node) added(p *peer, old uint64) {
	life, least := int(old>>32), p.Next
	if p.Known && life > p.AddedLife {
		least = uint64(life) << 32 // it has begun anew; additions that failed may have reached it
	}
	if p.Known && (old < least || old > least+p.Unsure) {
		n.fail("a sum at node %d is %#x; want %#x, or up to %d more", p.index, old, least, p.Unsure)
	}
	p.Known, p.AddedLife, p.Next, p.Unsure = true, life, old+1, 0
}
