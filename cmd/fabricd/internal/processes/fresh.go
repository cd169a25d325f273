package processes

import (
	"context"
	"time"
)

// Processes are asked for figures when somebody wants them: what nobody sees costs nobody anything. All are asked at once: on a node whose processes wait for one
// another, one interruption of all of them together holds them up less than each of them at its own time.

// ask has the process asked for its figures, unless it has been and owes them. Locked.
func (m *member) ask() {
	if m.asked {
		return
	}
	m.asked = true
	m.wanted <- struct{}{} // there is room: it has been taken out, or it would owe an answer
}

// refresh asks those processes whose last answer is older than age, and waits for the answers for a short time. Of those that are silent already, and of those
// that do not answer in that time, what is known stays what they said last.
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

// want asks those processes, and returns what says that they have answered.
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
