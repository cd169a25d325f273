package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"gofabric/core"
)

// This file has the operations of a node, and the checks of their completions.

type opKind uint8

const (
	opRecv opKind = iota
	opTRecv
	opSend
	opTSend
	opWrite
	opRead
	opAdd
)

func (k opKind) String() string {
	return [...]string{"receive", "tagged receive", "send", "tagged send", "write", "read", "add"}[k]
}

func (k opKind) receives() bool { return k <= opTRecv }

type op struct {
	kind    opKind
	to      *peer
	via     *conn // with connected endpoints
	channel *channel
	letter  letter
	level   level
	buf     []byte
	result  []byte
	posted  time.Time
	stalled time.Duration // the node's total at that time
	told    bool
}

// channel is a kind of operation to a peer.
type channel struct {
	open int // pending operations
	next time.Time
}

// Lanes of messages.
const (
	channelTagged = iota
	channelTagged2
	channelMsg
	msgChannels
)

// peer is another node, or this one.
type peer struct {
	peerReport
	index     int
	msgs      [msgChannels]channel
	rma, adds channel
	seq       [msgChannels]uint64
	wseq      uint64 // number of writes
	out       *conn  // with connected endpoints; nil: there is none
	redial    time.Time
}

func (p *peer) failed(why string) {
	p.Errs++
	p.LastErr = why
}

// bin holds free buffers, by the logarithm of their size. Their content is what scribble wrote.
type bin [24][][]byte

// take returns a buffer of n bytes.
func (b *bin) take(n int) []byte {
	k := 5
	for 1<<k < n {
		k++
	}
	if l := len(b[k]); l > 0 {
		buf := b[k][l-1]
		b[k] = b[k][:l-1]
		return buf[:n]
	}
	return make([]byte, n, 1<<k)
}

// give takes a buffer back and overwrites it.
func (b *bin) give(buf []byte, with byte) {
	scribble(buf, with)
	k := 5
	for 1<<k < cap(buf) {
		k++
	}
	if len(b[k]) < 16 {
		b[k] = append(b[k], buf)
	}
}

// via returns the endpoint and the address that reach p, nil while there is no connection.
func (n *node) via(p *peer) (*core.Endpoint, core.FIAddr) {
	if !n.Msg {
		return n.ep, core.FIAddr(p.index)
	}
	if p.out == nil || !p.out.up {
		return nil, 0
	}
	return p.out.ep, core.AddrUnspec
}

// post posts the operations that are due.
func (n *node) post(now time.Time) {
	for _, p := range n.peers {
		if ep, _ := n.via(p); ep == nil {
			continue
		}
		for i := range p.msgs {
			if l := &p.msgs[i]; l.open == 0 && now.After(l.next) {
				l.next = now.Add(n.pause(pauseMax))
				for range 1 + n.rng.IntN(4)*n.rng.IntN(2) {
					n.send(p, i)
				}
			}
		}
		if p.rma.open == 0 && now.After(p.rma.next) {
			n.write(p)
		}
		if p.adds.open == 0 && now.After(p.adds.next) {
			n.add(p)
		}
	}
}

// begin posts o and reports whether it is pending.
func (n *node) begin(o *op, call func(ep *core.Endpoint, to core.FIAddr, ctx core.OpContext) error) bool {
	ep, to := n.via(o.to)
	if ep == nil {
		n.journalFailed(o)
		n.bin.give(o.buf, scribbleTx)
		return false
	}
	n.last++
	o.posted, o.stalled, o.via = n.seen, n.stalled, o.to.out
	err := call(ep, to, n.last)
	if err == nil && o.level != levelInject {
		n.ops[n.last] = o
		o.channel.open++
		return true
	}
	if err == nil { // after an inject the buffer belongs to the application again
		n.bin.give(o.buf, scribbleTx)
		n.journal.note(noteDone, o.letter.word(), uint8(o.to.index), levelInject)
		return true
	}
	n.bin.give(o.buf, scribbleTx)
	n.journalFailed(o)
	o.channel.next = n.seen.Add(n.pause(sorryMax))
	if !errors.Is(err, core.ErrAgain) {
		o.to.failed(o.kind.String() + ": " + err.Error())
	}
	return false
}

