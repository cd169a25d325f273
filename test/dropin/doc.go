// Package dropin tests the drop-in C library, cmd/libfabric. It runs unmodified programs of other projects and C
// programs of this project on it.
//
// The library is built once, into a folder of the tests. If the loader does not find it, it takes the system's
// library, so every test checks which library is mapped. C programs are compiled against the system's headers, as
// applications are. Without gcc, libfabric-dev or libfabric-bin the tests that need them are skipped. With
// GOFABRIC_PEERS=required they fail.
package dropin
