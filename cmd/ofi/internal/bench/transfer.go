package bench

import (
	"fmt"
	"time"

	"gofabric/core"
)

// This file has the parts of the loops. None of them allocates, or reads a clock while there is work.

// syncSize is the length of the message that answers a window, in bytes, as in fabtests.
const syncSize = 4

// patience is the number of empty polls between checks of the watchdog's flag.
const patience = 1 << 14

// idle must be called for every empty poll.
func (s *side) idle() error {
	s.polls++
	if s.polls%patience == 0 {
		return s.look()
	}
	return nil
}

// slow is the time that a loop may make no progress without being stuck: processes that share processors with many
// others wait for some time slices.
const slow = 2 * time.Second

// look returns an error if the watchdog wants the loop to end, with the operation that the loop waits for.
func (s *side) look() error {
	if now := time.Now(); s.taken != s.seen || s.seenAt.IsZero() {
		s.seen, s.seenAt = s.taken, now
	}
	if !s.stop.Load() {
		return nil
	}
	if d := time.Since(s.seenAt); d > slow {
		return fmt.Errorf("no progress for %v, after %d completions: %w", d.Round(time.Millisecond), s.taken, core.ErrTimedOut)
	}
	return fmt.Errorf("slow progress, %d completions until now (is the machine busy with something else?): %w", s.taken, core.ErrTimedOut)
}

// again handles the error of a post: nil means to try again, after progress.
func (s *side) again(err error) error {
	if err != core.ErrAgain {
		return err
	}
	s.txq.Read(nil)
	s.rxq.Read(nil)
	return s.idle()
}

// await takes n completions from q.
func (s *side) await(q *core.CompletionQueue, n int) error {
	for n > 0 {
		k, err := q.Read(s.entries[:min(n, len(s.entries))])
		n -= k
		s.taken += uint64(k)
		if err == nil {
			continue
		}
		if err != core.ErrAgain {
			return failed(q, err)
		}
		if err := s.idle(); err != nil {
			return err
		}
	}
	return nil
}

// take waits for completions and returns the number of completions that it took.
func (s *side) take(q *core.CompletionQueue) (int, error) {
	for {
		n, err := q.Read(s.entries[:])
		if err == nil && n > 0 {
			s.taken += uint64(n)
			return n, nil
		}
		if err != nil && err != core.ErrAgain {
			return 0, failed(q, err)
		}
		if err := s.idle(); err != nil {
			return 0, err
		}
	}
}

// failed describes the error entry of a queue.
func failed(q *core.CompletionQueue, err error) error {
	if err != core.ErrAvail {
		return err
	}
	var e core.CQErrEntry
	if err := q.ReadErr(&e); err != nil {
		return err
	}
	return fmt.Errorf("%w %s", e.Err, e.Detail)
}

// send posts a message. With inject there is no completion.
func (s *side) send(b []byte, tagged, inject bool) error {
	for {
		var err error
		switch {
		case inject && tagged:
			err = s.ep.TInject(b, s.peer, tag)
		case inject:
			err = s.ep.Inject(b, s.peer)
		case tagged:
			err = s.ep.TSend(b, s.desc, s.peer, tag, 1)
		default:
			err = s.ep.Send(b, s.desc, s.peer, 1)
		}
		if err == nil {
			return nil
		}
		if err = s.again(err); err != nil {
			return err
		}
	}
}

// tag is the tag of all tagged messages.
const tag = 0x7a6

// recv posts a receive.
func (s *side) recv(b []byte, tagged bool) error {
	for {
		var err error
		if tagged {
			err = s.ep.TRecv(b, s.desc, s.peer, tag, 0, 2)
		} else {
			err = s.ep.Recv(b, s.desc, s.peer, 2)
		}
		if err == nil {
			return nil
		}
		if err = s.again(err); err != nil {
			return err
		}
	}
}

// access posts a remote read or write.
func (s *side) access(b []byte, at uint64, kind Kind, inject bool) error {
	for {
		var err error
		switch {
		case kind == Read:
			err = s.ep.Read(b, s.desc, s.peer, s.remote.Base+at, s.remote.Key, 3)
		case inject:
			err = s.ep.InjectWrite(b, s.peer, s.remote.Base+at, s.remote.Key)
		default:
			err = s.ep.Write(b, s.desc, s.peer, s.remote.Base+at, s.remote.Key, 3)
		}
		if err == nil {
			return nil
		}
		if err = s.again(err); err != nil {
			return err
		}
	}
}

// sendSync sends the message of syncSize bytes, and waits until it is sent.
func (s *side) sendSync(tagged bool) error {
	inject := syncSize <= s.inject
	if err := s.send(s.mem[:syncSize], tagged, inject); err != nil || inject {
		return err
	}
	return s.await(s.txq, 1)
}
