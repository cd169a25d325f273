//go:build !fabricbasic

// The one file with unsafe: raw system calls. Only sysEpollWait with a timeout blocks, and it informs the
// scheduler.
//
// The pointers are converted in the argument list of the call. RawSyscall6 and Syscall6 keep the memory that they
// point to alive and in place for the duration of the call (rule 4 of unsafe.Pointer). None of the callees grows
// the stack in between, so stack variables are safe, too.

package netx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func sysRecv(fd FD, b []byte) (int, unix.Errno) {
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return count(n, err)
}

func sysSend(fd FD, b []byte, more bool) (int, unix.Errno) {
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), sendFlags(more), 0, 0)
	return count(n, err)
}

func sysRecvmsg(fd FD, vec []unix.Iovec) (int, unix.Errno) {
	var h unix.Msghdr
	h.Iov = unsafe.SliceData(vec)
	h.SetIovlen(len(vec))
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), unix.MSG_DONTWAIT, 0, 0, 0)
	return count(n, err)
}

func sysSendmsg(fd FD, vec []unix.Iovec, more bool) (int, unix.Errno) {
	var h unix.Msghdr
	h.Iov = unsafe.SliceData(vec)
	h.SetIovlen(len(vec))
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), sendFlags(more), 0, 0, 0)
	return count(n, err)
}

func sendFlags(more bool) uintptr {
	if more {
		return unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT | unix.MSG_MORE
	}
	return unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
}

func sysRecvFrom(fd FD, d *Datagram) unix.Errno {
	iov := unix.Iovec{Base: unsafe.SliceData(d.Buf)}
	iov.SetLen(len(d.Buf))
	var h unix.Msghdr
	h.Name, h.Namelen = (*byte)(unsafe.Pointer(&d.From.raw)), uint32(unsafe.Sizeof(d.From.raw))
	h.Iov = &iov
	h.SetIovlen(1)
	h.Control = (*byte)(unsafe.Pointer(&d.control))
	h.SetControllen(int(unsafe.Sizeof(d.control)))
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), unix.MSG_DONTWAIT, 0, 0, 0)
	if err != 0 {
		return err
	}
	d.received(int(n), &h)
	return 0
}

func sysRecvPlain(fd FD, d *Datagram) unix.Errno {
	size := uint32(unsafe.Sizeof(d.From.raw))
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(d.Buf))), uintptr(len(d.Buf)),
		unix.MSG_DONTWAIT|unix.MSG_TRUNC, uintptr(unsafe.Pointer(&d.From.raw)), uintptr(unsafe.Pointer(&size)))
	if err != 0 {
		return err
	}
	// With MSG_TRUNC the result is the length of the whole datagram.
	d.N, d.Seg, d.Truncated, d.From.len = min(int(n), len(d.Buf)), 0, int(n) > len(d.Buf), size
	return 0
}

// prepare points the headers at the parts of the datagrams, which do not move.
func (b *Batch) prepare() {
	b.vecs = batchVecs{make([]unix.Mmsghdr, len(b.D)), make([]unix.Iovec, len(b.D))}
	for i := range b.D {
		d, h, iov := &b.D[i], &b.vecs.hdrs[i].Hdr, &b.vecs.iovs[i]
		iov.Base = unsafe.SliceData(d.Buf)
		iov.SetLen(len(d.Buf))
		h.Name = (*byte)(unsafe.Pointer(&d.From.raw))
		h.Iov = iov
		h.SetIovlen(1)
		h.Control = (*byte)(unsafe.Pointer(&d.control))
	}
}

func sysRecvBatch(fd FD, b *Batch) (int, unix.Errno) {
	for i := range b.vecs.hdrs {
		h := &b.vecs.hdrs[i].Hdr
		h.Namelen = uint32(unsafe.Sizeof(b.D[i].From.raw))
		h.SetControllen(int(unsafe.Sizeof(b.D[i].control)))
	}
	got, _, err := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b.vecs.hdrs))), uintptr(len(b.D)),
		unix.MSG_DONTWAIT, 0, 0)
	n, err := count(got, err)
	for i := range n {
		m := &b.vecs.hdrs[i]
		b.D[i].received(int(m.Len), &m.Hdr)
	}
	return n, err
}

