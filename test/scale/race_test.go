//go:build linux && race

package scale

// raced: the race detector multiplies time and memory.
const raced = true
