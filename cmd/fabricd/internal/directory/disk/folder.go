package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder holds files. That a file was made, renamed or removed is durable after Sync.
type Folder interface {
	fmt.Stringer // its path
	Names() ([]string, error)
	Read(name string) ([]byte, error)
	Create(name string) (File, error) // empties what is there
	Open(name string) (File, error)   // what is there, at its beginning
	Rename(from, to string) error
	Remove(name string) error
	Sync() error
	Close() error
}

// File is an open file. What was written is durable after Sync; where Sync failed it is not known what is, and what was written since the one before must be written
// again (fsync(2) and its errors: the kernel may take the bytes for clean).
type File interface {
	Write(b []byte) (int, error)
	Seek(offset int64, whence int) (int64, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// ErrGone is what Sync says of a file that somebody removed while it was open.
var ErrGone = errors.New("somebody has removed it")

// folder is a Folder of the system's.
type folder struct {
	path string
	lock *os.File
}

// Open makes a folder, if need be, and opens it. Nobody else can before Close.
func Open(path string) (Folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := hold(filepath.Clean(path)); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s is in use by another fabricd: %w", path, err)
	}
	return &folder{path: path, lock: lock}, nil
}

// hold makes the names durable that lead to a folder: of itself and of the one that it is in, which fabricd may have made just now. What this user may not read it did
// not make.
func hold(path string) error {
	above := filepath.Dir(path)
	for _, f := range []string{above, filepath.Dir(above)} {
		if err := syncFolder(f); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (f *folder) String() string           { return f.path }
func (f *folder) at(name string) string    { return filepath.Join(f.path, name) }
func (f *folder) Remove(name string) error { return os.Remove(f.at(name)) }
func (f *folder) Rename(from, to string) error {
	return os.Rename(f.at(from), f.at(to))
}
func (f *folder) Read(name string) ([]byte, error) { return os.ReadFile(f.at(name)) }
func (f *folder) Sync() error                      { return syncFolder(f.path) }
func (f *folder) Close() error                     { return f.lock.Close() }

func (f *folder) Names() ([]string, error) {
	entries, err := os.ReadDir(f.path)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (f *folder) Create(name string) (File, error) {
	return open(f.at(name), os.O_CREATE|os.O_TRUNC|os.O_RDWR)
}

func (f *folder) Open(name string) (File, error) { return open(f.at(name), os.O_RDWR) }

func open(path string, flag int) (File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err // not file{nil}
	}
	return file{f}, nil
}

// file is a File of the system's.
type file struct{ *os.File }

// Sync makes bytes and a length that grew durable. Of a file that somebody removed meanwhile nothing is: the bytes go where nobody finds them (unlink(2)).
func (f file) Sync() error {
	if err := syncData(f.File); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Nlink == 0 {
		return fmt.Errorf("%s: %w", f.Name(), ErrGone)
	}
	return nil
}
