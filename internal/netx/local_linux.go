//go:build !fabricbasic

// Sockets between processes of one host: stream sockets in the abstract name space, which leave no file behind (unix(7)).

package netx

import "golang.org/x/sys/unix"

// HasLocal says whether LocalListen and LocalConnect can work here.
const HasLocal = true

// LocalListen returns a socket that listens for processes in the same network name space under a name.
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

// LocalConnect returns a socket that is connected to who listens under a name: unix.ECONNREFUSED if nobody does, unix.EAGAIN if too many wait there.
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

// LocalAccept takes one connection off a socket of LocalListen; unix.EAGAIN when there is none.
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

// SendWith sends b, 1 byte at least, on a socket of LocalConnect, and a descriptor with it, which stays the caller's (SCM_RIGHTS, unix(7)); NoFD: none.
func SendWith(fd FD, b []byte, extra FD) (int, error) {
	var rights []byte
	if extra != NoFD {
		rights = unix.UnixRights(int(extra))
	}
	return unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// RecvWith receives as Recv does, and one descriptor if some came along, NoFD otherwise. Others that came are closed.
func RecvWith(fd FD, b []byte) (n int, extra FD, err error) {
	var room [64]byte
	n, used, _, _, err := unix.Recvmsg(int(fd), b, room[:], unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, NoFD, err
	}
	extra = NoFD
	msgs, err := unix.ParseSocketControlMessage(room[:used])
	if err != nil {
		return n, NoFD, nil // nothing of use came along
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

// PeerOf returns who is at the other end of a connected local socket, as the system noted it at connect(2) or listen(2) (SO_PEERCRED, unix(7)). Both numbers are as this process sees
// them: a process of another namespace may have no PID here, which is 0, and a user who has no number here is the overflow user (user_namespaces(7)).
func PeerOf(fd FD) (Peer, error) {
	c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{PID: int(c.Pid), UID: int(c.Uid)}, nil
}

// PeerProcess returns a descriptor of the process of PeerOf (pidfd_open(2)), which stays that process' when its PID is used again. Before Linux 6.5 (SO_PEERPIDFD) it is of the
// process that has the PID now.
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

// Alive reports whether the process of a descriptor has not ended.
func Alive(process FD) bool {
	p := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if err != unix.EINTR {
			return n == 0 && err == nil
		}
	}
}

// Namespace is a number of the network name space that a socket belongs to, while the system runs (SO_NETNS_COOKIE); unix.ENOPROTOOPT before Linux 5.14.
func Namespace(fd FD) (uint64, error) {
	return unix.GetsockoptUint64(int(fd), unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
}
