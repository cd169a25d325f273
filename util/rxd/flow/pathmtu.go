package flow

import "gofabric/util/rxd/wire"

// pathMTU is when datagrams may be longer again, of which the owner says that they may be, but that were lost while short ones were not. The owner tells what interface and route take, and what routers refused
// (SetMaxDatagram); what a switch or a tunnel drops without a word shows only in that long datagrams never arrive while short ones do: a black hole (RFC 8899,
// section 4.3). Then datagrams become shorter, and one longer one after the other tries from time to time whether they may be longer again.
type pathMTU struct {
	probeAt int64 // when the next longer one may leave
	vain    uint8 // longer ones lost since datagrams became shorter
}

// search is for what datagrams the path takes, while something is in flight.
type search struct {
	probe   uint64 // number of the transmission of a longer datagram that is under way, 0 none
	sinceAt int64  // since when not even the shortest arrive, 0 unset
	tried   uint32 // so many bytes of the first segment go out, to see whether they arrive; 0: nothing is suspected
	largest uint32 // payload of the longest datagram that arrived since the first segment was transmitted last
	futile  uint8  // transmissions of the first segment that were lost in a row, while the peer answered
}

// Of black holes.
const (
	leastPayload  = 512 - wire.XHeaderLen // every peer and path takes a datagram of 512 bytes
	futileMost    = 3                     // transmissions lost in a row before shorter ones are tried: MAX_PROBES of RFC 8899, 5.1.2
	hopeless      = 8                     // of the shortest, lost likewise, before the peer may be given up
	backoffSearch = 4                     // while shorter ones are tried, and the peer answers
	raiseFirst    = 100e6                 // after a longer one was lost: a lossy path looks like a black hole now and then
	raiseMost     = 600e9                 // PMTU_RAISE_TIMER of RFC 8899, 5.1.1
)

// commonPayloads are what narrow paths take as a rule: Ethernet below IPv6, and the least MTU of IPv6.
var commonPayloads = [...]uint32{1452 - wire.XHeaderLen, 1232 - wire.XHeaderLen}

// narrower is what to try when n bytes of payload are too many: half, but for sizes between that are common.
func narrower(n uint32) uint32 {
	half := max(n/2, leastPayload)
	for _, c := range commonPayloads {
		if c < n && c > half {
			return c
		}
	}
	return half
}

// judge is called when the first segment is about to be transmitted again, and returns how many bytes of it may go into a datagram. What was lost though
// the peer has answered since, has room for it, and got nothing else that was as long, speaks for a black hole. Chance may look the same: what
// arrives decides (partial).
func (f *Flow) judge(now int64, s *sender, g *segment) uint32 {
	w := &s.search
	usual := min(g.n, f.payload)
	longArrived := w.largest >= usual
	w.largest = 0
	most := usual
	if w.tried != 0 {
		most = min(most, w.tried)
	}
	switch {
	case longArrived || f.edge < g.off+uint64(most): // a closed window says nothing of the path
		w.becomeTrusting()
		return usual
	case f.heardAt <= g.sentAt:
		return most // nobody answers: the path may be down for all
	}
	w.futile = min(w.futile+1, futileMost+hopeless)
	if w.futile < futileMost {
		return most
	}
	if most > leastPayload {
		w.tried = narrower(most)
		return w.tried
	}
	if w.sinceAt == 0 {
		w.sinceAt, w.futile = now, futileMost
	}
	return most
}

// futile reports that the peer answers, has room, and has not got the shortest datagrams for as long as a silent peer is waited for: whatever it is that drops
// them, waiting is of no use.
func (f *Flow) futile(now int64) bool {
	w, t := &f.tx.search, f.cfg.PeerTimeout
	return t > 0 && w.sinceAt != 0 && now >= w.sinceAt+t && w.futile >= futileMost+hopeless
}

// going reports that the peer answers, and that it is not known yet whether a shorter datagram arrives: time-outs need not become longer
// meanwhile.
func (w *search) going() bool { return w.futile > 0 && w.sinceAt == 0 }

// becomeTrusting drops what speaks for a black hole.
func (w *search) becomeTrusting() {
	w.futile, w.tried, w.sinceAt = 0, 0, 0
}

// becomeNarrow makes datagrams shorter: n bytes arrived where more did not.
func (f *Flow) becomeNarrow(now int64, n uint32) {
	f.payload = max(n, leastPayload)
	f.pathMTU = pathMTU{probeAt: now}
	f.tx.search = search{}
	f.stats.BlackHoles++
}

// becomeFull makes datagrams as long as the owner says.
func (f *Flow) becomeFull(n uint16) {
	f.full, f.payload = n, uint32(n)
	if f.tx != nil {
		f.tx.search = search{}
	}
}

// longer is how many bytes the next datagram with new data may have where they are shorter than the owner says. When it is time, and
// nothing is being repaired, it is one that tries whether more may go again.
func (f *Flow) longer(now int64, s *sender) uint32 {
	if s.search.probe != 0 || now < f.pathMTU.probeAt || f.backoff|f.probes|s.search.futile != 0 || s.lost.head != none {
		return f.payload
	}
	n := uint32(min(int64(f.full), int64(f.src.Ready()), int64(f.edge-f.nxt), int64(f.cwnd))) // it is more than the window has room for, now and then
	if n < min(uint32(f.full), f.payload+f.payload/4) {
		return f.payload
	}
	return n
}

// stretched takes the arrival of a segment that is longer than any since the first was transmitted last.
func (f *Flow) stretched(now int64, s *sender, g *segment) {
	w := &s.search
	if g.n > f.payload && g.order == w.probe {
		f.payload = g.n
		f.pathMTU = pathMTU{probeAt: now}
		w.probe = 0
	}
	w.largest = min(g.n, f.payload) // of more, pieces arrived
}

// snapped takes the loss of the datagram that tried whether more may go.
func (f *Flow) snapped(now int64, s *sender) {
	w := &f.pathMTU
	s.search.probe, w.probeAt = 0, now+min(int64(raiseFirst)<<w.vain, raiseMost)
	w.vain = min(w.vain+1, 13)
}
