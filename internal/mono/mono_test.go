package mono

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestNowAdvances(t *testing.T) {
	a := Now()
	if a <= None {
		t.Fatalf("Now() = %d, want a time after None", a)
	}
	began := time.Now()
	for time.Since(began) < time.Millisecond {
	}
	b := Now()
	if !a.Before(b) || b.Sub(a) < time.Millisecond {
		t.Fatalf("a millisecond passed between %d and %d", a, b)
	}
	if allocs := testing.AllocsPerRun(100, func() { Now() }); allocs != 0 {
		t.Fatalf("Now allocates %v times", allocs)
	}
}

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		t    Time
		d    time.Duration
		want Time
	}{
		{5, 7, 12}, {5, -2, 3}, {5, -5, 1}, {5, -9, 1}, {Never, 1, Never}, {Never - 3, 3, Never},
		{10, time.Duration(Never), Never}, {5, 0, 5},
	} {
		if got := c.t.Add(c.d); got != c.want {
			t.Errorf("%d.Add(%d) = %d, want %d", c.t, c.d, got, c.want)
		}
	}
}

func TestDeadlines(t *testing.T) {
	for _, c := range []struct{ a, b, want Time }{{None, None, None}, {None, 4, 4}, {4, None, 4}, {4, 5, 4}, {5, 4, 4},
		{4, 4, 4}, {Never, 4, 4}} {
		if got := Earlier(c.a, c.b); got != c.want {
			t.Errorf("Earlier(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if None.Due(10) || !Time(10).Due(10) || !Time(9).Due(10) || Time(11).Due(10) || !None.IsNone() {
		t.Error("Due, IsNone or After is wrong")
	}
}

// TestBubble: in a bubble of testing/synctest the clock is the bubble's, and no Time is None.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := Now()
		if a < 1 {
			t.Fatalf("Now() = %d", a)
		}
		time.Sleep(1234567 * time.Second)
		if d := Now().Sub(a); d != 1234567*time.Second {
			t.Errorf("%v went by", d)
		}
		if b := a.Add(-time.Nanosecond); b < 1 {
			t.Errorf("%d is not a valid Time", b)
		}
	})
}
