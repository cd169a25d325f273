// Package dropin has the tests of the drop-in C library, cmd/libfabric: programs of others, unmodified, and C programs of the project's own run on it.
//
// The library is built once, into a folder of the tests' own. The loader takes the system's library where it does not find that one, so every test
// checks which is mapped. C programs are compiled against the system's headers, as applications are. Without gcc, libfabric-dev or libfabric-bin the tests that
// need them are skipped; with GOFABRIC_PEERS=required they fail.
package dropin