func (n *node) journalFailed(o *op) {
	if o.kind == opSend || o.kind == opTSend {
		n.journal.note(noteFailed, o.letter.word(), uint8(o.to.index), o.level)
	}
}

// flags returns the flags that request a level.
func (l level) flags() core.OpFlags {
	return [...]core.OpFlags{core.OpInject, 0, core.OpInjectComplete, core.OpTransmitComplete,
		core.OpDeliveryComplete, core.OpMatchComplete, core.OpCommitComplete}[l]
}

// send sends the next message of a lane.
func (n *node) send(p *peer, i int) {
	p.seq[i]++
	l := letter{owner: n.Me, life: n.Life, channel: uint8(i), seq: p.seq[i]}
	size := l.size(n.Most)
	o := &op{kind: opTSend, to: p, channel: &p.msgs[i], letter: l,
		level: level(n.rng.IntN(int(levelCommit))), buf: n.bin.take(size)}
	if i == channelMsg {
		o.kind = opSend
	}
	if o.level == levelInject && size > n.inject {
		o.level = levelNone
	}
	l.fill(o.buf)
	n.journal.note(notePosted, l.word(), uint8(p.index), o.level)
	n.begin(o, func(ep *core.Endpoint, to core.FIAddr, ctx core.OpContext) error {
		w := l.word()
		switch {
		case o.level == levelInject && o.kind == opSend:
			return ep.InjectData(o.buf, w, to)
		case o.level == levelInject && l.seq%2 == 0:
			return ep.TInject(o.buf, to, w)
		case o.level == levelInject:
			return ep.TInjectData(o.buf, w, to, w)
		case o.level == levelNone && o.kind == opSend:
			return ep.SendData(o.buf, 0, w, to, ctx)
		case o.level == levelNone && l.seq%2 == 0:
			return ep.TSend(o.buf, 0, to, w, ctx)
		case o.kind == opSend:
			return ep.SendMsg(&core.MsgArgs{IOV: [][]byte{o.buf}, Addr: to, Data: w, Ctx: ctx},
				o.level.flags()|core.OpRemoteCQData)
		}
		flags := o.level.flags()
		if l.seq%2 != 0 {
			flags |= core.OpRemoteCQData
		}
		return ep.TSendMsg(&core.TaggedArgs{IOV: [][]byte{o.buf}, Addr: to, Tag: w, Data: w, Ctx: ctx}, flags)
	})
}

// write writes into the peer's slot for this node.
func (n *node) write(p *peer) {
	p.wseq++
	l := letter{owner: n.Me, life: n.Life, channel: 15, seq: p.wseq}
	o := &op{kind: opWrite, to: p, channel: &p.rma, letter: l,
		level: levelNone + level(n.rng.IntN(4)), buf: n.bin.take(l.size(n.Most))}
	if n.commit && n.rng.IntN(8) == 0 {
		o.level = levelCommit
	}
	l.fill(o.buf)
	n.begin(o, func(ep *core.Endpoint, to core.FIAddr, ctx core.OpContext) error {
		at := core.RMAIov{Addr: uint64(n.slotAt(int(n.Me), n.Life)), Len: uint64(len(o.buf)), Key: key}
		return ep.WriteMsg(&core.RMAArgs{IOV: [][]byte{o.buf}, Addr: to, Ctx: ctx, RMAIOV: []core.RMAIov{at}},
			o.level.flags())
	})
}

// readback reads back what w has written.
func (n *node) readback(w *op) {
	o := &op{kind: opRead, to: w.to, channel: w.channel, letter: w.letter, level: levelNone,
		buf: n.bin.take(len(w.buf)), result: nil}
	n.begin(o, func(ep *core.Endpoint, to core.FIAddr, ctx core.OpContext) error {
		return ep.Read(o.buf, 0, to, uint64(n.slotAt(int(n.Me), n.Life)), key, ctx)
	})
}

