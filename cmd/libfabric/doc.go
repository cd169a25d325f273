// Command libfabric is the drop-in C library libfabric.so.1: C programs made for libfabric, with any version of its interface from 1.0 to 2.6, run on
// gofabric. It is built as a shared library:
//
//	make -C cmd/libfabric              leaves cmd/libfabric/build/libfabric.so.1
//	make -C cmd/libfabric install PREFIX=/opt/gofabric
//
// abi.h has the layouts that C programs know. The .c files have the symbols (symbols.c) and the tables of calls that objects point to: each call
// enters Go once, with numbers and pointers to C memory. What Go knows an object by is a number in front of the object in C memory (gf.h, handle.go); no
// pointer into Go's memory crosses, and an operation's context is a number to Go.
//
// Completion queues read ahead: a call into Go brings as many completions as there are into a ring in C memory, from where later reads take them (queue.c).
// Receives do the reverse: fi_recv and fi_trecv leave them in C memory (inlet.c), and the next pass posts them (inlet.go), as long as passes follow one another;
// when the program stays away or sleeps, the engine's goroutine posts what was left, and later ones are posted by the call. Every call for which it matters
// what is posted posts what was left first.
//
// A thread that polls in vain gives its processor away between polls, soon if such threads leave no processor free, and later if strangers keep it for long
// (vain.c), and Go gets a processor for each of them (threads.go).
//
// The stacks of calls in Go have room for the program's signal handlers (room.c).
//
// In a child of fork(2) without exec there is no Go: calls fail there with FI_EOPBADSTATE, and only if the parent had asked for nothing yet, not even
// fi_getinfo, are they served, by a fresh copy of the library (child.c). A panic in Go becomes an error of the call and a line on standard error.
package main

// main is never called: the program is a library.
func main() {}
