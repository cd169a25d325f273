// Package allocs checks that no operation allocates over any stack.
package allocs