// received stores the kernel's description of a datagram of n bytes.
func (d *Datagram) received(n int, h *unix.Msghdr) {
	d.N, d.Seg, d.Truncated, d.From.len = n, 0, h.Flags&unix.MSG_TRUNC != 0, h.Namelen
	if h.Controllen > 0 {
		control := unsafe.Slice((*byte)(unsafe.Pointer(&d.control)), unsafe.Sizeof(d.control))
		d.Seg = segmentOf(control[:min(uint64(h.Controllen), uint64(len(control)))])
	}
}

func sysSendTo(fd FD, to *SockAddr, b []byte) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), sendFlags(false),
		uintptr(unsafe.Pointer(&to.raw)), uintptr(to.len))
	return err
}

// segmentControl is the control message that makes one send a run of datagrams.
type segmentControl struct {
	unix.Cmsghdr
	size uint16
	_    [6]byte
}

func sysSendToV(fd FD, to *SockAddr, v *IOV, seg int) unix.Errno {
	vec := v.vec
	var h unix.Msghdr
	h.Name, h.Namelen = (*byte)(unsafe.Pointer(&to.raw)), to.len
	h.Iov = unsafe.SliceData(vec)
	h.SetIovlen(len(vec))
	var c segmentControl
	if seg != 0 {
		c.SetLen(unix.CmsgLen(2))
		c.Level, c.Type, c.size = unix.SOL_UDP, unix.UDP_SEGMENT, uint16(seg)
		h.Control = (*byte)(unsafe.Pointer(&c))
		h.SetControllen(unix.CmsgSpace(2))
	}
	_, _, err := syscall.RawSyscall6(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), sendFlags(false), 0, 0, 0)
	return err
}

// prepare makes room for the headers of n datagrams.
func (b *Burst) prepare(n int) { b.vecs.hdrs = make([]unix.Mmsghdr, n) }

func sysSendBurst(fd FD, to *SockAddr, b *Burst, most int) (int, unix.Errno) {
	hdrs := b.vecs.hdrs[:most]
	for i := range hdrs {
		vec := b.vec(b.head + i)
		h := &hdrs[i].Hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&to.raw)), to.len
		h.Iov = unsafe.SliceData(vec)
		h.SetIovlen(len(vec))
	}
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(hdrs))), uintptr(most), sendFlags(false), 0, 0)
	clear(hdrs) // drops the references to the caller's address and buffers
	return count(n, err)
}

// sysGetsockopt reads an option that is an array. n is the number of bytes read.
func sysGetsockopt(fd FD, level, opt int, v *[skMeminfoVars]uint32) (n int, err unix.Errno) {
	size := uint32(unsafe.Sizeof(*v))
	_, _, err = syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(opt), uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(&size)), 0)
	return int(size), err
}

// sysEpollWait waits for ms milliseconds, without limit if ms is negative. With 0 it is a raw call. It uses
// epoll_pwait because arm64 has no epoll_wait.
func sysEpollWait(ep FD, evs []unix.EpollEvent, ms int) (int, unix.Errno) {
	var n uintptr
	var err unix.Errno
	if ms == 0 {
		n, _, err = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(evs))), uintptr(len(evs)), 0, 0, 0)
	} else {
		n, _, err = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(evs))), uintptr(len(evs)), uintptr(ms), 0, 0)
	}
	return count(n, err)
}

func sysEpollCtl(ep FD, op int, fd FD, ev *unix.EpollEvent) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(ep), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(ev)), 0, 0)
	return err
}

// sysTimerSet arms a timerfd to fire once.
func sysTimerSet(fd FD, spec *unix.ItimerSpec) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(spec)), 0, 0, 0)
	return err
}

// sysCounterAdd adds one to an eventfd.
func sysCounterAdd(fd FD) unix.Errno {
	one := uint64(1)
	_, _, err := syscall.RawSyscall6(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one), 0, 0, 0)
	return err
}

// sysCounterTake reads an eventfd, which sets it to zero.
func sysCounterTake(fd FD) unix.Errno {
	var n uint64
	_, _, err := syscall.RawSyscall6(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&n)), unsafe.Sizeof(n), 0, 0, 0)
	return err
}

// count returns a system call's result, which is meaningless if the call failed.
func count(n uintptr, err unix.Errno) (int, unix.Errno) {
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}
