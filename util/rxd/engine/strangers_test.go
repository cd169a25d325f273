package engine

import "testing"

// TestStrangersRate: a burst is answered at once, a flood at the rate, and after a pause there is a burst again.
func TestStrangersRate(t *testing.T) {
	var s strangers
	now := int64(5e9)
	ask := func(n int) (yes int) {
		for range n {
			if s.may(now) {
				yes++
			}
		}
		return yes
	}
	if n := ask(3 * challengesBurst); n != challengesBurst {
		t.Errorf("%d at once, want %d", n, challengesBurst)
	}
	n := 0
	for range 100_000 { // a million a second, for a tenth of one
		now += 1e3
		n += ask(1)
	}
	if want := challengesRate / 10; n < want-1 || n > want+1 {
		t.Errorf("%d in a tenth of a second, want %d", n, want)
	}
	now += 3e9
	if n := ask(3 * challengesBurst); n != challengesBurst {
		t.Errorf("%d at once after a pause, want %d", n, challengesBurst)
	}
}
