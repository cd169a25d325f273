//go:build unix

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
	"gofabric/internal/netx"
	"gofabric/internal/trust"
)

// SharedCaps are the capabilities of endpoints whose vectors can be shared (fi_getinfo(3), FI_SHARED_AV).
const SharedCaps = core.CapSharedAV

// shmDir is the preferred place: a file system in memory (shm_overview(7)).
const shmDir = "/dev/shm"

// sharedRoot returns the parent of the user's directory of shared vectors.
func sharedRoot() string {
	if info, err := os.Stat(shmDir); err == nil && info.IsDir() {
		return shmDir
	}
	return os.TempDir()
}

// lock takes a lock. It waits up to wait.
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

// openDir returns the user's directory of shared vectors, locked. Close unlocks it. It refuses a directory that
// another user may have created. Files are then opened relative to the directory's descriptor, so that another user
// cannot replace the directory meanwhile.
func openDir(root string) (*os.File, error) {
	name := filepath.Join(root, "gofabric-"+strconv.Itoa(os.Geteuid()))
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) { // a link, a file, or another user's directory
		if info, e := os.Lstat(name); e == nil {
			return nil, refuse(name, info)
		}
	}
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

// private checks that f belongs to the user and that no other user can read or write it.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if uid, ok := owner(info); !ok || uid != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return refuse(f.Name(), info)
	}
	return nil
}

func owner(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(st.Uid), true
}

// refuse counts and logs a file that is not used because another user could have created it, or could change it.
func refuse(name string, info fs.FileInfo) error {
	uid, _ := owner(info)
	why := fmt.Sprintf("it is not a directory or file of this user alone (mode %v)", info.Mode())
	trust.Refuse(trust.Vectors, netx.Peer{UID: uid}, name, why)
	return fmt.Errorf("%s belongs to user %d and has mode %v, but must belong to user %d and be closed to all others; remove it: %w", name, uid, info.Mode(), os.Geteuid(), core.ErrPerm)
}

// openAt opens a file of the directory.
func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	full := filepath.Join(dir.Name(), name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: full, Err: err}
	}
	return os.NewFile(uintptr(fd), full), nil
}

// removeAt removes a file of the directory.
func removeAt(dir *os.File, name string) { unix.Unlinkat(int(dir.Fd()), name, 0) }

const changingSuffix = ".lock"

// openFiles opens the files of a vector. fresh says that no living process has them open and the caller must write
// them. The directory's lock is held.
func openFiles(dir *os.File, key [32]byte, readOnly bool) (f sharedFiles, fresh bool, err error) {
	name := "av-" + hex.EncodeToString(key[:])
	mode := os.O_RDWR | os.O_CREATE
	if readOnly {
		mode = os.O_RDONLY
	}
	if f.data, err = openAt(dir, name, mode); err != nil {
		return f, false, err
	}
	if f.changing, err = openAt(dir, name+changingSuffix, mode); err == nil {
		if err = errors.Join(private(f.data), private(f.changing)); err == nil {
			fresh = unix.Flock(int(f.data.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
			if fresh && readOnly {
				err = fmt.Errorf("no process has it open: %w", fs.ErrNotExist)
			} else if e := unix.Flock(int(f.data.Fd()), unix.LOCK_SH|unix.LOCK_NB); e != nil {
				err = e
			}
		}
	}
	if err != nil {
		if fresh {
			f.remove(dir)
		}
		f.close()
	}
	return f, fresh, err
}

func (f *sharedFiles) remove(dir *os.File) {
	name := filepath.Base(f.data.Name())
	removeAt(dir, name)
	removeAt(dir, name+changingSuffix)
}

// leave closes the files, and removes them if no other process has them open.
func (f *sharedFiles) leave() {
	if dir, err := openDir(f.root); err == nil {
		defer dir.Close()
		if unix.Flock(int(f.data.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && f.current(dir) {
			f.remove(dir)
		}
	}
	f.close()
}

// current reports whether the name still refers to the file: another process may have removed the file and created
// a new one.
func (f *sharedFiles) current(dir *os.File) bool {
	var now, ours unix.Stat_t
	return unix.Fstatat(int(dir.Fd()), filepath.Base(f.data.Name()), &now, unix.AT_SYMLINK_NOFOLLOW) == nil && unix.Fstat(int(f.data.Fd()), &ours) == nil &&
		now.Dev == ours.Dev && now.Ino == ours.Ino
}

// sweep removes some files of vectors that no living process has open. The directory's lock is held.
func sweep(dir *os.File) {
	d, err := openAt(dir, ".", os.O_RDONLY) // a second descriptor leaves the position of the locked one unchanged
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(sweepMax)
	for _, name := range names {
		if !strings.HasPrefix(name, "av-") || strings.HasSuffix(name, changingSuffix) {
			continue
		}
		f, err := openAt(dir, name, os.O_RDONLY|syscall.O_NONBLOCK)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			removeAt(dir, name)
			removeAt(dir, name+changingSuffix)
		}
		f.Close()
	}
}

const sweepMax = 256
