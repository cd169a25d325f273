// Sending and receiving on the data path: one system call each, no allocation on Linux.

package netx

import "syscall"

// Recv receives into b. n==0 with no error is the end of the stream (on a datagram socket, an empty datagram). syscall.EAGAIN when nothing is there;
// syscall.EINVAL when b is empty, which could not be told from the end of the stream. No error is 0, not nil. It never waits.
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

// Send sends b, or as much of it as the kernel takes; syscall.EAGAIN when it takes nothing. more tells the kernel that the rest of a packet follows
// shortly (MSG_MORE; ignored where there is none). It never waits and raises no signal.
func Send(fd FD, b []byte, more bool) (n int, err syscall.Errno) {
	for {
		if n, err = sysSend(fd, b, more); err != syscall.EINTR {
			return n, err
		}
	}
}

// RecvV receives into the buffers of v in turn. Call v.Consume with what it returns. Errors as Recv.
func RecvV(fd FD, v *IOV) (n int, err syscall.Errno) {
	if v.bytes == 0 {
		return 0, syscall.EINVAL
	}
	for {
		if n, err = sysRecvmsg(fd, v.pending()); err != syscall.EINTR {
			return n, err
		}
	}
}

// SendV sends the buffers of v in turn, or as much as the kernel takes. Call v.Consume with what it returns. Errors as Send.
func SendV(fd FD, v *IOV, more bool) (n int, err syscall.Errno) {
	for {
		if n, err = sysSendmsg(fd, v.pending(), more); err != syscall.EINTR {
			return n, err
		}
	}
}
