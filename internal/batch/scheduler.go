package batch

import "gofabric/internal/mono"

// Times, nanoseconds.
const (
	// Delay is how long messages wait for the application before the host's timer has them transmitted.
	Delay = 50_000
	// quiet is the pause between flushes after which a post need not wait: nothing is gained by it.
	quiet = 25_000
	// quietInBurst is the same for a post that is likely to be the first of a burst: then it takes a longer pause to
	// believe that it stays alone. If an answered window takes longer than the pause, its first message must not leave
	// alone: that would make the window take even longer.
	quietInBurst = 500_000
)

const (
	// trustAfter is how many bursts in a row the application's own passes must have flushed within Delay before the
	// timer is left out. Setting one costs as much as a send: the processor's timer is programmed anew, which on a
	// virtual machine leaves it. One late flush ends the trust.
	trustAfter = 8
	// lateBurst is how many posts after a pause transmit at once while the application is known to stay away. Few
	// messages are wanted soon; for many the saved system calls count more. On a busy machine the goroutine that the
	// timer wakes may wait for a processor for milliseconds.
	lateBurst = 4
	// burstLikely is the number of posts in a burst after which the first post of the next burst is expected to be
	// followed by others.
	burstLikely = 8
)

// away is the value of Scheduler.punctual after messages waited longer than Delay.
const away = -1

// Flusher is a driver that has messages which wait. Flush transmits them, and calls Flushed of the stream.
type Flusher interface{ Flush() }

// Host is the progress of the domain.
type Host interface {
	// Now reads the clock.
	Now() mono.Time
	// WakeIn has Scheduler.Expired called about ns nanoseconds after now, or sooner. It returns false if it cannot.
	WakeIn(now mono.Time, ns int64) bool
	// Polled says that the application has been making passes, and that a tick will notice when it stops.
	Polled() bool
}

// Scheduler knows which streams of a domain have messages that wait, and how the application behaves. Init makes it
// ready.
type Scheduler struct {
	host      Host
	waiting   []Flusher
	flushing  bool
	passes    uint64
	since     mono.Time // when the first of waiting began to wait
	lastFlush mono.Time
	punctual  int    // bursts in a row that passes flushed in time; or away
	expired   uint64 // flushes by the timer
}

// Init prepares s.
func (s *Scheduler) Init(h Host) { s.host = h }

// Passes counts the passes.
func (s *Scheduler) Passes() uint64 { return s.passes }

// Waiting says whether something waits.
func (s *Scheduler) Waiting() bool { return len(s.waiting) > 0 }

// Away says that messages have waited too long, because the application has stopped calling.
func (s *Scheduler) Away() bool { return s.punctual == away }

// FlushedByTimer counts the flushes that the application's absence caused.
func (s *Scheduler) FlushedByTimer() uint64 { return s.expired }

// Pass counts a pass, and returns its number. Flush what waits with it.
func (s *Scheduler) Pass() uint64 {
	s.passes++
	return s.passes
}

// Flush has everything transmitted that waits; with own the application has come by. Within a Flusher it does nothing:
// the flush under way takes what that adds.
func (s *Scheduler) Flush(own bool) {
	if len(s.waiting) > 0 && !s.flushing {
		s.flush(own)
	}
}

func (s *Scheduler) flush(own bool) {
	s.flushing = true
	s.lastFlush = s.host.Now()
	if s.lastFlush.Sub(s.since) > Delay {
		s.punctual = away
	} else if own {
		s.punctual++
	}
	for i := 0; i < len(s.waiting); i++ { // a flush may add others, never itself
		f := s.waiting[i]
		s.waiting[i] = nil // before the call: a forget within it must not find f
		if f != nil {
			f.Flush()
		}
	}
	s.waiting = s.waiting[:0]
	s.flushing = false
	if s.punctual == away {
		s.lastFlush = s.host.Now() // the time that the flush took is no pause between posts
	}
}

// Expired is called when the time of WakeIn has come, or for another reason at now: it flushes what has waited for long
// enough.
func (s *Scheduler) Expired(now mono.Time) {
	if len(s.waiting) > 0 && now.Sub(s.since) >= Delay/2 {
		s.expired++
		s.Flush(false)
	}
}

// Returned says that the application makes passes again.
func (s *Scheduler) Returned() {
	if s.punctual == away {
		s.punctual = 0
	}
}

// sendNow says that a post should transmit at once, because the application lets messages wait. burst counts the posts
// of one stream since a pause.
func (s *Scheduler) sendNow(burst *uint32) bool {
	if s.punctual != away {
		return false
	}
	now := s.host.Now()
	if now.Sub(s.lastFlush) > quiet {
		*burst = 0
	}
	s.lastFlush = now
	*burst++
	return *burst <= lateBurst
}

// overdue says that messages have waited too long because the application stays away. A flush under way is soon enough.
func (s *Scheduler) overdue() bool {
	return s.punctual == away && len(s.waiting) > 0 && !s.flushing && s.host.Now().Sub(s.since) > Delay
}

// wait has f flushed soon. It returns false if waiting is pointless, and f should transmit at once. likely says that
// other messages are likely to follow.
func (s *Scheduler) wait(f Flusher, likely bool) bool {
	if len(s.waiting) == 0 {
		now, pause := s.host.Now(), int64(quiet)
		if likely {
			pause = quietInBurst
		}
		if int64(now.Sub(s.lastFlush)) > pause {
			s.lastFlush = now
			return false
		}
		s.since = now
		if !s.trusted() && !s.host.WakeIn(now, Delay) {
			return false
		}
	}
	s.waiting = append(s.waiting, f)
	return true
}

// waitAnyway is wait that does not refuse: f must not be flushed now.
func (s *Scheduler) waitAnyway(f Flusher) {
	if len(s.waiting) == 0 {
		s.since = s.host.Now()
		if !s.trusted() {
			s.host.WakeIn(s.since, Delay) // if it cannot, the next pass flushes
		}
	}
	s.waiting = append(s.waiting, f)
}

// trusted says that the application's passes come in time, and no timer is needed.
func (s *Scheduler) trusted() bool { return s.punctual >= trustAfter && s.host.Polled() }

// emptied says that a stream, waiting or not, has nothing left to transmit.
func (s *Scheduler) emptied() {
	s.lastFlush = s.host.Now()
	if len(s.waiting) == 1 {
		s.since = s.lastFlush
	}
}

// forget removes f, which is going away.
func (s *Scheduler) forget(f Flusher) {
	for i, w := range s.waiting {
		if w == f {
			s.waiting[i] = nil // the others keep their places, because a flush may be under way
			return
		}
	}
}
