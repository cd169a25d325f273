// Package features runs the conformance suite over each kind of stack, once, and notes what its tests show of libfabric's interface. docs/features.md is
// made of that, and the test fails when the page says something else. To write the page:
//
//	go test ./test/conform/features -features docs/features.md
package features
