//go:build linux

package main

// #include "gf.h"
import "C"

// roomBelow is the free stack below the frames of a call, in bytes, for its callees and for signal handlers
// (sigstack.c). It makes stacks of 64 KiB.
const roomBelow = 48 << 10

//export goMakeRoom
func goMakeRoom() { grown(false) }

// grown has a frame that is larger than a small stack. So the stack grows on entry, and the frame is not used
// otherwise.
//
//go:noinline
func grown(use bool) byte {
	if !use {
		return 0
	}
	var frame [roomBelow]byte
	occupy(frame[:])
	return frame[roomBelow/2]
}

//go:noinline
func occupy(b []byte) {
	for i := range b {
		b[i] = byte(i)
	}
}
