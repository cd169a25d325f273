package batch

import (
	"flag"
	"math/rand/v2"
	"testing"

	"gofabric/internal/mono"
)

var seeds = flag.Uint64("seeds", 300, "number of random schedules to simulate")

// tick is the interval in which the simulated host checks that the application makes passes, ns (internal/progress).
const tick = 4e6

// TestSimulation: applications with different rhythms post to three streams of a domain. No message is lost, none
// waits longer than the timer or the tick allows, and none waits beyond a pass.
func TestSimulation(t *testing.T) {
	for seed := range *seeds {
		simulate(t, seed)
		if t.Failed() {
			t.Fatalf("go test ./internal/batch -run Simulation -seeds=%d: the last seed fails", seed+1)
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	d := newDriver()
	all := []*testDriver{d, d.another(), d.another()}
	posted := 0
	nextTick := d.h.now + tick
	// run advances the time, and executes the timer and the tick.
	run := func(ns mono.Time) {
		end := d.h.now + ns
		for {
			at := min(end, nextTick)
			timer := d.h.timer != 0 && d.h.timer <= at
			if timer {
				at = d.h.timer
			}
			d.h.now = max(d.h.now, at)
			switch {
			case timer:
				d.h.timer = 0
				d.s.Expired(d.h.now)
				if d.s.Waiting() {
					d.h.WakeIn(d.h.now, Delay)
				}
			case at == nextTick:
				nextTick = d.h.now + tick
				d.s.Flush(false)
			default:
				return
			}
		}
	}
	for range 400 {
		for _, x := range all {
			x.cost = mono.Time(rnd.IntN(2) * rnd.IntN(20_000))
		}
		d.h.noTimer = rnd.IntN(10) == 0
		for range 1 + rnd.IntN(1+rnd.IntN(40)) {
			x := all[min(rnd.IntN(8), 2)]
			x.post(rnd.IntN(20) == 0)
			posted++
			run(mono.Time(rnd.IntN(1000)))
		}
		switch rnd.IntN(6) {
		case 0:
			run(mono.Time(rnd.IntN(10 * Delay))) // the application computes
		case 1:
			x := all[rnd.IntN(3)]
			x.b.Answer(d.s, x)
		case 2:
			d.s.Flush(true) // the application reads the last entry of a queue
			if d.s.Returned(); d.s.Waiting() {
				t.Error("something waits after a flush")
			}
		default:
			d.pass()
			for i, x := range all {
				if x.queued > 0 || x.b.Waiting() {
					t.Errorf("stream %d waits beyond a pass", i)
				}
			}
		}
	}
	run(2 * tick)
	sent := 0
	for i, x := range all {
		sent += x.sent
		if x.worst > tick+Delay+200_000 {
			t.Errorf("a message of stream %d waited for %d ns", i, x.worst)
		}
	}
	if sent != posted {
		t.Errorf("%d messages were posted and %d sent", posted, sent)
	}
}
