//go:build !race

package need

// Raced reports whether the race detector is on.
const Raced = false
