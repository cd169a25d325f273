package chaos

import (
	"fmt"
	"testing"
	"time"
)

// The audit reads the journals of all processes, dead or alive, and decides what became of each message.
// docs/completion.md says which messages must arrive:
//
//   - A message that has completed at delivery level arrives as long as the receiver lives, even if the sender ends
//     or the path breaks.
//   - A message that has completed at another level, or was injected, arrives as long as the receiver lives, the
//     path is sound, and the sender lives or has closed in good order.
//
// A receiver that has begun a new life at its address is another receiver. Messages that were sent before the sender
// could know of the new life went to the old one.

// grace is how long a message that must arrive may take until it has been received. Readers are late and busy.
const grace = 12 * time.Second

// fate is how a life has ended.
type fate uint8

const (
	living fate = iota
	killed      // or has ended without closing
	closed      // in good order
	late        // in good order, but a peer has not taken everything in time
)

// life is the time from opening to closing everything in a process. A process may have several, one after the other.
type life struct {
	owner      uint8
	number     uint16
	up, ended  time.Duration // from up to ended it can be reached
	ready      bool
	fate       fate
	journal    reader
	quietTold  map[uint8]bool // peers whose silence was reported already
	closing    bool
	closeStart time.Duration
	gaveUp     map[uint8][]time.Duration // by peer: when operations toward it ended because it did not answer
}

type lifeKey struct {
	owner uint8
	life  uint16
}

// flow is a lane from a life to a peer.
type flow struct {
	lifeKey
	channel, to uint8
}

// tie is a pair of lives, one of each of two nodes.
type tie struct {
	lifeKey
	to lifeKey
}

// mailKey names a message to a peer.
type mailKey struct {
	letter
	to uint8
}

// mail is a message that has not been received so far.
type mail struct {
	posted, done time.Duration
	level        level
	completed    bool
}

type span struct{ from, to time.Duration } // to is 0 while it lasts

func (s span) meets(from, to time.Duration) bool { return s.from <= to && (s.to == 0 || s.to >= from) }

type audit struct {
	totals *totals
	lives  map[lifeKey]*life
	of     map[uint8][]*life
	open   map[mailKey]*mail
	got    map[flow]bits
	last   map[struct {
		flow
		reader uint16
	}]uint64
	heard    map[[2]uint8]time.Duration // by receiver and sender
	knows    map[tie]time.Duration      // since when, at the latest
	troubles map[uint8][]span           // the paths of a node were bad for longer than its peers wait
	pauses   map[uint8][]span           // a node was stopped
	ends     map[lifeKey]noteKind       // how the reader saw the end of a life
}

func newAudit(y *totals) *audit {
	return &audit{totals: y, lives: map[lifeKey]*life{}, of: map[uint8][]*life{}, open: map[mailKey]*mail{}, got: map[flow]bits{}, last: map[struct {
		flow
		reader uint16
	}]uint64{}, heard: map[[2]uint8]time.Duration{}, knows: map[tie]time.Duration{}, troubles: map[uint8][]span{},
		pauses: map[uint8][]span{}, ends: map[lifeKey]noteKind{}}
}

// born notes the beginning of a life.
func (a *audit) born(owner uint8, number uint16, now time.Duration) *life {
	l := &life{owner: owner, number: number, up: now, quietTold: map[uint8]bool{}, gaveUp: map[uint8][]time.Duration{}}
	a.lives[lifeKey{owner, number}] = l
	a.of[owner] = append(a.of[owner], l)
	return l
}

// died notes that a life is about to end without closing.
func (a *audit) died(owner uint8, number uint16, now time.Duration) {
	if l := a.lives[lifeKey{owner, number}]; l.fate == living {
		l.fate, l.ended = killed, now
	}
}

// bits is a set of numbers from 1 on.
type bits []uint64

// set sets a bit and reports whether it was set.
func (b *bits) set(n uint64) (was bool) {
	for uint64(len(*b)) <= n/64 {
		*b = append(*b, 0)
	}
	w := &(*b)[n/64]
	was = *w>>(n%64)&1 != 0
	*w |= 1 << (n % 64)
	return was
}

