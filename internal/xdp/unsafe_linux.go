// This is the only file with unsafe: memory shared with the kernel, and system calls for which golang.org/x/sys has
// no wrapper.
//
// Calls of the data path are raw, as in internal/netx. They do not block (MSG_DONTWAIT), and informing the scheduler
// costs more.

package xdp

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// wordAt returns the 32-bit word at an offset of shared memory.
func wordAt(mem []byte, off uint64) (*uint32, error) {
	if off%4 != 0 || off > uint64(len(mem)) || uint64(len(mem))-off < 4 {
		return nil, fmt.Errorf("a ring's counter at %d of %d bytes", off, len(mem))
	}
	return (*uint32)(unsafe.Pointer(&mem[off])), nil
}

// entriesAt returns n entries from an offset of shared memory on.
func entriesAt[T entry](mem []byte, off uint64, n uint32) ([]T, error) {
	var e T
	if off%8 != 0 || off > uint64(len(mem)) || (uint64(len(mem))-off)/uint64(unsafe.Sizeof(e)) < uint64(n) || n == 0 {
		return nil, fmt.Errorf("%d entries of a ring at %d of %d bytes", n, off, len(mem))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[off])), n), nil
}

// toBoundary returns the number of bytes before the first multiple of a power of two.
func toBoundary(mem []byte, of uintptr) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return int(-at & (of - 1))
}

// entrySize returns the number of bytes of an entry.
func entrySize[T entry]() int {
	var e T
	return int(unsafe.Sizeof(e))
}

// sysSetUmem registers memory as a socket's umem (XDP_UMEM_REG).
func sysSetUmem(fd netx.FD, mem []byte, chunk uint32) unix.Errno {
	// The kernel accepts the shorter structures of earlier versions. Without the length of metadata, which Linux 6.8
	// added, it is that of Linux 5.4.
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), Len: uint64(len(mem)), Size: chunk}
	_, _, err := syscall.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG, uintptr(unsafe.Pointer(&reg)),
		unsafe.Offsetof(reg.Tx_metadata_len), 0)
	return err
}

// sysGetOption reads an option of SOL_XDP and returns the number of bytes that the kernel wrote.
func sysGetOption[T any](fd netx.FD, name int, v *T) (int, unix.Errno) {
	size := uint32(unsafe.Sizeof(*v))
	_, _, err := syscall.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(name), uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(&size)), 0)
	return int(size), err
}

// offsetsSize is the size of the result of XDP_MMAP_OFFSETS since Linux 5.4. Before that rings had no flags.
const offsetsSize = int(unsafe.Sizeof(unix.XDPMmapOffsets{}))

// sysKickSend makes the kernel process the transmit ring.
func sysKickSend(fd netx.FD) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return err
}

// sysKickReceive makes the kernel process the fill ring.
func sysKickReceive(fd netx.FD) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return err
}

// channels is struct ethtool_channels.
type channels struct {
	cmd                                 uint32
	maxRx, maxTx, maxOther, maxCombined uint32
	rx, tx, other, combined             uint32
}

// sysChannels returns the numbers of queues of an interface (ETHTOOL_GCHANNELS). fd is any socket of the interface's
// network namespace.
func sysChannels(fd netx.FD, name string) (channels, unix.Errno) {
	c := channels{cmd: unix.ETHTOOL_GCHANNELS}
	var req struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	req.data = unsafe.Pointer(&c)
	_, _, err := syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	return c, err
}
