package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	dberrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// The names in the folder.
const (
	lockName   = "lock"
	dbName     = "directory.db"
	unfinished = "directory.db.new" // a file that is written, or was when the daemon ended
)

// pageSize is the same on every machine, so that a folder can be moved.
const pageSize = 4096

var (
	// ErrDamaged means that the file has bytes that fabricd did not write there, or lacks some.
	ErrDamaged = errors.New("damaged")
	// ErrGone means that the file was removed or replaced while it was open.
	ErrGone = errors.New("the file was removed or replaced")
	// ErrOldFormat means that the folder has the logs of an older fabricd.
	ErrOldFormat = errors.New("the files are those of an older fabricd, which this one cannot read")
)

// file is the directory on disk: a bbolt file, in a folder that one daemon locks. Only one goroutine uses it.
//
// bbolt writes the pages of a transaction, syncs them, writes one page that makes them valid (a meta page), and
// syncs that. If one of these steps fails, the contents of the disk are unknown: a failed fsync(2) is reported
// once, and the kernel then shows the bytes as if they were written. So a file is not used after a failure: rewrite
// writes another one.
type file struct {
	folder string
	lock   *os.File
	db     *bbolt.DB   // nil before the first rewrite, and after a failure
	known  os.FileInfo // of db's file
	state  state
	past   past
}

// openFile locks the folder. It creates the folder if necessary.
func openFile(folder string) (*file, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := syncAbove(filepath.Clean(folder)); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	f := &file{folder: folder, lock: lock}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another fabricd: %w", folder, err), lock.Close())
	}
	if err := errors.Join(refuseOld(folder), syncFolder(folder)); err != nil {
		return nil, errors.Join(err, f.close())
	}
	_ = os.Remove(f.path(unfinished)) // usually there is none; the next one replaces it
	return f, nil
}

// refuseOld finds the logs and snapshots of a fabricd that had no database.
func refuseOld(folder string) error {
	for _, pattern := range []string{"log-*", "snapshot-*"} {
		old, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		if len(old) > 0 {
			return fmt.Errorf("%w: %s; to keep names, start the older fabricd and save them with fabricd names --json; "+
				"to begin with an empty directory, move log-* and snapshot-* away", ErrOldFormat, old[0])
		}
	}
	return nil
}

// syncAbove makes the names that lead to a folder durable: its own and that of the folder above it, which fabricd
// may have just created. It skips folders that this user may not read, which fabricd cannot have created.
func syncAbove(path string) error {
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

func (f *file) path(name string) string { return filepath.Join(f.folder, name) }

// read opens an existing file and calls apply with each change in it, in order. It reports whether there is one.
func (f *file) read(apply func(store.Event)) (found bool, err error) {
	path := f.path(dbName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := checkPages(path); err != nil {
		return true, fmt.Errorf("%s: %w", dbName, err)
	}
	err = guarded(func() error {
		if f.db, err = openDB(path); err != nil {
			return err
		}
		if f.known, err = os.Stat(path); err != nil {
			return err
		}
		return f.db.View(func(tx *bbolt.Tx) error {
			var all []error
			for err := range tx.Check() { // checks the order of keys, and that no page is both in use and free
				all = append(all, err)
			}
			if len(all) > 0 {
				return fmt.Errorf("%w: %w", ErrDamaged, all[0])
			}
			return f.load(tx, apply)
		})
	})
	if err != nil {
		return true, errors.Join(fmt.Errorf("%s: %w", dbName, err), f.drop(err))
	}
	return true, nil
}

func openDB(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Millisecond, PageSize: pageSize, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, dberrors.ErrTimeout) {
		return nil, fmt.Errorf("%s is in use by another program: %w", path, err)
	}
	return db, err
}

// guarded calls a function that enters bbolt. bbolt panics at invalid pages. Because it maps the file, a page that
// the disk cannot read, or that is beyond the end of the file, is a memory fault.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &panicked{r}
		}
	}()
	return do()
}

// panicked is a panic in bbolt. bbolt may hold its own locks for ever then.
type panicked struct{ reason any }

func (p *panicked) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, p.reason) }
func (p *panicked) Unwrap() error { return ErrDamaged }

