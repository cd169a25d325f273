//go:build race

package conform

// raced says that the race detector watches.
const raced = true
