//go:build !fabricbasic

package shm

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Possible reports whether this system has such memory.
const Possible = true

// seals are the seals that the receiver of a memory requires. An access to memory that was cut off would kill the
// process (SIGBUS).
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Create makes memory for two processes. It returns this process' Rings, and a descriptor to pass on, which the
// caller closes. Errors are those of memfd_create(2), fallocate(2), fcntl(2) and mmap(2).
func Create() (*Rings, int, error) {
	fd, err := unix.MemfdCreate("gofabric", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err == syscall.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("gofabric", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, -1, fmt.Errorf("memfd_create: %w", err)
	}
	if err = unix.Fallocate(fd, 0, 0, Size); err == nil { // allocated now, as missing memory would be a SIGBUS later
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		unix.Close(fd)
		return nil, -1, err
	}
	mem, err := unix.Mmap(fd, 0, Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, -1, fmt.Errorf("mmap: %w", err)
	}
	return New(mem, true), fd, nil
}

// Open returns the other Rings of memory that Create made in another process and that was passed on as fd. The
// caller closes fd. Open fails for memory that is not as Create makes it.
func Open(fd int) (*Rings, error) {
	s, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("not a memfd: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if s&seals != seals || st.Size != Size || st.Blocks*512 < Size {
		return nil, fmt.Errorf("%w: %d bytes in %d blocks, seals %#x", syscall.EINVAL, st.Size, st.Blocks, s)
	}
	mem, err := unix.Mmap(fd, 0, Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return New(mem, false), nil
}

// Close unmaps the memory of Create or Open. r must not be used afterwards.
func (r *Rings) Close() error {
	mem := r.mem
	*r = Rings{}
	return unix.Munmap(mem)
}
