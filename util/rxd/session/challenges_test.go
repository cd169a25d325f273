package session

import "testing"

// TestChallengeLimit checks that a burst is answered at once, a flood at the rate, and a burst again after a pause.
func TestChallengeLimit(t *testing.T) {
	var s challengeLimit
	now := int64(5e9)
	ask := func(n int) (yes int) {
		for range n {
			if s.allow(now) {
				yes++
			}
		}
		return yes
	}
	if n := ask(3 * challengesBurst); n != challengesBurst {
		t.Errorf("%d answers at once, want %d", n, challengesBurst)
	}
	n := 0
	for range 100_000 { // a million per second, for 0.1 s
		now += 1e3
		n += ask(1)
	}
	if want := challengesPerSecond / 10; n < want-1 || n > want+1 {
		t.Errorf("%d answers in a tenth of a second, want %d", n, want)
	}
	now += 3e9
	if n := ask(3 * challengesBurst); n != challengesBurst {
		t.Errorf("%d answers at once after a pause, want %d", n, challengesBurst)
	}
}
