package wsa

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// names maps error numbers of Winsock, and of the calls below it, to the numbers that package syscall has for POSIX'
// names. Windows itself never returns the latter.
var names = map[syscall.Errno]syscall.Errno{
	windows.WSAEINTR: syscall.EINTR, windows.WSAEACCES: syscall.EACCES, windows.WSAEFAULT: syscall.EFAULT, windows.WSAEINVAL: syscall.EINVAL,
	windows.WSAEMFILE: syscall.EMFILE, windows.WSAEWOULDBLOCK: syscall.EAGAIN, windows.WSAEINPROGRESS: syscall.EINPROGRESS,
	windows.WSAEALREADY: syscall.EALREADY, windows.WSAEDESTADDRREQ: syscall.EDESTADDRREQ, windows.WSAEMSGSIZE: syscall.EMSGSIZE,
	windows.WSAEPROTOTYPE: syscall.EPROTOTYPE, windows.WSAENOPROTOOPT: syscall.ENOPROTOOPT, windows.WSAEPROTONOSUPPORT: syscall.EPROTONOSUPPORT,
	windows.WSAESOCKTNOSUPPORT: syscall.ESOCKTNOSUPPORT, windows.WSAEOPNOTSUPP: syscall.EOPNOTSUPP, windows.WSAEPFNOSUPPORT: syscall.EPFNOSUPPORT,
	windows.WSAEAFNOSUPPORT: syscall.EAFNOSUPPORT, windows.WSAEADDRINUSE: syscall.EADDRINUSE, windows.WSAEADDRNOTAVAIL: syscall.EADDRNOTAVAIL,
	windows.WSAENETDOWN: syscall.ENETDOWN, windows.WSAENETUNREACH: syscall.ENETUNREACH, windows.WSAENETRESET: syscall.ENETRESET,
	windows.WSAECONNABORTED: syscall.ECONNABORTED, windows.WSAECONNRESET: syscall.ECONNRESET, windows.WSAENOBUFS: syscall.ENOBUFS,
	windows.WSAEISCONN: syscall.EISCONN, windows.WSAENOTCONN: syscall.ENOTCONN, windows.WSAESHUTDOWN: syscall.ESHUTDOWN,
	windows.WSAETIMEDOUT: syscall.ETIMEDOUT, windows.WSAECONNREFUSED: syscall.ECONNREFUSED, windows.WSAEHOSTDOWN: syscall.EHOSTDOWN,
	windows.WSAEHOSTUNREACH: syscall.EHOSTUNREACH,
	// A number that is no socket's is what POSIX calls a bad descriptor: descriptors are sockets here.
	windows.WSAEBADF: syscall.EBADF, windows.WSAENOTSOCK: syscall.EBADF, windows.ERROR_INVALID_HANDLE: syscall.EBADF,
	// Calls that package net makes return what the driver said, not Winsock's name for it.
	windows.ERROR_ACCESS_DENIED: syscall.EACCES, windows.ERROR_NOT_ENOUGH_MEMORY: syscall.ENOMEM, windows.ERROR_TOO_MANY_OPEN_FILES: syscall.EMFILE,
	windows.ERROR_FILE_EXISTS: syscall.EEXIST, windows.ERROR_ALREADY_EXISTS: syscall.EEXIST, windows.ERROR_BROKEN_PIPE: syscall.EPIPE,
	windows.ERROR_NETNAME_DELETED: syscall.ECONNRESET, windows.ERROR_CONNECTION_REFUSED: syscall.ECONNREFUSED,
	windows.ERROR_PORT_UNREACHABLE: syscall.ECONNREFUSED, windows.ERROR_CONNECTION_ABORTED: syscall.ECONNABORTED,
	windows.ERROR_NETWORK_UNREACHABLE: syscall.ENETUNREACH, windows.ERROR_HOST_UNREACHABLE: syscall.EHOSTUNREACH,
	windows.ERROR_SEM_TIMEOUT: syscall.ETIMEDOUT,
}

// Errno returns package syscall's number for the POSIX name of an error, and others as they are.
func Errno(e syscall.Errno) syscall.Errno {
	if n, ok := names[e]; ok {
		return n
	}
	return e
}
