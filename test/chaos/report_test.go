package chaos

// What a process tells about itself: one line of JSON for each command.

type report struct {
	Me, Life   int
	Peers      []peerReport
	Slots      []uint64 // sums of atomics, by who added
	Under      int      // operations under way
	Ops        int      // that have ended
	Goroutines int
	FDs        int
	Heap       uint64 // bytes
	Failures   []string
}

type peerReport struct {
	OKs, Errs int
	HeardLife int // in its messages
	AddedLife int // in the results of atomics
	Known     bool
	Next      uint64 // what the sum must be, at least
	Unsure    uint64 // and at most more than that: additions that failed
	LastErr   string
}
