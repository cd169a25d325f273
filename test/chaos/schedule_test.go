package chaos

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// The schedule of events follows from the seed, the stack and the number of nodes.

type eventKind uint8

const (
	evKill eventKind = iota // SIGKILL, and a new process at the same address
	evExit                  // the process exits without closing anything
	// A node closes everything in good order, and opens again, in the same process or in a new one.
	evClose
	evShutdown // a node shuts a connection down
	evStop     // SIGSTOP, later SIGCONT
	evLink     // the link goes down, later up
	evHalfOpen // connections that send nothing, or half of something
	evExhaust  // no file descriptors are left
	evMemory   // a limit on memory
	evClient   // a process that sends to the server through the root package, and ends as its order says
	eventKinds
)

func (k eventKind) String() string {
	return [...]string{"kill", "exit", "close", "shutdown", "stop", "link", "half-open",
		"exhaust", "memory", "client"}[k]
}

func (k eventKind) plural() string {
	return [...]string{"kills", "exits", "closes", "shutdowns", "stops", "links", "half-open",
		"exhausts", "memories", "clients"}[k]
}

// event is something that happens to a node.
type event struct {
	at   time.Duration
	kind eventKind
	node int
	long time.Duration // how long it lasts
	draw uint64        // a random number for further choices
}

func (e event) String() string {
	return fmt.Sprintf("%v %v of node %d for %v", e.at.Round(time.Millisecond), e.kind,
		e.node, e.long.Round(time.Millisecond))
}

// silence is how long the stacks wait for a peer that does not answer.
const silence = 3 * time.Second

// steady is how many nodes are never killed. They see all others die.
const steady = 2

// killEvery is the longest time between two kills.
const killEvery = 6 * time.Second

// plan returns the schedule.
func plan(seed uint64, w way, nodes int, long time.Duration) (events []event) {
	rng := rand.New(rand.NewPCG(seed, hash(w.String())))
	busy := make([]time.Duration, nodes)
	span := func(from, to time.Duration) time.Duration { return from + time.Duration(rng.Int64N(int64(to-from))) }
	weights := w.weights()
	sum := 0
	for _, k := range weights {
		sum += k
	}
	var linkFree time.Duration
	lastKill := -2 * killEvery // a kill comes early
	for at := 500 * time.Millisecond; at < long; at += span(100*time.Millisecond, 1000*time.Millisecond) {
		e := event{at: at, node: rng.IntN(nodes), draw: rng.Uint64()}
		pick := rng.IntN(sum)
		for pick >= weights[e.kind] {
			pick -= weights[e.kind]
			e.kind++
		}
		if at-lastKill > killEvery && weights[evKill] > 0 {
			e.kind = evKill
		}
		switch e.kind {
		case evKill, evExit, evClose:
			e.node = steady + rng.IntN(nodes-steady)
			if e.long = span(0, silence/6); e.draw%6 == 0 {
				e.long = silence + time.Second // longer than any peer waits
			}
		case evStop:
			if e.long = span(silence/15, silence/2); e.draw%4 == 0 {
				e.long = silence + span(silence/3, silence)
			}
		case evLink:
			if e.long = span(silence/15, silence/2); e.draw%3 == 0 {
				e.long = silence + span(silence/3, silence)
			}
			e.node = 1
			if at < linkFree {
				continue
			}
			linkFree = at + e.long + 2*time.Second
		case evExhaust, evMemory, evHalfOpen:
			e.long = span(silence/6, silence)
		}
		if w.brief {
			e.long = min(e.long, silence/6)
		}
		if e.kind < evHalfOpen && e.kind != evShutdown && e.kind != evLink {
			if at < busy[e.node] {
				continue
			}
			busy[e.node] = at + e.long + time.Second
		}
		if e.kind == evKill {
			lastKill = at
		}
		events = append(events, e)
	}
	return events
}

func hash(s string) (x uint64) {
	for _, c := range []byte(s) {
		x = mix(x ^ uint64(c))
	}
	return x
}

// TestSchedule checks that the schedule follows from the seed, and has enough kills.
func TestSchedule(t *testing.T) {
	for _, s := range stacks {
		for _, c := range s.carriers() {
			w := way{stack: s, carrier: c}
			a, b, other := plan(1, w, 6, 5*time.Minute), plan(1, w, 6, 5*time.Minute), plan(2, w, 6, 5*time.Minute)
			if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, other) {
				t.Errorf("%v: the schedule does not follow from the seed", w)
			}
			var n [eventKinds]int
			for _, e := range a {
				n[e.kind]++
			}
			if n[evKill] < 35 { // 200 in 30 minutes
				t.Errorf("%v: %d kills in 5 minutes", w, n[evKill])
			}
			for k, weight := range w.weights() {
				if weight > 0 && n[k] == 0 {
					t.Errorf("%v: no %v in 5 minutes", w, eventKind(k))
				}
			}
		}
	}
}
