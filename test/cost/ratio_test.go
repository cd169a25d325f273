package cost

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestInterval compares ranks with tables of the sign test, and checks how often an interval contains the median.
func TestInterval(t *testing.T) {
	for _, c := range []struct{ n, low, high int }{{5, 0, 0}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8},
		{12, 3, 10}, {20, 6, 15}, {30, 10, 21}} {
		var r ratios
		for i := range c.n {
			r = append(r, float64(1+(i*7)%c.n)) // unsorted: 7 divides none of the sizes
		}
		low, _, high, err := r.interval()
		if (err != nil) != (c.low == 0) || low != float64(c.low) || high != float64(c.high) {
			t.Errorf("%d pairs: from the %vth to the %vth, %v", c.n, low, high, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range 2000 {
		var r ratios
		for range 12 {
			r = append(r, 1+random.ExpFloat64()) // the median is 1 + ln 2
		}
		low, median, high, _ := r.interval()
		if low > median || median > high {
			t.Fatal(low, median, high)
		}
		if low <= 1.6931 && 1.6931 <= high {
			held++
		}
	}
	if held < 1900 || held > 1960 { // 12 pairs: 96.1 %
		t.Errorf("%d intervals of 2000 contain the median", held)
	}
}

// TestVerdict checks that a cost that is certainly too high fails, that an uncertain one is reported, and that a few
// pairs disturbed by a busy machine change neither.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		cost float64
		bad  bool
		said string
	}{{1.00, false, "within"}, {1.015, false, "within"}, {1.02, false, "not certain"}, {1.04, true, "too much"}} {
		var r ratios
		for i := range 30 {
			r = append(r, c.cost+0.0004*float64((i*7)%30-15))
		}
		r[3], r[4], r[5], r[6] = 0.3, 3.7, 1.4, 9
		low, _, high, err := r.interval()
		if said, bad := verdict(low, high); err != nil || bad != c.bad || !strings.HasPrefix(said, c.said) {
			t.Errorf("a cost of %v, from %v to %v: %s, %v", c.cost, low, high, said, err)
		}
	}
}
