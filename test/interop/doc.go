// Package interop tests against native peers.
//
// The tests of pingpong_test.go have libfabric's own fi_pingpong at one end, ofi pingpong at the other. The tests TestNative... of connections and
// transfers have at the other end a C program of ours, testdata/peer.c, which gcc builds against the native library and which does any call of
// libfabric that a test asks it for.
//
// Debian's fi_pingpong comes from the package libfabric-bin, its headers from libfabric-dev. Of a libfabric 2.x, GOFABRIC_NATIVE_PINGPONG names the
// fi_pingpong, and GOFABRIC_NATIVE_PREFIX the directory with its include and lib. A test whose peer is missing is skipped, or fails if GOFABRIC_PEERS is
// "required".
package interop
