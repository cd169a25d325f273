//go:build race

package schedule

// raced shortens tests: the race detector slows them down, and finds nothing in tests of one goroutine.
const raced = true
