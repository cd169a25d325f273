package progress

// burstLikely is the number of posts in a burst after which the next burst's first post is expected to have company, too.
const burstLikely = 8

// Gather decides which posts wait for company: what one owner of staged bytes, a socket, remembers of the rhythm of posts and passes. The zero value is ready.
type Gather struct {
	pass   uint64 // the pass that the burst of posts under way came after
	burst  int    // posts since that pass
	before int    // posts between the passes before
	late   int    // posts since a pause, while the application stays away
	staged bool
}

// Post says whether a post leaves at once; if not, f.Flush follows soon, and must call Left. more: the application said that another one follows. Locked.
func (g *Gather) Post(e *Engine, f Flusher, more bool) bool {
	if g.staged && e.punctual != late { // the common case, inlined
		g.burst++
		return false
	}
	return g.post(e, f, more)
}

func (g *Gather) post(e *Engine, f Flusher, more bool) bool {
	if g.staged {
		g.burst++
		if e.Overdue() {
			e.FlushStaged()
		}
		return false
	}
	if !more && e.SendNow(&g.late) {
		return true
	}
	if e.passes != g.pass {
		g.pass, g.before, g.burst = e.passes, g.burst, 0
	}
	g.burst++
	likely := more || g.before >= burstLikely
	if (likely || g.burst > 1) && e.Stage(f, likely) {
		g.staged = true
		return false
	}
	return true
}

// Staged reports whether what is posted waits for company, or may have waited long enough. Locked.
func (g *Gather) Staged() bool { return g.staged }

// Waiting says that what is posted waits for company, and Post need not be asked for each. Locked.
func (g *Gather) Waiting(e *Engine) bool { return g.staged && e.punctual != late }

// Emptied says that a post has transmitted all that there was, which took its time: what is posted from now on has not waited yet, and does not come after a pause. Locked.
func (g *Gather) Emptied(e *Engine) {
	if g.staged || e.punctual == late {
		e.emptied()
	}
}

// Answer has f.Flush called soon, which must call Left: a posted receive has brought about an answer, within a call that must not transmit. Locked.
func (g *Gather) Answer(e *Engine, f Flusher) {
	if !g.staged {
		e.stageAnswer(f)
		g.staged = true
	}
}

// Left says that what was staged has left; joined are posts meanwhile that Post was not asked for. Locked.
func (g *Gather) Left(joined int) {
	g.staged = false
	g.burst += joined
}

// Forget ends the wait of an f that is going away. Locked.
func (g *Gather) Forget(e *Engine, f Flusher) {
	if g.staged {
		e.Unstage(f)
		g.staged = false
	}
}
