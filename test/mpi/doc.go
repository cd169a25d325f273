// Package mpi runs MPI programs on the C library (cmd/libfabric), with the Open MPI that Debian has, unmodified.
//
// The programs are C, in testdata; each checks its own results. Messages and collectives go through mtl ofi, one-sided communication through btl ofi, and
// once more through mtl ofi as messages (osc pt2pt); shared memory is off. Every rank checks that it runs on the library that was built here.
//
// Ranks of one machine share the memory of windows, past any network. Therefore the tests of btl ofi give each rank a host name of its own: testdata/rsh
// stands in for ssh, testdata/node.c for the host name.
//
// btl ofi refuses every provider whose name has ofi_rxm in it, so over that stack one-sided communication is messages only.
//
// A plain go test runs two ranks and a few stacks; GOFABRIC_MANY=1 runs all of them, with two and four ranks. Open MPI comes from Debian's packages
// openmpi-bin and libopenmpi-dev; without it the tests are skipped, or fail if GOFABRIC_PEERS is "required".
package mpi
