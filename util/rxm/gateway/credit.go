package gateway

// Flow control, for connections that lose messages if no receive is posted (verbs). Each end announces how many
// receives it has posted, and sends no more packets than the other has announced. All packets count. One credit is
// there from the start, and the last one is only for a packet that announces receives; otherwise both ends could
// run out at the same time (docs/wire/rxm.md, "Credits").

// maxCredits limits the credits of a peer, so that the sum cannot overflow.
const maxCredits = 1 << 32

// hasCredit reports whether a packet may be sent. brings says that it announces receives.
func (g *Gateway) hasCredit(brings bool) bool {
	return !g.cfg.FlowControl || g.credits > 1 || brings && g.credits > 0
}

// useCredit counts a packet that was sent.
func (g *Gateway) useCredit() {
	// Without flow control the connection itself holds packets back.
	if g.cfg.FlowControl {
		g.credits--
	}
}

// addCredits takes n receives that the peer announces.
func (g *Gateway) addCredits(n uint64) {
	if g.cfg.FlowControl {
		g.credits = min(g.credits+min(n, maxCredits), maxCredits)
	}
}

// countReceived counts a packet that was received: its receive is posted again.
func (g *Gateway) countReceived() {
	if g.cfg.FlowControl {
		g.unannounced++
		g.checkCreditsDue()
	}
}

// checkCreditsDue makes an announcement due once half of the receives are used, but two at least, because the
// packet uses one itself.
func (g *Gateway) checkCreditsDue() {
	if g.unannounced >= max(g.cfg.RxSize/2, 2) {
		g.creditsDue = true
	}
}

// sendCredits announces the receives. It reports whether Lower took the packet.
func (g *Gateway) sendCredits() bool {
	if !g.sendControlPacket(&controlPacket{kind: controlCredit, id: uint64(g.unannounced)}) {
		return false
	}
	g.unannounced, g.creditsDue = 0, false
	return true
}
