package processes

import (
	"context"
	"time"
)

// The daemon asks processes for figures only when a client needs them. It asks all at once: if the processes of a
// node wait for one another, one common interruption delays them less than each at a different time.

// ask makes the daemon ask the process for its figures, unless an answer is pending. Locked.
func (m *member) ask() {
	if m.asked {
		return
	}
	m.asked = true
	m.wanted <- struct{}{} // there is room: without a pending answer the channel is empty
}

// refresh asks the processes whose last answer is older than age, and waits a short time for the answers. For
// processes that are silent, or do not answer in that time, the last answer remains.
func (t *table) refresh(ctx context.Context, age time.Duration) {
	limit := time.NewTimer(answerTime)
	defer limit.Stop()
	for _, answer := range t.want(age) {
		select {
		case <-answer:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// want asks those processes. The returned channels are closed when they have answered.
func (t *table) want(age time.Duration) (answers []<-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for m := range t.all {
		if m.last != nil && time.Since(m.heard) < age {
			continue
		}
		m.ask()
		if !m.silent {
			answers = append(answers, m.next)
		}
	}
	return answers
}
