package conform

// poll(2) on a queue's descriptor, as applications with event loops do.

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// pollFD waits until fd is readable or d has passed.
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
