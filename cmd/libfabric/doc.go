// Command libfabric is the drop-in C library libfabric.so.1. C programs made for libfabric, with any version of its
// interface from 1.0 to 2.6, run on gofabric. It is built as a shared library:
//
//	make -C cmd/libfabric              leaves cmd/libfabric/build/libfabric.so.1
//	make -C cmd/libfabric install PREFIX=/opt/gofabric
//
// abi.h has the layouts that C programs know. The .c files have the symbols (symbols.c) and the tables of calls
// that objects point to. Each call enters Go once, with numbers and pointers to C memory. Go identifies an object
// by a number in front of the object in C memory (gf.h, handle.go). No pointer into Go's memory crosses, and Go
// treats an operation's context as a number. The exported function turns the call's 64-bit flag word into the
// family of flags that the call's man page means (core.OpFlags, core.BindFlags, ...); behind it there are typed
// flags only.
//
// Completion queues read ahead: a call into Go brings all available completions into a ring in C memory, from which
// later reads take them (queue.c). Receives do the reverse. fi_recv and fi_trecv leave them in C memory (inlet.c),
// and the next pass posts them (inlet.go), as long as passes follow one another. When the program makes no calls or
// sleeps, the engine's goroutine posts the receives that are left, and calls post later receives directly. Every
// call that depends on posted receives posts those that are left first.
//
// A thread that polls without result yields its processor between polls: soon if such threads leave no processor
// free, and later if other processes keep it for long (pollbackoff.c). Go gets a processor for each of these
// threads (threads.go).
//
// The stacks of calls in Go have room for the program's signal handlers (sigstack.c).
//
// In a child of fork(2) without exec there is no Go runtime: calls fail there with FI_EOPBADSTATE. If the parent
// had not yet called the library, not even fi_getinfo, a fresh copy of the library serves the child (fork.c). A
// panic in Go becomes an error of the call and a line on standard error.
package main

// main is never called: the program is a library.
func main() {}
