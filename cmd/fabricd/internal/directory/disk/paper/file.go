package paper

import (
	"errors"
	"syscall"
)

// file is an open file.
type file struct {
	disk *Disk
	leaf *leaf
	at   int
}

// Write is disk.File's. One that fails may have written a part.
func (f *file) Write(b []byte) (int, error) {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return 0, ErrEnded
	}
	err := d.write()
	n := len(b)
	switch {
	case err == syscall.EROFS:
		return 0, err
	case err != nil:
		n = d.rand.IntN(len(b) + 1)
	}
	if grows := f.at + n - len(f.leaf.seen); d.room > 0 && grows > 0 && d.size()+grows > d.room {
		n, err = max(0, n-(d.size()+grows-d.room)), syscall.ENOSPC
	}
	f.leaf.write(f.at, b[:n])
	f.at += n
	return n, err
}

// Seek is disk.File's; from the beginning only.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if whence != 0 {
		return 0, errors.ErrUnsupported
	}
	f.at = int(offset)
	return offset, f.disk.call()
}

// Truncate is disk.File's.
func (f *file) Truncate(size int64) error {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.write()
	if err == nil || err == syscall.EIO && d.rand.IntN(2) == 0 {
		f.leaf.truncate(int(size))
	}
	return err
}

// Sync is disk.File's.
func (f *file) Sync() error {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.call()
	switch {
	case err == nil:
		f.leaf.sync()
	case err == syscall.EIO && d.rand.IntN(2) == 0:
		f.leaf.lose(d.rand)
	}
	return err
}

// Close is disk.File's.
func (f *file) Close() error { return nil }
