//go:build race

package conform

// Raced says that the race detector watches.
const Raced = true
