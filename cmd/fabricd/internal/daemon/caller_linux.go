package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials returns the process at the other end of a Unix connection, as the kernel knows it (SO_PEERCRED,
// unix(7)).
func credentials(conn net.Conn) (c Caller, ok bool) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return c, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return c, false
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || credErr != nil {
		return c, false
	}
	return Caller{UID: int(cred.Uid), GID: int(cred.Gid), PID: int(cred.Pid)}, true
}
