package sim

import (
	"gofabric/test/sim/network"
)

// rxdFeatures are the features of a run of rxd engines, in addition to those of the workload.
type rxdFeatures struct {
	nodes, messages int
	natives         uint // the nodes without extensions, one bit each

	mtu, nativeMTU, recvWindow, maxUnacked int
	peerTimeout, keepAlive                 int64
	pace                                   int64 // longest time between two turns of an application, nanoseconds
	quiet, blocks                          bool  // the driver calls Quiet; ports are full at times
	cuts, longCuts, restarts               bool  // partitions shorter and longer than the peer time-out
	pauses, sleeps                         bool  // nodes stop, or post no receives, for a while
	big                                    bool  // a long run: it keeps only what it checks
}

// Times of partitions, nanoseconds.
const (
	rxdPeerTimeout = 20e9
	rxdShortCut    = 10e9
	rxdLongCut     = 60e9
)

// randomRxd draws the features of a small run. With natives, some of its nodes use only native packets.
func randomRxd(s *network.Sched, natives bool) (features, rxdFeatures, network.Link) {
	on := func() bool { return s.IntN(2) == 0 }
	f := features{
		untagged: on(), tagged: on(), reads: on(), writes: on(), atomics: on(), fences: s.Chance(20),
		acks: on(), data: on(), inject: on(), rendezvous: on(), large: s.Chance(30), scribble: on(),
		multi: on(), directed: on(), truncate: s.Chance(30), late: s.Chance(20), peeks: s.Chance(30),
		cancels: s.Chance(30), lateNames: s.Chance(20), budgets: s.Chance(40), lazy: on(),
	}
	if !f.untagged && !f.tagged {
		f.untagged = true
	}
	if f.peeks || f.truncate || f.multi {
		f.data = true
	}
	x := rxdFeatures{
		nodes: 2 + s.IntN(4), messages: 20 + s.IntN(200),
		mtu: [4]int{600, 1472, 8972, 65507}[s.IntN(4)], nativeMTU: [3]int{512, 1472, 4096}[s.IntN(3)],
		recvWindow: [4]int{8 << 10, 64 << 10, 1 << 20, 4 << 20}[s.IntN(4)], maxUnacked: 1 + s.IntN(128),
		peerTimeout: rxdPeerTimeout, pace: [3]int64{20e3, 1e6, 30e6}[s.IntN(3)], quiet: on(), blocks: on(),
		cuts: s.Chance(25), longCuts: s.Chance(20), restarts: s.Chance(25), pauses: s.Chance(25), sleeps: s.Chance(15),
	}
	if on() {
		x.keepAlive = 1e9
	}
	l := network.Link{
		Loss: [6]float64{0, 0, 0.01, 0.05, 0.1, 0.3}[s.IntN(6)], Delay: 1 + s.Int64N(200e3),
	}
	l.Behind = 10 * l.Delay
	if on() {
		l.Dup, l.Late, l.Latest = 0.1, 0.2, [3]int64{1e6, 3e9, 60e9}[s.IntN(3)]
	}
	if on() {
		l.Reorder, l.Jitter = 0.1, l.Delay
	}
	if on() {
		l.Corrupt = 0.02
	}
	if x.cuts || x.longCuts || x.restarts {
		l.Loss = min(l.Loss, 0.1)
	}
	if natives {
		x.natives = uint(1 + s.IntN(1<<x.nodes-1))
		l.Loss = min(l.Loss, 0.05)
		l.Latest = min(l.Latest, 3e9) // native packets have nothing to recognize a copy from an earlier connection
	}
	if f.large {
		x.messages /= 4
	}
	f.nodes, f.ops = x.nodes, x.messages
	f.resets = x.longCuts || x.restarts // operations may fail
	// Gofabric peers always send verdicts; native ones that refuse an access block the connection for good.
	f.verdicts = !natives
	f.badKeys = f.verdicts && on()
	return f, x, l
}
