// Package mpi runs MPI programs on the C library (cmd/libfabric), with Debian's unmodified Open MPI.
//
// The programs in testdata are C, and check their own results. Messages and collectives use mtl ofi. One-sided
// communication uses btl ofi, and in other tests mtl ofi with messages (osc pt2pt). Shared memory is disabled. Every
// rank checks that it runs on the library that was built here.
//
// Ranks on one machine would share the memory of windows without a network. Therefore the tests of btl ofi give each
// rank a host name of its own: testdata/rsh replaces ssh, and testdata/node.c the host name.
//
// btl ofi refuses every provider whose name contains ofi_rxm. Over that stack one-sided communication uses messages
// only.
//
// A plain go test runs two ranks and a few stacks. GOFABRIC_MANY=1 runs all of them, with two and four ranks. Open MPI
// comes from Debian's packages openmpi-bin and libopenmpi-dev. Without it the tests are skipped, or fail if
// GOFABRIC_PEERS is "required".
package mpi
