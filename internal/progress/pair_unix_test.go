//go:build unix

package progress

import (
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// pair returns two connected sockets.
func pair(t testing.TB) (a, b netx.FD) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
	}
	return netx.FD(fds[0]), netx.FD(fds[1])
}
