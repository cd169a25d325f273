package pingpong

// This file chooses the message sizes of a run (fi_pingpong(1), "DEFAULTS").

// maxDataSize is the largest message of a run over all sizes: 4 MiB plus 2 MiB.
const maxDataSize = 1<<22 + 1<<21

var defaultSizes = [...]int{64, 256, 1024, 4096, 65536, 1048576}

// bufferSize returns the size of the largest message for a choice of -S and an endpoint's limit.
func bufferSize(choice, maxMsg int) int {
	n := maxDataSize
	if choice >= 0 {
		n = choice
	}
	return min(n, maxMsg)
}

// testSizes returns the sizes to run, none larger than limit. If a chosen size is too large, there is none.
func testSizes(choice, limit int) []int {
	var sizes []int
	add := func(n int) {
		if n <= limit {
			sizes = append(sizes, n)
		}
	}
	switch choice {
	case UnsetSize:
		for _, n := range defaultSizes {
			add(n)
		}
	case AllSizes:
		add(0)
		add(1)
		for p := 2; p > 0 && p <= limit; p <<= 1 {
			add(p)
			add(p + p/2)
		}
	default:
		add(choice)
	}
	return sizes
}
