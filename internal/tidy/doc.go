// Package tidy holds the house rules as tests: who may import whom, what engines must not touch, where unsafe lives, how long files and functions
// get. It reads the source itself, so that go test sees every edit.
package tidy
