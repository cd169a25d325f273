// Package features runs the conformance suite once over each kind of stack, and records what its tests show of
// libfabric's interface. The page docs/features.md is generated from that, and the test fails if the page differs. To
// write the page:
//
//	go test ./test/conform/features -features docs/features.md
package features
