package av

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
)

// The directory of shared vectors, and who has one open.
//
// A vector is two files. Who has it open holds a shared lock (flock) on the first, the data: who can lock it for itself alone is the last, or finds what
// dead processes left. The second is locked by who changes the vector. The kernel releases the locks of a process that dies. Files come and go under the
// lock of the directory.

// shmDir is where such files live in memory only, where there is such a place.
const shmDir = "/dev/shm"

// sharedRoot is where the user's directory of shared vectors is made.
func sharedRoot() string {
	if info, err := os.Stat(shmDir); err == nil && info.IsDir() {
		return shmDir
	}
	return os.TempDir()
}

// Waits for locks, which are held while a change of some addresses is written.
const (
	lockWait  = 5 * time.Second        // of changes
	lookWait  = 300 * time.Microsecond // of look-ups, which may hold a domain's lock
	lockPause = 100 * time.Microsecond
)

var errStuck = fmt.Errorf("another process has held the lock of the shared address vector for %v: %w", lockWait, core.ErrTimedOut)

// lock takes a lock, waiting for it.
func lock(f *os.File, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(lockPause) {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			return core.FromSyscall(err.(unix.Errno))
		case time.Now().After(end):
			return errStuck
		}
	}
}

func unlock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// openDir returns the user's directory of shared vectors, locked: closing it unlocks it.
func openDir(root string) (*os.File, error) {
	name := filepath.Join(root, "gofabric-"+strconv.Itoa(os.Geteuid()))
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		dir.Close()
		return nil, err
	}
	if err := lock(dir, lockWait); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// private says whether f is the user's and nobody else can write to it or read it.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s belongs to somebody else or is open to others (mode %v): %w", f.Name(), info.Mode(), core.ErrPerm)
	}
	return nil
}

// sharedFiles are the two files of a vector.
type sharedFiles struct {
	root     string
	data     *os.File
	changing *os.File
}

const changingSuffix = ".lock"

// openFiles opens the files of a vector. fresh says that they are to be written: nobody alive has them. The directory's lock is held.
func openFiles(dir *os.File, key [32]byte, readOnly bool) (f sharedFiles, fresh bool, err error) {
	name := filepath.Join(dir.Name(), "av-"+hex.EncodeToString(key[:]))
	mode := os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW
	if readOnly {
		mode = os.O_RDONLY | syscall.O_NOFOLLOW
	}
	if f.data, err = os.OpenFile(name, mode, 0o600); err != nil {
		return f, false, err
	}
	if f.changing, err = os.OpenFile(name+changingSuffix, mode, 0o600); err == nil {
		if err = errors.Join(private(f.data), private(f.changing)); err == nil {
			fresh = unix.Flock(int(f.data.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
			if fresh && readOnly {
				err = fmt.Errorf("nobody has it open: %w", fs.ErrNotExist)
			} else if e := unix.Flock(int(f.data.Fd()), unix.LOCK_SH|unix.LOCK_NB); e != nil {
				err = e
			}
		}
	}
	if err != nil {
		if fresh {
			f.remove()
		}
		f.close()
	}
	return f, fresh, err
}

func (f *sharedFiles) remove() {
	os.Remove(f.data.Name())
	os.Remove(f.changing.Name())
}

func (f *sharedFiles) close() {
	f.data.Close()
	if f.changing != nil {
		f.changing.Close()
	}
}

// leave closes the files, and removes them if nobody else has them open.
func (f *sharedFiles) leave() {
	if dir, err := openDir(f.root); err == nil {
		defer dir.Close()
		if unix.Flock(int(f.data.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && f.current() {
			f.remove()
		}
	}
	f.close()
}

// current says whether the name still stands for the file: somebody may have cleaned up, and somebody else made a new one.
func (f *sharedFiles) current() bool {
	now, err := os.Lstat(f.data.Name())
	if err != nil {
		return false
	}
	ours, err := f.data.Stat()
	return err == nil && os.SameFile(now, ours)
}

// sweep removes the files of vectors that nobody alive has open, some of them. The directory's lock is held.
func sweep(dir *os.File) {
	d, err := os.Open(dir.Name()) // the locked one keeps its place
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(sweepMax)
	for _, name := range names {
		if !strings.HasPrefix(name, "av-") || strings.HasSuffix(name, changingSuffix) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir.Name(), name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.Remove(f.Name())
			os.Remove(f.Name() + changingSuffix)
		}
		f.Close()
	}
}

const sweepMax = 256
