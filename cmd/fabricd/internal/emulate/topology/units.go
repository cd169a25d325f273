package topology

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseProbability reads "5%" or "0.05".
func ParseProbability(s string) (float64, error) {
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is not a probability: write 5%% or 0.05", s)
	}
	return v, nil
}

// rates are the units of rates, bits per second; longer names first.
var rates = []struct {
	unit string
	size float64
}{{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// ParseRate reads "10gbit", "250 mbit" or a number of bits per second, 0 for no limit.
func ParseRate(s string) (float64, error) {
	num, size := strings.ToLower(strings.TrimSpace(s)), 1.0
	for _, r := range rates {
		if cut, ok := strings.CutSuffix(num, r.unit); ok {
			num, size = strings.TrimSpace(cut), r.size
			break
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a rate: write 10gbit, 250mbit or 64kbit; 0 for no limit", s)
	}
	return v * size, nil
}

// ParseDelay reads "5ms", "20us", or 0.
func ParseDelay(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time: write 5ms, 20us or 1.5s", s)
	}
	return d, nil
}

// ParseCount reads a number of frames, or of bytes with the units k, m.
func ParseCount(s string) (int, error) {
	num, size := strings.ToLower(strings.TrimSpace(s)), 1
	switch {
	case strings.HasSuffix(num, "k"):
		num, size = num[:len(num)-1], 1<<10
	case strings.HasSuffix(num, "m"):
		num, size = num[:len(num)-1], 1<<20
	}
	n, err := strconv.Atoi(num)
	if err != nil || n < 0 || n > math.MaxInt/size {
		return 0, fmt.Errorf("%q is not a number of frames or bytes: write 100 or 64k", s)
	}
	return n * size, nil
}
