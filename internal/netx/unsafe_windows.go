// The one file with unsafe: Winsock's calls. The sockets are non-blocking, so only sysPoll waits. The calls of the
// data path are not made by package syscall, which allocates an error for WSAEWOULDBLOCK.

package netx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"gofabric/internal/wsa"
)

var (
	winsock      = windows.NewLazySystemDLL("ws2_32.dll")
	procAccept   = winsock.NewProc("accept")
	procPoll     = winsock.NewProc("WSAPoll")
	procRecv     = winsock.NewProc("WSARecv")
	procSend     = winsock.NewProc("WSASend")
	procRecvFrom = winsock.NewProc("WSARecvFrom")
	procSendTo   = winsock.NewProc("WSASendTo")
)

// sysPoll waits until one of fds is ready, for at most ms milliseconds, without a limit if ms is negative. n is the
// number of ready sockets.
func sysPoll(fds []pollFD, ms int) (n int, err error) {
	r, _, e := syscall.SyscallN(procPoll.Addr(), uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)), uintptr(ms))
	if n := int(int32(r)); n >= 0 {
		return n, nil
	}
	return 0, sysErr(e)
}

func sysAccept(fd FD) (FD, error) {
	r, _, e := syscall.SyscallN(procAccept.Addr(), uintptr(fd), 0, 0)
	if r == uintptr(windows.InvalidHandle) {
		return NoFD, sysErr(e)
	}
	return FD(r), nil
}

func sysRecv(fd FD, b []byte) (int, syscall.Errno) {
	vec := [1]iovec{{Base: unsafe.SliceData(b)}}
	vec[0].SetLen(int(min(uint64(len(b)), iovecMax)))
	return sysRecvmsg(fd, vec[:])
}

func sysSend(fd FD, b []byte, more bool) (int, syscall.Errno) {
	vec := [1]iovec{{Base: unsafe.SliceData(b)}}
	vec[0].SetLen(int(min(uint64(len(b)), iovecMax)))
	return sysSendmsg(fd, vec[:], more)
}

func sysRecvmsg(fd FD, vec []iovec) (int, syscall.Errno) { return receive(fd, vec, 0) }

// receive is WSARecv.
func receive(fd FD, vec []iovec, flags uint32) (int, syscall.Errno) {
	var n uint32
	r, _, e := syscall.SyscallN(procRecv.Addr(), uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&flags)), 0, 0)
	return count(r, n, e)
}

// Peek reports how many bytes it found waiting on a connected socket. 0 without an error means that the peer has
// closed the connection.
func Peek(fd FD) (int, error) {
	var b [1]byte
	vec := [1]iovec{{Base: &b[0], Len: 1}}
	n, errno := receive(fd, vec[:], msgPeek)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

func sysSendmsg(fd FD, vec []iovec, _ bool) (int, syscall.Errno) {
	var n uint32
	r, _, e := syscall.SyscallN(procSend.Addr(), uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(unsafe.Pointer(&n)), 0, 0, 0)
	sent, errno := count(r, n, e)
	if errno == syscall.ESHUTDOWN {
		errno = syscall.EPIPE // POSIX' error for this case
	}
	return sent, errno
}

// count returns a call's result: n, unless r is the value for failure.
func count(r uintptr, n uint32, e syscall.Errno) (int, syscall.Errno) {
	if r != 0 {
		return 0, wsa.Errno(e)
	}
	return int(n), 0
}

// recvFrom receives one datagram.
func recvFrom(fd FD, b []byte, from *SockAddr) (n int, truncated bool, errno syscall.Errno) {
	var got, flags uint32
	from.len = uint32(unsafe.Sizeof(from.raw))
	vec := [1]iovec{{Base: unsafe.SliceData(b)}}
	vec[0].SetLen(len(b))
	r, _, e := syscall.SyscallN(procRecvFrom.Addr(), uintptr(fd), uintptr(unsafe.Pointer(&vec)), 1, uintptr(unsafe.Pointer(&got)),
		uintptr(unsafe.Pointer(&flags)), uintptr(unsafe.Pointer(&from.raw)), uintptr(unsafe.Pointer(&from.len)), 0, 0)
	if r != 0 && e == windows.WSAEMSGSIZE {
		return len(b), true, 0
	}
	n, errno = count(r, got, e)
	return n, false, errno
}

// sendTo sends one datagram.
func sendTo(fd FD, to *SockAddr, vec []iovec) syscall.Errno {
	var n uint32
	var none [1]iovec
	if len(vec) == 0 {
		vec = none[:]
	}
	r, _, e := syscall.SyscallN(procSendTo.Addr(), uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(unsafe.Pointer(&n)), 0, uintptr(unsafe.Pointer(&to.raw)), uintptr(to.len), 0, 0)
	_, errno := count(r, n, e)
	return errno
}