// add adds one to the sum of this life of this node.
func (n *node) add(p *peer) {
	o := &op{kind: opAdd, to: p, channel: &p.adds, level: levelNone, buf: n.bin.take(8), result: n.bin.take(8)}
	if n.rng.IntN(2) == 0 {
		o.level = levelDelivery
	}
	binary.NativeEndian.PutUint64(o.buf, 1)
	n.begin(o, func(ep *core.Endpoint, to core.FIAddr, ctx core.OpContext) error {
		return ep.FetchAtomic(&core.AtomicArgs{IOV: [][]byte{o.buf}, Addr: to,
			Type: core.Uint64, Op: core.AtomicSum, Ctx: ctx,
			RMAIOC: []core.RMAIoc{{Addr: uint64(sumAt(int(n.Me), n.Life)), Count: 1, Key: key}}},
			[][]byte{o.result}, nil, o.level.flags())
	})
}

// receive posts a receive, again if it already has a buffer. Until then the buffer must not have changed.
func (n *node) receive(o *op) {
	if o.buf == nil {
		o.buf = make([]byte, n.Most)
		scribble(o.buf, scribbleRx)
	}
	if !scribbled(o.buf, scribbleRx) {
		n.fail(altered, "the buffer of a %v changed after its completion", o.kind)
		scribble(o.buf, scribbleRx)
	}
	n.last++
	o.posted = time.Now()
	var err error
	if o.kind == opRecv {
		err = n.rx.Recv(o.buf, 0, core.AddrUnspec, n.last)
	} else {
		err = n.rx.TRecv(o.buf, 0, core.AddrUnspec, 0, ^uint64(0), n.last)
	}
	switch {
	case errors.Is(err, core.ErrAgain):
		n.held = append(n.held, o)
	case err != nil:
		n.fail(hung, "a %v cannot be posted: %v", o.kind, err)
	default:
		n.ops[n.last] = o
	}
}

// cancelSome cancels a receive and the pending sends to a peer.
func (n *node) cancelSome() {
	p := n.peers[n.rng.IntN(len(n.peers))]
	once := false
	for ctx, o := range n.ops {
		switch {
		case o.kind.receives() && !once:
			once = n.rx.Cancel(ctx) == nil
		case o.kind.receives() || o.to != p:
		case o.via != nil:
			_ = o.via.ep.Cancel(ctx) // it may be in progress
		default:
			_ = n.ep.Cancel(ctx)
		}
	}
}

// read reads completions, and reports whether there were none. With wait it waits a moment for the first.
func (n *node) read(wait bool) (none bool) {
	var entries [16]core.CQEntry
	var src [16]core.FIAddr
	k, err := n.cq.ReadFrom(entries[:], src[:])
	if wait && errors.Is(err, core.ErrAgain) {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Millisecond)
		k, err = n.cq.SReadFrom(ctx, entries[:], src[:])
		cancel()
	}
	switch {
	case errors.Is(err, core.ErrAgain):
		return true
	case errors.Is(err, core.ErrAvail):
		var e core.CQErrEntry
		if err := n.cq.ReadErr(&e); err != nil {
			n.fail(hung, "fi_cq_readerr: %v", err)
			return false
		}
		n.end(&e.CQEntry, 0, &e)
		return false
	case err != nil:
		n.fail(hung, "fi_cq_read: %v", err)
		return true
	}
	for i := range k {
		n.end(&entries[i], src[i], nil)
	}
	return false
}

