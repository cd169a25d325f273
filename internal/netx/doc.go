// Package netx holds the system calls of the project: sockets, readiness polling, wake-ups and network interfaces.
//
// Sockets are bare descriptors, non-blocking and close-on-exec. On Linux the calls of the data path bypass the Go scheduler (a raw call costs
// tenths of a microsecond less than one that tells the scheduler), which is sound because none of them can block. They do not allocate, and
// return an errno by value. Waiting is done by a Parker, which parks one goroutine in the runtime's own poller and holds no thread.
//
// Everything has a portable twin, used on other systems and, with the build tag fabricbasic, on Linux, so that its tests run there too. The
// portable twin promises the same behaviour, not the same speed, nor freedom from allocation. Files say where they are used: _linux; _unix for what Unix
// systems share, most of it the twin; _bsd, _darwin, _freebsd; _windows; _other for what every system but Linux does in one way.
//
// Errors are syscall.Errno with POSIX' names on every system; on Windows package wsa translates Winsock's.
//
// On Windows a descriptor is a socket. There are no others: a Notifier is a socket, too.
//
// A descriptor is a plain number: nothing stops its use after Close, when the kernel may have given the number to somebody else. Whoever owns
// the FD must order its last use before Close.
package netx
