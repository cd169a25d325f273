package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the file's bytes, and a length that grew, durable (fdatasync(2)).
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
