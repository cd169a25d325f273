//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"os"
	"runtime"
	"sync"
)

// A thread of C that is in Go takes one of Go's processors with it, and keeps it for a while when it has left. With fewer of these than threads, a thread
// that enters finds none every so often, and sleeps until one is found to be unused: tens of microseconds, for an empty poll as for any other call. So there
// is one for each thread that polls, up to a limit: one that is not used costs a few hundred kilobytes. (Go begins with as many as the system has, or as the
// limits of a container leave.)

// maxProcs is the limit.
const maxProcs = 64

var procs struct {
	sync.Mutex
	fixed bool // the user has said how many
	asked bool
}

//export goThreads
func goThreads(n C.int) {
	var rc int32
	defer guard(&rc)
	procs.Lock()
	defer procs.Unlock()
	if !procs.asked {
		procs.asked, procs.fixed = true, os.Getenv("GOMAXPROCS") != ""
	}
	if now := runtime.GOMAXPROCS(0); !procs.fixed && int(n) > now && now < maxProcs {
		runtime.GOMAXPROCS(min(max(2*now, int(n)), maxProcs)) // twice as many, for this stops Go
	}
}
