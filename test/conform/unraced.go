//go:build !race

package conform

// Raced reports whether the race detector is on.
const Raced = false