func (b bits) has(n uint64) bool { return n/64 < uint64(len(b)) && b[n/64]>>(n%64)&1 != 0 }

// take processes a record from the journal of l.
func (a *audit) take(l *life, n note) {
	switch n.kind {
	case notePosted:
		a.open[mailKey{letterOf(n.word), n.to}] = &mail{posted: n.at, level: n.level}
		a.totals.posted++
	case noteDone:
		a.totals.levels[n.level]++
		if m := a.open[mailKey{letterOf(n.word), n.to}]; m != nil {
			m.completed, m.done, m.level = true, n.at, n.level
		}
	case noteFailed:
		a.totals.failed++
		delete(a.open, mailKey{letterOf(n.word), n.to})
	case noteReceived:
		a.received(l, letterOf(n.word), n.at)
	case noteClosing:
		l.closing, l.closeStart = true, n.at
	case noteClosed, noteLate:
		if l.fate = closed; n.kind == noteLate {
			l.fate = late
			if a.calm(l.closeStart-silence, n.at) {
				a.totals.fault(hung, "%s life %d: a close gave up, from %v to %v, though no process was stopped and no path was bad", nameOf(l.owner), l.number, l.closeStart, n.at)
			}
		}
		l.ended = n.at
	case noteGoodbye, noteReset:
		w := letterOf(n.word)
		a.ends[lifeKey{w.owner, w.life}] = n.kind
	case noteGaveUp:
		l.gaveUp[n.to] = append(l.gaveUp[n.to], n.at)
	}
}

func (a *audit) received(l *life, m letter, at time.Duration) {
	a.totals.messages++
	a.totals.bytes += uint64(m.size(sizeMax))
	f := flow{lifeKey{m.owner, m.life}, m.channel, l.owner}
	b := a.got[f]
	if b.set(m.seq) {
		a.totals.fault(duplicated, "%v to %s was received twice, the second time by its life %d", m, nameOf(l.owner),
			l.number)
	}
	a.got[f] = b
	key := struct {
		flow
		reader uint16
	}{f, l.number}
	if last := a.last[key]; m.seq < last {
		a.totals.fault(disordered, "%v to %s was received after %d", m, nameOf(l.owner), last)
	} else {
		a.last[key] = m.seq
	}
	a.heard[[2]uint8{l.owner, m.owner}] = at
	reader, sender := lifeKey{l.owner, l.number}, lifeKey{m.owner, m.life}
	a.meet(tie{reader, sender}, at)
	if sent := a.open[mailKey{m, l.owner}]; sent != nil {
		at = sent.posted
	}
	a.meet(tie{sender, reader}, at)
}

// meet notes that one life knows another at a time: it has received a message of it, or has sent it one that arrived.
func (a *audit) meet(t tie, at time.Duration) {
	if since, met := a.knows[t]; !met || at < since {
		a.knows[t] = at
	}
}

// knew reports whether a life knew, when it sent a message, which life of the receiver it sent it to. Every life knows
// the first life of a node.
func (a *audit) knew(k mailKey, m *mail) bool {
	first := a.of[k.to][0]
	there := first
	for _, l := range a.of[k.to] {
		if l.up <= m.posted {
			there = l
		}
	}
	since, met := a.knows[tie{lifeKey{k.owner, k.life}, lifeKey{there.owner, there.number}}]
	return there == first || met && since <= m.posted
}

// met reports whether one of the spans overlaps the time from from to to.
func met(spans []span, from, to time.Duration) bool {
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].meets(from, to) {
			return true
		}
	}
	return false
}

// begin and end note when a span begins and ends.
func begin(m map[uint8][]span, owner uint8, now time.Duration) {
	m[owner] = append(m[owner], span{from: now})
}

func end(m map[uint8][]span, owner uint8, now time.Duration) {
	if s := m[owner]; len(s) > 0 && s[len(s)-1].to == 0 {
		s[len(s)-1].to = now
	}
}

