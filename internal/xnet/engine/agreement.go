package engine

import "gofabric/internal/xnet/wire"

// How two ends agree that one of them reads the other's memory.

// wantsPull says whether a message goes by reference. The first that could asks the peer, and goes through the connection.
func (c *Conn) wantsPull(s *Send) bool {
	if c.carriage() != nil {
		return c.carriage().carries(s)
	}
	if !c.sealing() || s.Kind != KindSend && s.Kind != KindColl || s.Inject || s.Copy || s.Len() < c.cfg.PullOver || s.Len() > pullMax {
		return false
	}
	p := c.pulls()
	if !p.asked {
		p.asked = true
		if !c.near() {
			return false // the peer need not know who we are
		}
		p.asks = true
		c.stageExt(c.cfg.Puller.Identity().Append(p.out[:0]))
	}
	return p.lend
}

// sealing says whether messages may go by reference on this connection at all: both ends seal them, and show who they are.
func (c *Conn) sealing() bool {
	const both = wire.FeatureSeals | wire.FeatureShow
	return c.Ours && c.Agreed&both == both && c.cfg.Puller != nil && c.Way != nil
}

// near says whether the peer may be on this host, and where the ends are.
func (c *Conn) near() (ok bool) {
	c.pul.ends, ok = c.Way()
	return ok
}

// helloed answers a peer that wants its memory to be read.
func (c *Conn) helloed(b []byte) error {
	p := c.pul
	h, err := wire.ParseHello(b)
	if err != nil || p.told {
		return ErrProtocol
	}
	p.told = true
	if c.state != Connected || !c.sealing() || !c.near() {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	own := c.cfg.Puller
	me := own.Identity()
	// Who claims to be this process must know its secret; else it could have us read our own memory.
	if h.Host != me.Host || h.PIDNS != me.PIDNS || (h.PID == me.PID) != (h.Process == me.Process) {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	v := own.Invite()
	if v == nil {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	p.invited, p.pid, p.challenge = v, h.PID, v.Challenge().Seal
	c.stageExt(v.Challenge().Append(p.out[:0]))
	c.answered()
	return nil
}

// challenged puts the peer's challenge where it can read it, and shows it who we are.
func (c *Conn) challenged(b []byte) error {
	p := c.pul
	ch, err := wire.ParseChallenge(b)
	if err != nil || !p.asks || p.proved {
		return ErrProtocol
	}
	p.cell, p.proved = ch.Seal, true
	c.cfg.Puller.Show(&ch, &p.ends)
	c.stageExt(wire.AppendProof(p.out[:0], c.cfg.Puller.Address(p.cell[:])))
	c.answered()
	return nil
}

// admitted takes the peer's word that it can read our memory.
func (c *Conn) admitted() error {
	p := c.pul
	if !p.proved {
		return ErrProtocol
	}
	p.lend, p.asks = true, false
	return nil
}

// proven looks who has come, and reads the challenge in its memory.
func (c *Conn) proven(b []byte) error {
	p := c.pul
	at, err := wire.ParseProof(b)
	if err != nil || p.invited == nil {
		return ErrProtocol
	}
	met := p.invited.Met(&p.ends, p.pid, at)
	p.invited = nil
	if !met {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	p.pull = true
	c.answerExt(wire.ExtReady, 0)
	return nil
}

// uninvite ends the wait for the peer's process.
func (c *Conn) uninvite() {
	if p := c.pul; p != nil && p.invited != nil {
		p.invited.Close()
		p.invited = nil
	}
}
