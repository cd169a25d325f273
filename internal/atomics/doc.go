// Package atomics has the arithmetic of atomic operations (fi_atomic(3)) on arrays of operands in memory. It has no
// state. Its datatypes and operations have libfabric's numbers, as core's have.
//
// Operands are in the host's byte order and need no alignment. Loads and stores are plain ones: the lock of the
// domain serializes the operations of all peers, which is what fi_atomic(3) demands. A naturally aligned operand of
// up to 8 bytes is loaded and stored in one piece, so that an application that reads it meanwhile sees either the
// old or the new value.
package atomics