// end processes the completion of an operation.
func (n *node) end(e *core.CQEntry, src core.FIAddr, bad *core.CQErrEntry) {
	o := n.ops[e.Ctx]
	if o == nil && n.gone[e.Ctx] {
		delete(n.gone, e.Ctx)
		return
	}
	if o == nil {
		if bad == nil || e.Ctx != 0 { // an injected message that failed has an entry without a context
			n.fail(duplicated, "a completion of no pending operation: %+v %+v", e, bad)
		}
		return
	}
	delete(n.ops, e.Ctx)
	if o.kind.receives() {
		n.received(o, e, src, bad)
		return
	}
	p := o.to
	o.channel.open--
	if bad != nil {
		o.channel.next = n.seen.Add(n.pause(sorryMax))
		p.failed(o.kind.String() + ": " + bad.Err.Error() + ": " + bad.Detail)
		if bad.Err == core.ErrTimedOut {
			n.journal.note(noteGaveUp, letter{owner: n.Me, life: n.Life}.word(), uint8(p.index), 0)
		}
		if o.kind == opAdd {
			p.Unsure++
		}
		n.journalFailed(o)
	} else {
		p.OKs++
	}
	switch {
	case o.kind == opRead && bad == nil:
		n.wasRead(o)
	case o.kind == opAdd && bad == nil:
		n.added(p, binary.NativeEndian.Uint64(o.result))
	case (o.kind == opSend || o.kind == opTSend) && bad == nil:
		n.journal.note(noteDone, o.letter.word(), uint8(p.index), o.level)
	}
	n.bin.give(o.buf, scribbleTx)
	if o.result != nil {
		n.bin.give(o.result, scribbleRx)
	}
	if o.kind == opRead || o.kind == opAdd {
		o.channel.next = n.seen.Add(n.pause(pauseMax))
	}
	if o.kind == opWrite && bad == nil {
		n.readback(o)
	}
}

// received processes the completion of a receive: it checks and overwrites the buffer and posts it again.
func (n *node) received(o *op, e *core.CQEntry, src core.FIAddr, bad *core.CQErrEntry) {
	if bad == nil {
		n.check(o, e, src)
	} else if bad.Err == core.ErrTrunc {
		n.fail(altered, "a message was longer than its buffer: %v", bad.Detail)
	}
	scribble(o.buf, scribbleRx)
	if bad != nil || n.seen.Before(n.idle) {
		n.held = append(n.held, o)
		return
	}
	n.receive(o)
}

// check checks the name, source and content of a message.
func (n *node) check(o *op, e *core.CQEntry, src core.FIAddr) {
	word, named := e.Tag, e.Flags&core.CompRemoteCQData != 0
	if o.kind == opRecv {
		word = e.Data
		if !named {
			n.fail(altered, "a message of %d bytes has no remote CQ data", e.Len)
			return
		}
	}
	l := letterOf(word)
	switch text := l.check(o.buf[:min(e.Len, len(o.buf))], n.Most); {
	case text != "":
		n.fail(altered, "received %s", text)
		return
	case named && e.Data != word:
		n.fail(altered, "received %v with data %#x", l, e.Data)
	case o.kind == opTRecv && named != (l.seq%2 != 0) && l.owner < serverOwner:
		n.fail(altered, "received %v, with data: %v", l, named)
	case !n.Msg && src != core.FIAddr(l.owner):
		n.fail(altered, "received %v from address %d", l, src)
	}
	n.journal.note(noteReceived, word, 0, 0)
}

// wasRead checks what was read back: the bytes that were written, or the initial content of a peer's memory.
func (n *node) wasRead(o *op) {
	text := o.letter.check(o.buf, n.Most)
	if text == "" || scribbled(o.buf, 0) && o.to.index != int(n.Me) {
		return
	}
	n.fail(altered, "read back from node %d: %s", o.to.index, text)
}

// added checks the result of an addition.
func (n *node) added(p *peer, old uint64) {
	life, least := int(old>>32), p.Next
	if p.Known && life > p.AddedLife {
		least = uint64(life) << 32 // the peer has begun a new life; additions that failed may have reached it
	}
	if p.Known && (old < least || old > least+p.Unsure) {
		n.fail(altered, "a sum at node %d is %#x; want %#x, or up to %d more", p.index, old, least, p.Unsure)
	}
	p.Known, p.AddedLife, p.Next, p.Unsure = true, life, old+1, 0
}
