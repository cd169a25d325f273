//go:build unix

package boot

import (
	"net"
	"os"
	"syscall"
)

// inherited makes a connection of a descriptor that the launcher left to this process, and keeps it from processes that this one starts.
// The variable may have come further than the descriptor, whose number is that of a file of this process then: that is not touched.
func inherited(fd int) (net.Conn, error) {
	if kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		return nil, err
	} else if kind != syscall.SOCK_STREAM {
		return nil, syscall.EPROTOTYPE
	}
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "PMI")
	defer f.Close() // FileConn makes another one
	return net.FileConn(f)
}
