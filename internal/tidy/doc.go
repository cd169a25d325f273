// Package tidy has the rules of the house as tests: which package may import which, what engines must not import,
// where unsafe may be used, and how long files and functions may be. The tests read the source files, so that the
// cache of go test notices every change.
package tidy
