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

// A C thread that is in Go occupies one of Go's processors (GOMAXPROCS), and keeps it for a while after it has
// left. With fewer processors than threads, a thread that enters sometimes finds none, and sleeps until an unused
// one is found. This costs tens of microseconds, even for an empty poll. So there is one processor for each thread
// that polls, up to a limit. An unused one costs a few hundred kilobytes. Go starts with as many as the system has,
// or as a container's limits allow.

// maxProcs is the largest number of Go's processors that goThreads sets.
const maxProcs = 64

var procs struct {
	sync.Mutex
	fixed bool // the user has set GOMAXPROCS
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
		runtime.GOMAXPROCS(min(max(2*now, int(n)), maxProcs)) // twice as many, because the call stops all goroutines
	}
}