// closeAfter closes a database that is unusable because of err.
func closeAfter(db *bbolt.DB, err error) error {
	if p := (*panicked)(nil); db == nil || errors.As(err, &p) {
		return nil
	}
	return db.Close()
}

// settle writes the meta pages again, unchanged, and syncs them. The process that wrote them may have ended, or its
// fsync(2) failed, before they were on disk, and the next transaction overwrites the pages that they replaced.
func (f *file) settle() error {
	w, err := os.OpenFile(f.path(dbName), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	var metas [2 * pageSize]byte
	if _, err := w.ReadAt(metas[:], 0); err != nil {
		return err
	}
	if _, err := w.WriteAt(metas[:], 0); err != nil {
		return err
	}
	return w.Sync()
}

// stillThere returns an error if the open file is not the one that the next start will find.
func (f *file) stillThere() error {
	now, err := os.Stat(f.path(dbName))
	if err == nil && os.SameFile(now, f.known) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s: %w", dbName, ErrGone), err)
}

// rewrite writes all entries to a new file, which replaces the old one.
func (f *file) rewrite(all []*store.Entry, revision uint64) error {
	st := state{revision: revision}
	err := f.replace(func(db *bbolt.DB) error { return writeAll(db, all, &st) })
	if err == nil {
		f.state = st
		f.past = past{floor: revision}
	}
	return err
}

// shrink copies the file to one without free pages, which replaces it.
func (f *file) shrink() error {
	err := f.replace(func(db *bbolt.DB) error { return bbolt.Compact(db, f.db, piece) })
	if errors.Is(err, ErrDamaged) {
		return errors.Join(err, f.drop(err))
	}
	return err
}

// piece bounds the memory of one transaction of a new file, in bytes.
const piece = 8 << 20

// replace fills a new file, and replaces the old one. If it fails before, the old one remains in use.
func (f *file) replace(fill func(*bbolt.DB) error) error {
	db, err := newDB(f.path(unfinished), fill)
	if err == nil {
		if err = os.Rename(f.path(unfinished), f.path(dbName)); err != nil {
			_ = db.Close() // it is incomplete
		}
	}
	if err != nil {
		_ = os.Remove(f.path(unfinished)) // frees space on a full disk
		return err
	}
	if f.db != nil {
		_ = f.db.Close() // the new file has everything
	}
	f.db = db
	if f.known, err = os.Stat(f.path(dbName)); err == nil {
		err = syncFolder(f.folder)
	}
	if err != nil { // the next start may find the old file
		return errors.Join(err, f.drop(err))
	}
	return nil
}

// newDB makes a file. Its transactions are synced together, because no process reads the file before it has its
// name.
func newDB(path string, fill func(*bbolt.DB) error) (db *bbolt.DB, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = guarded(func() error {
		if db, err = openDB(path); err != nil {
			return err
		}
		db.NoSync = true
		if err := fill(db); err != nil {
			return err
		}
		db.NoSync = false
		return db.Sync()
	})
	if err != nil {
		return nil, errors.Join(err, closeAfter(db, err))
	}
	return db, nil
}

// The file is made smaller if most of it is unused, and the unused part is large enough.
const (
	wasteMin   = 8 << 20 // bytes
	wasteRatio = 2       // times the used size
)

// wasteful reports whether the file could be much smaller.
func (f *file) wasteful() bool {
	if f.db == nil {
		return false
	}
	stats := f.db.Stats()
	free := int64(stats.FreePageN+stats.PendingPageN) * pageSize
	return free > wasteMin && free > wasteRatio*(f.length()-free)
}

// length returns the length of the file that bbolt has used, in bytes.
func (f *file) length() (n int64) {
	_ = f.db.View(func(tx *bbolt.Tx) error { n = tx.Size(); return nil })
	return n
}

// drop ends the use of the database, possibly after a failure.
func (f *file) drop(cause error) error {
	db := f.db
	f.db = nil
	return closeAfter(db, cause)
}

// close unlocks the folder.
func (f *file) close() error {
	return errors.Join(f.drop(nil), f.lock.Close())
}
