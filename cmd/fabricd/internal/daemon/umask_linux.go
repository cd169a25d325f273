package daemon

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// withUmask runs f with another umask, on a thread that has its own umask (CLONE_FS, unshare(2)) and ends with f.
// If a container forbids that, the process has that umask meanwhile.
func withUmask(mask int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		if unix.Unshare(unix.CLONE_FS) != nil {
			withProcessUmask(mask, f)
			return
		}
		unix.Umask(mask)
		f()
	}()
	<-done
}
