//go:build unix

package conform

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollFD waits until fd is readable or d has passed, with poll(2), as applications with event loops do.
func pollFD(fd int, d time.Duration) (bool, error) {
	end := time.Now().Add(d)
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, int(max(time.Until(end), 0)/time.Millisecond))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, err
		}
		if n > 0 && p[0].Revents&unix.POLLNVAL != 0 {
			return false, errors.New("poll: not an open descriptor")
		}
		return n > 0, nil
	}
}

// mapFile maps the beginning of a file into memory.
func mapFile(f *os.File, size int) (mem []byte, unmap func() error, err error) {
	mem, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return mem, func() error { return unix.Munmap(mem) }, err
}
