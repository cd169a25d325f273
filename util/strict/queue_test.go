package strict

import (
	"testing"

	"gofabric/core"
	"gofabric/cq"
	"gofabric/util/hook"
)

// list is a completion queue with some entries.
type list struct {
	core.CQDriver
	entries []core.CQEntry
}

func (l *list) Read(entries []core.CQEntry, _ []core.FIAddr) (int, error) {
	n := copy(entries, l.entries)
	if l.entries = l.entries[n:]; n == 0 {
		return 0, core.ErrAgain
	}
	return n, nil
}

func (l *list) Ready(bool) (bool, error) { return len(l.entries) > 0, nil }
func (l *list) Ended() bool              { return false }

// TestWindow: poll sets and fi_trywait report completions in the window of a queue, though the queue below has
// none.
func TestWindow(t *testing.T) {
	f := &fabric{h: &Hook{profile: &loose}}
	q := &queue{d: newDomain(f, nil, core.NewHints()), CQ: hook.CQ{CQDriver: &list{entries: make([]core.CQEntry, 2)}}}
	set, err := cq.NewPollSet(core.PollAttr{})
	if err != nil {
		t.Fatal(err)
	}
	self := &core.CompletionQueue{}
	if err := set.Add(q, self); err != nil {
		t.Fatal(err)
	}
	ready := make([]core.Object, 1)
	for left := 2; ; left-- {
		n, err := set.Poll(ready)
		if err != nil || n != min(left, 1) || n > 0 && ready[0] != core.Object(self) {
			t.Fatalf("%d completions: poll set has %d ready, %v", left, n, err)
		}
		if left == 0 {
			return
		}
		if n, err := q.Read(make([]core.CQEntry, 1), nil); n != 1 || err != nil {
			t.Fatalf("read: %d, %v", n, err)
		}
		if left == 2 {
			if err := f.TryWait(q); err != core.ErrAgain {
				t.Errorf("fi_trywait with a completion in the window: %v", err)
			}
		}
	}
}
