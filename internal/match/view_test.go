// This file tests which classes get a view if there are more than maxViews.

package match

import "testing"

func TestViewsGoToThoseWhoAsk(t *testing.T) {
	var q queue
	arriveFillers(&q, 100)
	ask := func(mask uint64) {
		if q.Peek(AnySource, 1<<50, mask) != nil {
			t.Fatal("matched a filler")
		}
	}
	has := func(mask uint64) bool {
		for i := range q.views.all {
			if v := &q.views.all[i]; v.on && v.ignore == mask {
				return true
			}
		}
		return false
	}
	for mask := range uint64(maxViews) {
		for range 4 {
			ask(mask)
		}
	}
	ask(maxViews)
	if has(maxViews) {
		t.Error("one search of a new class replaced a view that is in use")
	}
	for range 50 {
		ask(0)
		ask(1)
		ask(maxViews)
	}
	if !has(0) || !has(1) || !has(maxViews) || has(2) {
		t.Error("a class that is searched often did not get the view of one that is no longer searched")
	}
	for q.Take(AnySource, 0, ^uint64(0)) != nil {
	}
	if q.views.on != 0 {
		t.Error("views remain after the messages are gone")
	}
}
