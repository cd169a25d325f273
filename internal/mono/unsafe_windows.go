package mono

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The runtime's clock on Windows advances with the system's ticks, which come every 0.5 to 16 ms. That is too coarse
// for round trips and for waits that spin.

var (
	kernel    = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel.NewProc("QueryPerformanceCounter")
	frequency = query(kernel.NewProc("QueryPerformanceFrequency")) // ticks in a second; it never changes
	begin     = query(counter)
)

// query returns a value of the performance counter. It cannot fail since Windows XP.
func query(proc *windows.LazyProc) (n int64) {
	syscall.SyscallN(proc.Addr(), uintptr(unsafe.Pointer(&n)))
	return n
}

// precise returns the time since start by the performance counter.
func precise(time.Duration) time.Duration {
	ticks := query(counter) - begin
	return time.Duration(ticks/frequency*int64(time.Second) + ticks%frequency*int64(time.Second)/frequency)
}
