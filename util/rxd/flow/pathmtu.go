package flow

import "gofabric/util/rxd/wire"

// Path MTU discovery without ICMP (RFC 8899, DPLPMTUD). The owner knows what the interface and the route carry and
// what routers have refused (SetMaxDatagram). A switch or tunnel that drops long datagrams silently is a black hole
// (RFC 8899, 4.3): short datagrams arrive, and long ones never do. Then the flow sends the first segment in shorter
// and shorter datagrams until one arrives, and keeps that size. From time to time one longer datagram tests whether
// the path carries more again.
//
// pathMTU is the state of a flow whose datagrams are shorter than the owner allows.
type pathMTU struct {
	probeAt      int64 // when the next longer datagram may leave
	failedProbes uint8 // longer datagrams lost since the size was reduced
}

// search is the search for a size that arrives, while something is in flight. lostInRow grows to maxProbes before
// it begins.
type search struct {
	probeOrder uint64 // transmission of the longer datagram that is under way; 0: none
	sinceAt    int64  // since when not even the shortest datagrams arrive; 0: unset
	trying     uint32 // bytes of the first segment that the next datagram carries; 0: no search
	largest    uint32 // longest payload that arrived since the last transmission of the first segment
	lostInRow  uint8  // transmissions of the first segment lost in a row while the peer answered
}

// Limits of the search, with the names of RFC 8899.
const (
	minPayload    = 512 - wire.XHeaderLen // MIN_PLPMTU: every peer and path carries datagrams of 512 bytes
	maxProbes     = 3                     // MAX_PROBES (5.1.2): losses in a row before shorter datagrams are tried
	unusableAfter = 8                     // shortest datagrams lost in a row before the peer may be given up
	backoffSearch = 4                     // limit of the back-off during the search
	raiseTimerMin = 100e6                 // before the first longer datagram, nanoseconds: loss may look like a black hole
	raiseTimerMax = 600e9                 // PMTU_RAISE_TIMER (5.1.1), nanoseconds
)

// commonPayloads are the sizes that narrow paths usually carry: Ethernet below IPv6 and UDP, and the least MTU of
// IPv6 (RFC 8200, 5).
var commonPayloads = [...]uint32{1452 - wire.XHeaderLen, 1232 - wire.XHeaderLen}

// smallerPayload is the size to try after n bytes of payload: half, or a common size above that.
func smallerPayload(n uint32) uint32 {
	half := max(n/2, minPayload)
	for _, c := range commonPayloads {
		if c < n && c > half {
			return c
		}
	}
	return half
}

// resendSize returns how many bytes of the first segment to send again in one datagram. It suspects a black hole if
// the segment was lost though the peer has answered since, has room, and received nothing else of that length.
// Chance may look the same. Only an acknowledgement of a shorter piece decides (partial).
func (f *Flow) resendSize(now int64, s *sender, g *segment) uint32 {
	w := &s.search
	usual := min(g.n, f.payload)
	longArrived := w.largest >= usual
	w.largest = 0
	most := usual
	if w.trying != 0 {
		most = min(most, w.trying)
	}
	switch {
	case longArrived || f.sndEdge < g.off+uint64(most): // a closed window says nothing about the path
		w.clearSuspicion()
		return usual
	// No datagram of any size has an answer: the path may be down.
	case f.receivedAt <= g.sentAt:
		return most
	}
	w.lostInRow = min(w.lostInRow+1, maxProbes+unusableAfter)
	if w.lostInRow < maxProbes {
		return most
	}
	if most > minPayload {
		w.trying = smallerPayload(most)
		return w.trying
	}
	if w.sinceAt == 0 {
		w.sinceAt, w.lostInRow = now, maxProbes
	}
	return most
}

// pathUnusable reports that the peer answers and has room, but has not received the shortest datagrams for
// PeerTimeout. A path that drops all data is as good as a dead peer.
func (f *Flow) pathUnusable(now int64) bool {
	w, t := &f.tx.search, f.cfg.PeerTimeout
	return t > 0 && w.sinceAt != 0 && now >= w.sinceAt+t && w.lostInRow >= maxProbes+unusableAfter
}

// underWay reports that the peer answers and a shorter datagram may still arrive. The back-off stays small then.
func (w *search) underWay() bool { return w.lostInRow > 0 && w.sinceAt == 0 }

// clearSuspicion ends the search: the first segment, or another one as long, arrived.
func (w *search) clearSuspicion() {
	w.lostInRow, w.trying, w.sinceAt = 0, 0, 0
}

// becomeShorter reduces the datagrams to n bytes of payload, which arrived where more did not.
func (f *Flow) becomeShorter(now int64, n uint32) {
	f.payload = max(n, minPayload)
	f.pathMTU = pathMTU{probeAt: now}
	f.tx.search = search{}
	f.stats.BlackHoles++
}

// becomeLongest sets the datagrams to the size that the owner says.
func (f *Flow) becomeLongest(n uint16) {
	f.maxPayload, f.payload = n, uint32(n)
	if f.tx != nil {
		f.tx.search = search{}
	}
}

// newDataSize is how many bytes of new data the next datagram may carry while datagrams are shorter than the owner
// allows. If it is time, and no loss is being repaired, it is more: that datagram is a probe.
func (f *Flow) newDataSize(now int64, s *sender) uint32 {
	if s.search.probeOrder != 0 || now < f.pathMTU.probeAt ||
		f.backoff|f.probes|s.search.lostInRow != 0 || s.lost.head != none {
		return f.payload
	}
	// A probe may be longer than what is left of the congestion window: the data after it would wait for an
	// acknowledgement anyway.
	n := uint32(min(int64(f.maxPayload), int64(f.src.Ready()), int64(f.sndEdge-f.sndNxt), int64(f.cwnd)))
	// Too little data to learn much from.
	if n < min(uint32(f.maxPayload), f.payload+f.payload/4) {
		return f.payload
	}
	return n
}

// longestAcked takes the arrival of a segment longer than any since the first segment was last transmitted. If it
// is the probe, its size becomes that of all datagrams.
func (f *Flow) longestAcked(now int64, s *sender, g *segment) {
	w := &s.search
	if g.n > f.payload && g.order == w.probeOrder {
		f.payload = g.n
		f.pathMTU = pathMTU{probeAt: now}
		w.probeOrder = 0
	}
	w.largest = min(g.n, f.payload) // a longer segment arrived in pieces
}

// probeLost takes the loss of the probe. The next one waits twice as long.
func (f *Flow) probeLost(now int64, s *sender) {
	w := &f.pathMTU
	s.search.probeOrder, w.probeAt = 0, now+min(int64(raiseTimerMin)<<w.failedProbes, raiseTimerMax)
	w.failedProbes = min(w.failedProbes+1, 13)
}
