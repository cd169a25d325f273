package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Spread has the minimum, the median and the maximum of values.
type Spread struct{ Min, Median, Max float64 }

// SpreadOf returns the spread of values, zero for none.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	m := v[len(v)/2]
	if len(v)%2 == 0 {
		m = (v[len(v)/2-1] + m) / 2
	}
	return Spread{v[0], m, v[len(v)-1]}
}

// number formats a value with three or four significant digits.
func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// sizeText formats bytes as libfabric's tools do: 64, 1k, 1m.
func sizeText(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dm", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dk", n>>10)
	}
	return fmt.Sprint(n)
}

// maxSize bounds sizes on a command line, in bytes.
const maxSize = 1 << 30

// ParseSize reads bytes: 64, 64k, 1m.
func ParseSize(text string) (int, error) {
	digits, shift := strings.ToLower(strings.TrimSpace(text)), 0
	switch {
	case strings.HasSuffix(digits, "k"):
		digits, shift = digits[:len(digits)-1], 10
	case strings.HasSuffix(digits, "m"):
		digits, shift = digits[:len(digits)-1], 20
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 || n<<shift > maxSize {
		return 0, fmt.Errorf("size %q is not a number of bytes from 1 to 1024m, such as 64, 64k or 1m", text)
	}
	return int(n << shift), nil
}
