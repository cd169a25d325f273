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
		p.asked, p.asks = true, true
		c.stageExt(c.cfg.Puller.Identity().Append(p.out[:0]))
	}
	return p.lend
}

// sealing says whether messages may go by reference on this connection at all: both ends seal them.
func (c *Conn) sealing() bool {
	return c.Ours && c.Agreed&wire.FeatureSeals != 0 && c.cfg.Puller != nil
}

// helloed answers a peer that wants its memory to be read.
func (c *Conn) helloed(b []byte) error {
	p := c.pul
	h, err := wire.ParseHello(b)
	if err != nil || p.told {
		return ErrProtocol
	}
	p.told = true
	if !c.sealing() {
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
	p.pid, p.challenge = h.PID, own.Challenge()
	c.stageExt(wire.AppendChallenge(p.out[:0], &p.challenge))
	c.answered()
	return nil
}

// challenged puts the peer's challenge where it can read it.
func (c *Conn) challenged(b []byte) error {
	p := c.pul
	seal, err := wire.ParseChallenge(b)
	if err != nil || !p.asked || p.proved {
		return ErrProtocol
	}
	p.cell, p.proved = seal, true
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

// proven reads the challenge in the peer's memory.
func (c *Conn) proven(b []byte) error {
	p := c.pul
	at, err := wire.ParseProof(b)
	if err != nil || !p.told || p.pull || p.pid == 0 {
		return ErrProtocol
	}
	p.loan = Loan{PID: p.pid, Seal: p.challenge, SealAt: at}
	if c.cfg.Puller.Pull(&p.loan) != Copied {
		c.answerExt(wire.ExtRefuse, 0)
		return nil
	}
	p.pull = true
	c.answerExt(wire.ExtReady, 0)
	return nil
}
