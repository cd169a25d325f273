package batch

// Limits are the bytes that wait in a stream at which a post has them transmitted.
type Limits struct {
	Copied int // of messages that were copied
	Lent   int // if the last message is in a buffer of the application's, which costs no copy
}

// Stream is what one driver of a stream remembers of the rhythm of posts and passes. The zero value is ready.
type Stream struct {
	pass    uint64 // the pass before the burst of posts under way
	burst   uint32 // posts since that pass
	before  uint32 // posts between the passes before
	late    uint32 // posts since a pause, while the application stays away
	limit   int32  // Limits.Copied
	waiting bool
}

// Posted decides about a message that was posted to the stream of f, where queued bytes wait now, the last of them lent
// or copied. If it returns true, the driver transmits and calls Transmitted. If not, f.Flush follows. With more the
// application has said that another message follows (FI_MORE, fi_msg(3)).
func (b *Stream) Posted(s *Scheduler, f Flusher, l *Limits, queued int, lent, more bool) bool {
	if queued >= l.Copied && !(lent && queued < l.Lent) {
		return true
	}
	b.limit = int32(l.Copied)
	if b.waiting && s.punctual != away { // the common case
		b.burst++
		return false
	}
	return b.postedFirst(s, f, more)
}

// postedFirst is Posted for a stream that does not wait yet, or whose application stays away.
func (b *Stream) postedFirst(s *Scheduler, f Flusher, more bool) bool {
	if b.waiting {
		b.burst++
		if s.overdue() {
			s.Flush(true)
		}
		return false
	}
	if !more && s.sendNow(&b.late) {
		return true
	}
	if s.passes != b.pass {
		b.pass, b.before, b.burst = s.passes, b.burst, 0
	}
	b.burst++
	likely := more || b.before >= burstLikely
	if (likely || b.burst > 1) && s.wait(f, likely) {
		b.waiting = true
		return false
	}
	return true
}

// Admits says that a message may join the one before it, while queued bytes wait, and that the driver need not be asked
// about it. Tell Joined if it did.
func (b *Stream) Admits(s *Scheduler, queued int) bool {
	return b.waiting && queued < int(b.limit) && s.punctual != away
}

// Joined counts a message that joined the one before it.
func (b *Stream) Joined() { b.burst++ }

// Waiting says that messages wait.
func (b *Stream) Waiting() bool { return b.waiting }

// Transmitted says that the driver has transmitted all that there was because Posted said so. That took its time: what
// is posted from now on has not waited yet, and does not come after a pause.
func (b *Stream) Transmitted(s *Scheduler) {
	if b.waiting || s.punctual == away {
		s.emptied()
	}
}

// Answer has f.Flush called soon: a receive that was posted has brought about an answer, in a call that must not
// transmit.
func (b *Stream) Answer(s *Scheduler, f Flusher) {
	if !b.waiting {
		s.waitAnyway(f)
		b.waiting = true
	}
}

// Flushed says that what waited was transmitted, or is about to be. Flush of the driver calls it.
func (b *Stream) Flushed() { b.waiting = false }

// Forget ends the wait of the stream of f, which is going away.
func (b *Stream) Forget(s *Scheduler, f Flusher) {
	if b.waiting {
		s.forget(f)
		b.Flushed()
	}
}
