// Time-outs in the form that polling calls take.

package netx

import (
	"time"
)

// waitMillis is the time-out of poll(2) and epoll_wait(2): milliseconds rounded up (down would spin at the end), -1 for ever. What is longer than
// they can express waits as long as they can.
func waitMillis(d time.Duration) int {
	if d < 0 {
		return -1
	}
	return roundUp(d, time.Millisecond)
}

// Readable reports whether fd has something to read, to accept or to say, now.
func Readable(fd FD) bool {
	p := [1]pollFD{watch(fd, pollIn)}
	n, err := sysPoll(p[:], 0)
	return n > 0 && err == nil
}
