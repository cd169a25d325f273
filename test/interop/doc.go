// Package interop tests against native peers: libfabric's own fi_pingpong at one end, fi pingpong at the other.
//
// Debian's fi_pingpong comes from the package libfabric-bin. GOFABRIC_NATIVE_PINGPONG names the fi_pingpong of a libfabric 2.x. A test whose peer is
// missing is skipped, or fails if GOFABRIC_PEERS is "required".
package interop
