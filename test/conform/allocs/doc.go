// Package allocs wants no allocation of any operation over any stack.
package allocs
