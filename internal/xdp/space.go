//go:build linux

package xdp

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// space is a network namespace. Goroutines run on threads that may be in another one.
type space struct {
	id uint64
	f  *os.File
}

// thisSpace is the namespace of the calling thread.
func thisSpace() (s space, err error) {
	if s.id, err = namespaceID(); err == nil {
		s.f, err = os.Open(threadSpace)
	}
	return s, err
}

const threadSpace = "/proc/thread-self/ns/net"

func (s space) close() {
	if s.f != nil {
		s.f.Close()
	}
}

// emptySpace is a new namespace, with nothing but an interface lo that is down. It takes CAP_SYS_ADMIN (unshare(2)).
func emptySpace() (made space, err error) {
	err = excursion(func(space) error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		made, err = thisSpace()
		return err
	})
	return made, err
}

// within calls f in the namespace. To go there from another one takes CAP_SYS_ADMIN (setns(2)).
func (s space) within(f func() error) error {
	return excursion(func(here space) error {
		if here.id != s.id {
			if err := unix.Setns(int(s.f.Fd()), unix.CLONE_NEWNET); err != nil {
				return os.NewSyscallError("setns", err)
			}
		}
		return f()
	})
}

// excursion calls f on a thread that is brought back to its namespace, here, when f has gone to another one.
func excursion(f func(here space) error) error {
	runtime.LockOSThread()
	here, err := thisSpace()
	if err == nil {
		defer here.close()
		err = f(here)
		if now, bad := namespaceID(); bad != nil || now != here.id && unix.Setns(int(here.f.Fd()), unix.CLONE_NEWNET) != nil {
			return err // the thread ends with the goroutine
		}
	}
	runtime.UnlockOSThread()
	return err
}
