package daemon

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// withUmask runs f with another umask, on a thread that has one of its own (CLONE_FS, unshare(2)) and ends with f. Where a container does not let it, the process
// has that umask for the moment.
func withUmask(mask int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		if unix.Unshare(unix.CLONE_FS) != nil {
			withProcessUmask(mask, f)
			return
		}
		unix.Umask(mask)
		f()
	}()
	<-done
}
