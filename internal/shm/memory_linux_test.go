//go:build !fabricbasic

package shm

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMemory maps the same memory twice in this process.
func TestMemory(t *testing.T) {
	a, fd, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b, err := Open(fd)
	if err != nil {
		t.Fatal(err)
	}
	a.Write([]byte("over here"))
	buf := make([]byte, 20)
	if n, err := b.Read(buf); err != nil || string(buf[:n]) != "over here" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	if err := unix.Ftruncate(fd, 0); err != syscall.EPERM {
		t.Errorf("the memory can be taken away: %v", err)
	}
	for _, e := range []*Rings{a, b} {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpenRefuses checks that Open refuses memory that can be removed, or is too small.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name         string
		size, blocks int64
		seals        int
	}{
		{"not sealed", Size, Size, 0},
		{"sealed in part", Size, Size, unix.F_SEAL_GROW | unix.F_SEAL_SEAL},
		{"may be unsealed", Size, Size, unix.F_SEAL_SHRINK | unix.F_SEAL_GROW},
		{"short", Size - 1, Size - 1, seals},
		{"long", Size + 4096, Size + 4096, seals},
		{"not allocated", Size, 0, seals},
	} {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(fd, c.size); err != nil {
			t.Fatal(err)
		}
		if c.blocks > 0 {
			if err := unix.Fallocate(fd, 0, 0, c.blocks); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, c.seals); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(fd); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
		unix.Close(fd)
	}
	if _, err := Open(0); err == nil {
		t.Error("standard input was accepted")
	}
}

// TestHoles has the peer remove pages from the memory. They are zero then, which does no harm to this process.
func TestHoles(t *testing.T) {
	a, fd, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer unix.Close(fd)
	b, err := Open(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if n, err := b.Write([]byte("something")); n != 9 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := a.Read(make([]byte, 4)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, Size); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(make([]byte, 64)); err != ErrBroken {
		t.Errorf("%d bytes, %v: the position has become 0", n, err)
	}
	if n, err := a.Write(make([]byte, 64)); n != 64 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
