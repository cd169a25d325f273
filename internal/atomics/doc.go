// Package atomics does the arithmetic of atomic operations (fi_atomic(3)) on arrays of operands in memory. It is a leaf without state: the numbers of
// its datatypes and operations are libfabric's and core's.
//
// Operands lie in the host's byte order. They need no alignment. Loads and stores are plain ones: the lock of the domain serialises the operations of all
// peers, which is all that fi_atomic(3) asks for ("a single actor"). A naturally aligned operand of up to 8 bytes is loaded and stored in one piece,
// so that an application that looks at it meanwhile sees either the old or the new value.
package atomics
