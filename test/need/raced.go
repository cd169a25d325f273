//go:build race

package need

// Raced says that the race detector watches. It multiplies time and memory.
const Raced = true
