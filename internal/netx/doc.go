// Package netx has the module's system calls for sockets, readiness, wake-ups and network interfaces.
//
// Sockets are bare descriptors, non-blocking and close-on-exec. On Linux the calls of the data path bypass the Go
// scheduler: a raw call costs tenths of a microsecond less than one that informs the scheduler. This is safe
// because none of them can block. They do not allocate, and they return an errno by value. A goroutine waits with a
// Parker, which parks it in the runtime's own poller and holds no thread.
//
// Each Linux file has a portable counterpart for other systems. With the build tag fabricbasic Linux uses it, too,
// so that its tests run there. The counterpart behaves the same, but it may be slower and may allocate. The names
// of files say where they are used: _linux; _unix for all Unix systems, which is mostly the counterpart; _bsd,
// _darwin, _freebsd; _windows; _other for every system but Linux.
//
// Errors are syscall.Errno with the names of POSIX on every system. On Windows package wsa translates Winsock's.
//
// On Windows every descriptor is a socket, also that of a Notifier.
//
// A descriptor is a plain number. Nothing prevents its use after Close, when the kernel may have given the number
// to another file. The owner of an FD must order its last use before Close.
package netx
