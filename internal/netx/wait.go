// Time-outs in the form of the polling calls.

package netx

import (
	"time"
)

// waitMillis returns the time-out for poll(2) and epoll_wait(2) in milliseconds, -1 for no limit. It rounds up, as
// rounding down would make the caller spin at the end. It limits a longer time to the largest value.
func waitMillis(d time.Duration) int {
	if d < 0 {
		return -1
	}
	return roundUp(d, time.Millisecond)
}

// Readable reports whether fd has data, a connection to accept, an end or an error now.
func Readable(fd FD) bool {
	p := [1]pollFD{watch(fd, pollIn)}
	n, err := sysPoll(p[:], 0)
	return n > 0 && err == nil
}
