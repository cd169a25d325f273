// Sending and receiving on the data path: one system call each, and no allocation on Linux.

package netx

import "syscall"

// Recv receives into b. A result of 0 without an error is the end of the stream, or on a datagram socket an empty
// datagram. Recv returns syscall.EAGAIN when there is no data, and syscall.EINVAL when b is empty, as its result
// would look like the end of the stream. No error is 0, not nil. It never waits.
func Recv(fd FD, b []byte) (n int, err syscall.Errno) {
	if len(b) == 0 {
		return 0, syscall.EINVAL
	}
	for {
		if n, err = sysRecv(fd, b); err != syscall.EINTR {
			return n, err
		}
	}
}

// Send sends b, or as much of it as the kernel takes. It returns syscall.EAGAIN when the kernel takes nothing. With
// more, the rest of a packet follows shortly (MSG_MORE; ignored on systems without it). Send never waits and raises
// no signal.
func Send(fd FD, b []byte, more bool) (n int, err syscall.Errno) {
	for {
		if n, err = sysSend(fd, b, more); err != syscall.EINTR {
			return n, err
		}
	}
}

// RecvV receives into the buffers of v in turn. Errors are those of Recv.
func RecvV(fd FD, v *IOV) (n int, err syscall.Errno) {
	if len(v.vec) == 0 {
		return 0, syscall.EINVAL
	}
	for {
		if n, err = sysRecvmsg(fd, v.vec); err != syscall.EINTR {
			return n, err
		}
	}
}

// SendV sends the buffers of v in turn, or as much of them as the kernel takes. Errors are those of
// Send.
func SendV(fd FD, v *IOV, more bool) (n int, err syscall.Errno) {
	for {
		if n, err = sysSendmsg(fd, v.vec, more); err != syscall.EINTR {
			return n, err
		}
	}
}
