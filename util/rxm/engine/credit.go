package engine

// Flow control: each end says how many receives it has posted, and sends no more packets than the other has said. All packets count. The last credit is for
// saying so, and there is one from the start (natively, verbs's endpoints keep it for that).

// maxCredits keeps a peer's claims from overflowing.
const maxCredits = 1 << 32

// credit reports whether a packet may be sent: one that brings credits, or another.
func (g *Gateway) credit(brings bool) bool {
	return !g.cfg.FlowControl || g.credits > 1 || brings && g.credits > 0
}

// spend counts a packet that was sent.
func (g *Gateway) spend() {
	if g.cfg.FlowControl {
		g.credits--
	}
}

// earn takes what the peer says.
func (g *Gateway) earn(n uint64) {
	if g.cfg.FlowControl {
		g.credits = min(g.credits+min(n, maxCredits), maxCredits)
	}
}

// owe counts a packet that came.
func (g *Gateway) owe() {
	if g.cfg.FlowControl {
		g.owed++
		g.payCredits()
	}
}

// payCredits tells the peer of receives, when there are enough for it to be worth a packet: two at least, for this packet costs one itself.
func (g *Gateway) payCredits() {
	if g.owed >= max(g.cfg.RxSize/2, 2) {
		g.paying = true
	}
}

// sendCredits sends what is owed, and reports whether it could.
func (g *Gateway) sendCredits() bool {
	if !g.send(&notice{kind: noticeCredit, id: uint64(g.owed)}) {
		return false
	}
	g.owed, g.paying = 0, false
	return true
}
