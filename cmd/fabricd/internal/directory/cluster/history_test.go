package cluster

import "testing"

// TestHistory: a history that cannot follow from the known one is a different one, even if its revision is higher.
func TestHistory(t *testing.T) {
	old := history{cluster: 7, term: 3, revision: 100}
	for _, c := range []struct {
		what string
		now  history
		want bool
	}{
		{"nothing happened", old, true},
		{"changes", history{7, 3, 101}, true},
		{"an election", history{7, 4, 100}, true},
		{"a backup", history{7, 3, 99}, false},
		{"a backup that was overtaken", history{7, 2, 200}, false},
		{"a backup with more elections", history{7, 9, 99}, false},
		{"another cluster", history{8, 4, 200}, false},
	} {
		if got := c.now.goesOn(old); got != c.want {
			t.Errorf("%s: goes on: %v", c.what, got)
		}
	}
}
