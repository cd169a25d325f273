package engine

import "gofabric/internal/xnet/wire"

// Two ends that have nothing to say to each other for now can part without loss: each says ExtBye behind the last that it has to say, and who has heard and
// said it closes the transport. Who is busy says ExtStay instead, which takes the peer's ExtBye back.

// Leaver decides about that. Its methods are called in the middle of Receive.
type Leaver interface {
	// Bye says that the peer says nothing more on c, until it has our answer.
	Bye(c *Conn)
	// Stay says that the peer does not want to part.
	Stay(c *Conn)
}

// SayBye and SayStay queue the words; nothing must be posted on c after SayBye, until Leaver.Stay. The peer must be of this module (Ours).
func (c *Conn) SayBye() {
	c.sayExt(wire.ExtBye)
	c.pulls().bye = true
}

func (c *Conn) SayStay() { c.sayExt(wire.ExtStay) }

// Leaving reports that we have said bye: the transport must not say anything either.
func (c *Conn) Leaving() bool { return c.pul != nil && c.pul.bye }

func (c *Conn) sayExt(kind wire.ExtKind) {
	if c.state == Connected && c.Ours {
		c.stageExt(wire.AppendExtIndex(c.pulls().out[:0], kind, 0))
		c.answered()
	}
}

// leaving takes the peer's words.
func (c *Conn) leaving(kind wire.ExtKind) {
	switch l := c.cfg.Leaver; {
	case l == nil:
		if kind == wire.ExtBye {
			c.SayStay()
		}
	case kind == wire.ExtBye:
		l.Bye(c)
	case c.Leaving():
		c.pul.bye = false
		l.Stay(c)
	}
}

// Inherit takes over the messages of from's that still wait for a receive, all of them here: both are connections to one peer.
func (c *Conn) Inherit(from *Conn) {
	if from.unexpCount == 0 || from.rx == nil {
		return
	}
	for rx := range from.rx.all {
		queues := []*queue{&rx.msgs, &rx.tags}
		if rx.coll != nil {
			queues = append(queues, &rx.coll.q)
		}
		for _, q := range queues {
			for n := range q.EachMsg() {
				if m := n.Value; m.owner == from && m.conn == nil {
					m.owner = c
					from.unexpCount--
					from.unexpBytes -= m.cost
					c.unexpCount++
					c.unexpBytes += m.cost
				}
			}
		}
	}
}

// Postpone gives a connection that is not up yet a new start: now is when it begins.
func (c *Conn) Postpone(nowNanos int64) {
	if c.state == Opening {
		c.deadline = nowNanos + c.cfg.HandshakeNanos
	}
}
