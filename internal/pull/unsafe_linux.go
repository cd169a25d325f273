package pull

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// vector is struct iovec for either side: the remote one's addresses mean nothing here.
type vector struct {
	base unsafe.Pointer
	len  uintptr
}

type remoteVector struct{ base, len uintptr }

// pull makes the call; one that copied less than everything counts as none (the system copies at most 2 GiB, and stops where memory ends). It is a raw call: the
// copy takes microseconds, and a scheduler that is told of it costs more than it gains.
func pull(pid uint32, seal *[engine.SealLen]byte, sealAt uint64, remote []wire.RMAIov, local [][]byte) bool {
	var got [engine.SealLen]byte
	var lv [maxParts]vector
	var rv [maxParts]remoteVector
	lv[0] = vector{unsafe.Pointer(&got[0]), uintptr(len(got))}
	rv[0] = remoteVector{uintptr(sealAt), uintptr(len(got))}
	nl, nr, want := 1, 1, uint64(len(got))
	for _, b := range local {
		lv[nl] = vector{unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))}
		nl++
		want += uint64(len(b))
	}
	for _, r := range remote {
		rv[nr] = remoteVector{uintptr(r.Addr), uintptr(r.Len)}
		nr++
	}
	n, _, err := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&lv)), uintptr(nl), uintptr(unsafe.Pointer(&rv)), uintptr(nr), 0)
	return err == 0 && uint64(n) == want && got == *seal
}
