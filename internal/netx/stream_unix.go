//go:build unix && (!linux || fabricbasic)

// The portable calls under Recv, Send, RecvV and SendV.

package netx

import "syscall"

import "golang.org/x/sys/unix"

const sendFlags = unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT

func sysRecv(fd FD, b []byte) (int, syscall.Errno) { return result(unix.Read(int(fd), b)) }

func sysSend(fd FD, b []byte, _ bool) (int, syscall.Errno) {
	return result(unix.SendmsgN(int(fd), b, nil, nil, sendFlags))
}

func sysRecvmsg(fd FD, vec []unix.Iovec) (int, syscall.Errno) {
	n, _, _, _, err := unix.RecvmsgBuffers(int(fd), buffers(vec), nil, unix.MSG_DONTWAIT)
	return result(n, err)
}

func sysSendmsg(fd FD, vec []unix.Iovec, _ bool) (int, syscall.Errno) {
	return result(unix.SendmsgBuffers(int(fd), buffers(vec), nil, nil, sendFlags))
}

// result turns the results of the portable calls into a count and an errno.
func result(n int, err error) (int, syscall.Errno) {
	if err == nil {
		return n, 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return 0, e
	}
	return 0, syscall.EIO
}