// calm reports whether all processes ran and could reach each other from from to to.
func (a *audit) calm(from, to time.Duration) bool {
	for _, m := range []map[uint8][]span{a.troubles, a.pauses} {
		for _, s := range m {
			if met(s, from, to) {
				return false
			}
		}
	}
	return true
}

// paused returns how long a node was stopped between from and to.
func (a *audit) paused(owner uint8, from, to time.Duration) (sum time.Duration) {
	for _, s := range a.pauses[owner] {
		if s.meets(from, to) {
			until := s.to
			if until == 0 {
				until = to
			}
			sum += min(until, to) - max(s.from, from)
		}
	}
	return sum
}

// diedSince reports whether a life of the owner has ended since then.
func (a *audit) diedSince(owner uint8, since time.Duration) bool {
	for _, l := range a.of[owner] {
		if l.fate != living && l.ended >= since || l.closing && l.fate == living {
			return true
		}
	}
	return false
}

// wasUp reports whether a life of the owner could be reached at a time.
func (a *audit) wasUp(owner uint8, at time.Duration) bool {
	for _, l := range a.of[owner] {
		if l.ready && l.up <= at && (l.fate == living || l.ended > at) {
			return true
		}
	}
	return false
}

// judge decides on all messages that have not been received. It returns how many must still arrive.
func (a *audit) judge(now time.Duration) (due int) {
	for k, m := range a.open {
		switch by := a.excused(k, m, now); {
		case by == "":
			wait := max(m.done, a.lives[lifeKey{k.owner, k.life}].ended)
			if now <= wait+grace+a.paused(k.to, m.posted, now) {
				due++
				continue
			}
			if !m.level.arrives() && !a.knew(k, m) { // all journals that could show it have been read
				break
			}
			a.totals.fault(lost, "%v to %s has completed (%v) at %v, and had not arrived by %v; its sender %v (it gave the receiver up at %v)", k.letter, nameOf(k.to), m.level, m.done, now, a.lives[lifeKey{k.owner, k.life}],
				a.lives[lifeKey{k.owner, k.life}].gaveUp[k.to])
		case by == "waits":
			continue
		}
		delete(a.open, k)
	}
	return due
}

func (l *life) String() string {
	s := [...]string{"lives", "was killed", "has closed", "has closed, late"}[l.fate]
	if l.closing {
		s += fmt.Sprintf(", from %v", l.closeStart)
	}
	if l.fate != living {
		s += fmt.Sprintf(", until %v", l.ended)
	}
	return s
}

// excused returns why a message need not arrive, "" if it must.
func (a *audit) excused(k mailKey, m *mail, now time.Duration) string {
	sender := a.lives[lifeKey{k.owner, k.life}]
	switch {
	case a.got[flow{lifeKey{k.owner, k.life}, k.channel, k.to}].has(k.seq):
		return "received"
	case !m.completed && sender.fate == living:
		return "waits"
	case !m.completed:
		return "not completed"
	case a.diedSince(k.to, m.posted):
		return "the receiver has ended"
	case m.level.arrives():
		return ""
	case sender.fate == killed || sender.fate == late:
		return "the sender has ended"
	case !a.wasUp(k.to, m.posted):
		return "the receiver was down"
	case met(a.troubles[k.owner], m.posted, now) || met(a.troubles[k.to], m.posted, now):
		return "the path was bad"
	}
	return ""
}

// quiet is how long a living peer may be silent. All peers send all the time.
const quiet = 20 * time.Second

// silent finds nodes that have stopped receiving from each other.
func (a *audit) silent(nodes int, now time.Duration) {
	if now < quiet {
		return
	}
	for i := range nodes {
		for j := range nodes {
			to, from := a.current(uint8(i)), a.current(uint8(j))
			if to == nil || from == nil || to.quietTold[uint8(j)] {
				continue
			}
			since := max(to.up, from.up, a.heard[[2]uint8{to.owner, from.owner}], now-2*quiet)
			calm := true
			for _, o := range []uint8{to.owner, from.owner} {
				calm = calm && !met(a.pauses[o], since, now) && !met(a.troubles[o], since, now)
			}
			if calm && now-since > quiet {
				to.quietTold[uint8(j)] = true
				a.totals.fault(hung, "node %d life %d has received nothing from node %d life %d since %v; it is %v", i,
					to.number, j, from.number, since, now)
			}
		}
	}
}

