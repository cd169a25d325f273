package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials returns the process at the other end of a Unix connection, as the kernel knows it (LOCAL_PEERCRED and
// LOCAL_PEERPID, unix(4)).
func credentials(conn net.Conn) (c Caller, ok bool) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return c, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return c, false
	}
	var cred *unix.Xucred
	var pid int
	var credErr, pidErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err != nil || credErr != nil || pidErr != nil {
		return c, false
	}
	return Caller{UID: int(cred.Uid), GID: int(cred.Groups[0]), PID: pid}, true
}
