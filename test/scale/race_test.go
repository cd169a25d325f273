//go:build linux && race

package scale

// raced is set with the race detector, which multiplies time and memory.
const raced = true
