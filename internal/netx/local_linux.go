//go:build !fabricbasic

// Sockets between processes of one host: stream sockets in the abstract namespace, which leave no file behind
// (unix(7)).

package netx

import "golang.org/x/sys/unix"

// HasLocal reports whether LocalListen and LocalConnect can work on this system.
const HasLocal = true

// LocalListen returns a socket that listens under a name for processes in the same network namespace.
func LocalListen(name string, backlog int) (FD, error) {
	fd, err := socket(unix.AF_UNIX, unix.SOCK_STREAM)
	if err != nil {
		return NoFD, err
	}
	if err := unix.Bind(int(fd), &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		Close(fd)
		return NoFD, err
	}
	if err := unix.Listen(int(fd), backlog); err != nil {
		Close(fd)
		return NoFD, err
	}
	return fd, nil
}

// LocalConnect returns a socket connected to the listener of a name. It returns unix.ECONNREFUSED if there is no
// listener, and unix.EAGAIN if its backlog is full.
func LocalConnect(name string) (FD, error) {
	fd, err := socket(unix.AF_UNIX, unix.SOCK_STREAM)
	if err != nil {
		return NoFD, err
	}
	if err := unix.Connect(int(fd), &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		Close(fd)
		return NoFD, err
	}
	return fd, nil
}

// LocalAccept accepts one connection on a socket of LocalListen. It returns unix.EAGAIN when there is none.
func LocalAccept(fd FD) (FD, error) {
	for {
		n, _, err := unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return NoFD, err
		}
		return FD(n), nil
	}
}

// SendWith sends b, at least 1 byte, on a local socket, together with the descriptor extra unless that is NoFD
// (SCM_RIGHTS, unix(7)). The caller keeps extra and still has to close it.
func SendWith(fd FD, b []byte, extra FD) (int, error) {
	var rights []byte
	if extra != NoFD {
		rights = unix.UnixRights(int(extra))
	}
	return unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// RecvWith receives as Recv does, and also one descriptor if the sender passed one, otherwise NoFD. It closes
// further descriptors.
func RecvWith(fd FD, b []byte) (n int, extra FD, err error) {
	var room [64]byte
	n, used, _, _, err := unix.Recvmsg(int(fd), b, room[:], unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, NoFD, err
	}
	extra = NoFD
	msgs, err := unix.ParseSocketControlMessage(room[:used])
	if err != nil {
		return n, NoFD, nil // the control message is unreadable: no descriptor
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, f := range fds {
			if extra == NoFD {
				extra = FD(f)
			} else {
				unix.Close(f)
			}
		}
	}
	return n, extra, nil
}

// PeerOf returns the process and user at the other end of a connected local socket, as the kernel recorded them at
// connect(2) or listen(2) (SO_PEERCRED, unix(7)). Both numbers are those of this process' namespaces. A process of
// another PID namespace may have no PID here, which is 0. A user without a number here is the overflow user
// (user_namespaces(7)).
func PeerOf(fd FD) (Peer, error) {
	c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{PID: int(c.Pid), UID: int(c.Uid)}, nil
}

// PeerProcess returns a descriptor of the process of PeerOf (pidfd_open(2)). It refers to that process even if its
// PID is used again. Before Linux 6.5 (SO_PEERPIDFD) it refers to the process that has the PID at the time of the
// call.
func PeerProcess(fd FD, p Peer) (FD, error) {
	n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err == unix.ENOPROTOOPT {
		n, err = unix.PidfdOpen(p.PID, 0)
	}
	if err != nil {
		return NoFD, err
	}
	return FD(n), nil
}

// Alive reports whether the process of a descriptor is still running.
func Alive(process FD) bool {
	p := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if err != unix.EINTR {
			return n == 0 && err == nil
		}
	}
}

// Namespace returns a number that identifies the network namespace of a socket until the system restarts
// (SO_NETNS_COOKIE). It returns unix.ENOPROTOOPT before Linux 5.14.
func Namespace(fd FD) (uint64, error) {
	return unix.GetsockoptUint64(int(fd), unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
}
