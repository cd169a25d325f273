//go:build unix

package boot

import (
	"net"
	"os"
	"syscall"
)

// inherited returns the connection of a descriptor that the launcher left to this process. Processes that this one
// starts do not inherit it. The variable may be set in a process without the descriptor, where the number is
// another file: that file is not touched.
func inherited(fd int) (net.Conn, error) {
	if kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		return nil, err
	} else if kind != syscall.SOCK_STREAM {
		return nil, syscall.EPROTOTYPE
	}
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "PMI")
	defer f.Close() // FileConn duplicates the descriptor
	return net.FileConn(f)
}
