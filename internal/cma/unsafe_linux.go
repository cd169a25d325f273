package cma

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gofabric/internal/xnet/engine"
)

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func (t *slot) address() uint64 { return uint64(uintptr(unsafe.Pointer(t))) }

// mapSeals returns seals that are zero in a copy of this process, nil if the system has no such memory.
func mapSeals() *seals {
	b, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(seals{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	if unix.Madvise(b, unix.MADV_WIPEONFORK) != nil {
		unix.Munmap(b)
		return nil
	}
	return (*seals)(unsafe.Pointer(unsafe.SliceData(b)))
}

// vector is struct iovec, for either side. Addresses of the remote side are not pointers of this process.
type vector struct {
	base unsafe.Pointer
	len  uintptr
}

type remoteVector struct{ base, len uintptr }

// loadsInOrder is true for processors that do not reorder loads, neither single ones nor those of a string
// operation (Intel SDM vol. 3, 9.2.2 and 9.2.4; AMD APM vol. 2, 7.2; z/Architecture PoP, "Conceptual Sequence").
const loadsInOrder = runtime.GOARCH == "amd64" || runtime.GOARCH == "386" || runtime.GOARCH == "s390x"

// readSealed copies the ranges, and the seal after them. The kernel processes the ranges of a call in their order
// (process_vm_readv(2); mm/process_vm_access.c, process_vm_rw_core). On processors that may reorder the loads of
// one call, a second call after a barrier reads the seal.
func readSealed(l *engine.CMARequest) engine.CMAResult {
	if !reachable(l) {
		return engine.Unreadable
	}
	var got [engine.SealLen]byte
	var lv [maxParts]vector
	var rv [maxParts]remoteVector
	nl, nr, want := 0, 0, uint64(0)
	for _, b := range l.Into {
		lv[nl] = vector{unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))}
		nl++
		want += uint64(len(b))
	}
	for _, r := range l.From {
		rv[nr] = remoteVector{uintptr(r.Addr), uintptr(r.Len)}
		nr++
	}
	if !loadsInOrder && nl > 0 {
		if !readv(l.PID, &lv, nl, &rv, nr, want) {
			return whyUnread(l)
		}
		loadsFence()
		nl, nr, want = 0, 0, 0
	}
	lv[nl] = vector{unsafe.Pointer(&got[0]), uintptr(len(got))}
	rv[nr] = remoteVector{uintptr(l.SealAt), uintptr(len(got))}
	switch {
	case !readv(l.PID, &lv, nl+1, &rv, nr+1, want+uint64(len(got))):
		return whyUnread(l)
	case got != l.Seal:
		return engine.Unsealed
	}
	return engine.Copied
}

// reachable reports whether the system call can express the peer's addresses. In a 32-bit process it cannot express
// all addresses of a 64-bit one.
func reachable(l *engine.CMARequest) bool {
	if uint64(uintptr(l.SealAt)) != l.SealAt {
		return false
	}
	for _, r := range l.From {
		if uint64(uintptr(r.Addr)) != r.Addr {
			return false
		}
	}
	return true
}

// whyUnread finds out why a copy failed. If the seal is broken, the message was withdrawn, and its memory may no
// longer be mapped.
func whyUnread(l *engine.CMARequest) engine.CMAResult {
	var got [engine.SealLen]byte
	lv := [maxParts]vector{{unsafe.Pointer(&got[0]), uintptr(len(got))}}
	rv := [maxParts]remoteVector{{uintptr(l.SealAt), uintptr(len(got))}}
	if len(l.From) > 0 && readv(l.PID, &lv, 1, &rv, 1, uint64(len(got))) && got != l.Seal {
		return engine.Unsealed
	}
	return engine.Unreadable
}

// readv makes the system call. It reports failure if less than everything was copied: the kernel copies at most 2
// GiB, and stops where memory ends. It is a raw call, because a copy takes microseconds, and informing the
// scheduler costs more than it gains.
func readv(pid uint32, lv *[maxParts]vector, nl int, rv *[maxParts]remoteVector, nr int, want uint64) bool {
	n, _, err := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(lv)), uintptr(nl), uintptr(unsafe.Pointer(rv)), uintptr(nr), 0)
	return err == 0 && uint64(n) == want
}
