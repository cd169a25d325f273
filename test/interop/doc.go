// Package interop tests against native peers.
//
// The tests of pingpong_test.go run libfabric's own fi_pingpong at one end and ofi pingpong at the other. The tests
// TestNative... of connections and transfers run a C program of this project at the other end, testdata/peer.c. gcc
// builds it against the native library, and it makes any libfabric call that a test requests.
//
// Debian's fi_pingpong comes from the package libfabric-bin, its headers from libfabric-dev. For a libfabric 2.x,
// GOFABRIC_NATIVE_PINGPONG names the fi_pingpong, and GOFABRIC_NATIVE_PREFIX the directory with its include and lib. A
// test whose peer is missing is skipped, or fails if GOFABRIC_PEERS is "required".
package interop
