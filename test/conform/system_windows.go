package conform

import (
	"os"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
)

// pollFD waits until fd is readable or d has passed.
func pollFD(fd int, d time.Duration) (bool, error) {
	for end := time.Now().Add(d); ; time.Sleep(time.Millisecond) {
		if ready := netx.Readable(netx.FD(fd)); ready || time.Now().After(end) {
			return ready, nil
		}
	}
}

// mapFile fails: stacks on Windows have no persistent memory.
func mapFile(*os.File, int) (mem []byte, unmap func() error, err error) {
	return nil, nil, core.ErrNoSys
}
