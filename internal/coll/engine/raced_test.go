//go:build race

package engine

// raced: the race detector multiplies time, and has nothing to see in tests of one goroutine.
const raced = true
