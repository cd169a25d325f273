package sim

import (
	"gofabric/test/sim/network"
)

// features are the features of a run. Each is wholly on or wholly off.
type features struct {
	nodes int
	ops   int // number of operations to post

	untagged, tagged, reads, writes                       bool
	acks, data, inject, rendezvous, large, scribble       bool
	multi, directed, truncate, late, peeks                bool // late: most messages arrive before their receives
	cancels, resets, closes, refusals, badKeys, lateNames bool
	// adopts: sends that wait for a connection move to the next attempt.
	adopts                                            bool
	fewReplies                                        bool // only node 0 reads, and its peers queue few responses
	budgets, direct, tinyReads, tinyRooms, slow, lazy bool // lazy: flush later, so that posts coalesce
	atomics, fences                                   bool
	// verdicts: a refused access fails alone, and not with its connection.
	verdicts bool
}

func randomFeatures(s *network.Sched) features {
	on := func() bool { return s.IntN(2) == 0 }
	f := features{
		nodes: 2 + s.IntN(3), ops: 500 + s.IntN(6000),
		untagged: on(), tagged: on(), reads: on(), writes: on(),
		acks: on(), data: on(), inject: on(), rendezvous: on(), large: s.Chance(30), scribble: on(),
		multi: on(), directed: on(), truncate: s.Chance(30), late: s.Chance(30), peeks: on(),
		cancels: on(), resets: s.Chance(40), closes: s.Chance(30), refusals: s.Chance(30),
		badKeys: s.Chance(15), lateNames: s.Chance(20),
		adopts: on(), fewReplies: on(), budgets: on(), direct: on(), tinyReads: s.Chance(15),
		tinyRooms: s.Chance(30), slow: on(), lazy: on(),
	}
	f.atomics, f.fences = on(), s.Chance(30)
	f.verdicts = on()
	f.badKeys = f.badKeys || f.verdicts && on()
	if !f.untagged && !f.tagged {
		f.untagged = true
	}
	if f.peeks || f.truncate || f.multi {
		f.data = true // a message without content is identified by its data
	}
	if f.tinyReads {
		f.large = false
		f.ops /= 4
	}
	return f
}