// current returns the current life of an owner, nil if it has none.
func (a *audit) current(owner uint8) *life {
	if all := a.of[owner]; len(all) > 0 && all[len(all)-1].ready &&
		all[len(all)-1].fate == living && !all[len(all)-1].closing {
		return all[len(all)-1]
	}
	return nil
}

// read processes what is new in the journals.
func (a *audit) read() {
	for _, l := range a.lives {
		if l.journal.f == nil {
			continue
		}
		if err := l.journal.next(func(n note) { a.take(l, n) }); err != nil {
			a.totals.fault(hung, "journal of %s life %d: %v", nameOf(l.owner), l.number, err)
		}
	}
}

// TestAudit checks the rule with cases of each kind.
func TestAudit(t *testing.T) {
	const sec = time.Second
	at := letter{owner: 2, life: 1, channel: 1, seq: 1}
	for i, c := range []struct {
		level          level
		sender         fate
		received, path bool
		receiverDied   bool
		restarted      bool // the receiver has begun a new life before the message was sent
		met, heard     bool // and the sender has sent the new life something since, or received something from it
		want           string
	}{
		{level: levelTransmit, want: "lost"},
		{level: levelTransmit, received: true},
		{level: levelTransmit, path: true},
		{level: levelDelivery, path: true, want: "lost"},
		{level: levelTransmit, sender: killed},
		{level: levelDelivery, sender: killed, want: "lost"},
		{level: levelInject, sender: closed, want: "lost"},
		{level: levelInject, sender: late},
		{level: levelMatch, sender: closed, receiverDied: true},
		{level: levelTransmit, restarted: true},
		{level: levelTransmit, restarted: true, met: true, want: "lost"},
		{level: levelTransmit, restarted: true, heard: true, want: "lost"},
		{level: levelDelivery, restarted: true, want: "lost"},
	} {
		y := &totals{quiet: true}
		a := newAudit(y)
		from, to := a.born(2, 1, 0), a.born(0, 1, 0)
		from.ready, to.ready = true, true
		if c.restarted {
			a.died(0, 1, sec/4)
			to = a.born(0, 2, sec/2)
			to.ready = true
		}
		if c.met {
			first := letter{owner: 2, life: 1, channel: 2, seq: 1}
			a.take(from, note{first.word(), notePosted, 0, c.level, sec})
			a.take(to, note{word: first.word(), kind: noteReceived, at: 2 * sec})
		}
		if c.heard {
			a.take(from, note{word: letter{owner: 0, life: 2, channel: 1, seq: 1}.word(), kind: noteReceived, at: sec})
		}
		a.take(from, note{at.word(), notePosted, 0, c.level, sec})
		a.take(from, note{at.word(), noteDone, 0, c.level, 2 * sec})
		if c.received {
			a.take(to, note{word: at.word(), kind: noteReceived, at: 3 * sec})
		}
		if from.fate, from.ended = c.sender, 3*sec; c.sender == living {
			from.ended = 0
		}
		if c.path {
			begin(a.troubles, 0, 2*sec)
		}
		if c.receiverDied {
			a.died(0, to.number, 4*sec)
		}
		a.judge(5 * sec)
		if y.counts != [counts]int{} {
			t.Errorf("case %d: %v too early", i, y.counts)
		}
		a.judge(5*sec + grace)
		got := ""
		if y.counts[lost] > 0 {
			got = "lost"
		}
		if got != c.want {
			t.Errorf("case %d, %+v: %q", i, c, got)
		}
		a.take(to, note{word: at.word(), kind: noteReceived, at: 4 * sec})
		if c.received != (y.counts[duplicated] == 1) {
			t.Errorf("case %d: %d duplicates", i, y.counts[duplicated])
		}
	}
}
