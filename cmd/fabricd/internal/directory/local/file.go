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

// Names in the folder.
const (
	lockName   = "lock"
	dbName     = "directory.db"
	unfinished = "directory.db.new" // is being written, or was when the daemon ended
)

// pageSize is the same on every machine, so that a folder can be moved.
const pageSize = 4096

var (
	// ErrDamaged: the file holds bytes that fabricd has not written there, or lacks some.
	ErrDamaged = errors.New("damaged")
	// ErrGone: the file was removed or replaced while it was open.
	ErrGone = errors.New("it was removed or replaced")
	// ErrOldFormat: the folder holds the logs of an older fabricd.
	ErrOldFormat = errors.New("files of an older fabricd, which this one does not read")
)

// file is the directory on disk: a bbolt file, in a folder that one daemon holds. Only one goroutine uses it.
//
// bbolt writes the pages of a transaction, syncs them, then writes one page that makes them count (a meta page), and
// syncs that. Where any of this failed it is not known what is on disk: a failed fsync(2) is reported once, and the
// kernel shows the bytes as if they were written. So a file that failed once is not used again: rewrite writes another.
type file struct {
	folder string
	lock   *os.File
	db     *bbolt.DB   // nil before the first rewrite, and after a failure
	known  os.FileInfo // of db's file
	state  state
	past   past
}

// openFile makes the folder, if need be, and locks it.
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
	_ = os.Remove(f.path(unfinished)) // mostly there is none; the next one replaces it
	return f, nil
}

// refuseOld finds the logs and snapshots that fabricd kept before it had a database.
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

// syncAbove makes durable the names that lead to a folder: its own and that of the folder above it, which fabricd may have made
// just now. It did not make what this user may not read.
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

// read opens the file that is there and calls apply with each change that it holds, in order. It reports whether there is one.
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
			for err := range tx.Check() { // of keys in order, and no page both in use and free
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

// guarded calls a function that enters bbolt. bbolt panics at pages that make no sense; and a page that the disk cannot read, or that is
// cut off, is a memory fault, because bbolt reads from a map of the file.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &panicked{r}
		}
	}()
	return do()
}

// panicked is a panic in bbolt, after which it may hold its own locks for ever.
type panicked struct{ reason any }

func (p *panicked) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, p.reason) }
func (p *panicked) Unwrap() error { return ErrDamaged }

// closeAfter closes a database that is of no use any more because of err.
func closeAfter(db *bbolt.DB, err error) error {
	if p := (*panicked)(nil); db == nil || errors.As(err, &p) {
		return nil
	}
	return db.Close()
}

// settle writes the meta pages again, as they are, and syncs them. The process that wrote them may have ended, or its fsync(2)
// failed, before they were on disk; the pages that they replaced are written over next.
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

// stillThere notices that the file which was written to is not the one that the next start finds.
func (f *file) stillThere() error {
	now, err := os.Stat(f.path(dbName))
	if err == nil && os.SameFile(now, f.known) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s: %w", dbName, ErrGone), err)
}

// rewrite writes all entries into a new file, which takes the place of the old one.
func (f *file) rewrite(all []*store.Entry, revision uint64) error {
	st := state{revision: revision}
	err := f.replace(func(db *bbolt.DB) error { return writeAll(db, all, &st) })
	if err == nil {
		f.state = st
		f.past = past{floor: revision}
	}
	return err
}

// shrink copies the file into one without free pages, which takes its place.
func (f *file) shrink() error {
	err := f.replace(func(db *bbolt.DB) error { return bbolt.Compact(db, f.db, piece) })
	if errors.Is(err, ErrDamaged) {
		return errors.Join(err, f.drop(err))
	}
	return err
}

// piece bounds the bytes that one transaction of a new file holds in memory.
const piece = 8 << 20

// replace fills a new file, and puts it into the place of the old one, which goes on if that fails before.
func (f *file) replace(fill func(*bbolt.DB) error) error {
	db, err := newDB(f.path(unfinished), fill)
	if err == nil {
		if err = os.Rename(f.path(unfinished), f.path(dbName)); err != nil {
			_ = db.Close() // of no use
		}
	}
	if err != nil {
		_ = os.Remove(f.path(unfinished)) // it takes room that may be short
		return err
	}
	if f.db != nil {
		_ = f.db.Close() // all of it is in the new one
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

// newDB makes a file, whose transactions are synced together: nothing reads it before it has its name.
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

// A file is made smaller when most of it is not used any more, and that is worth the trouble.
const (
	wasteMin   = 8 << 20 // bytes
	wasteRatio = 2       // times what is used
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

// length is of the file, as far as bbolt has used it.
func (f *file) length() (n int64) {
	_ = f.db.View(func(tx *bbolt.Tx) error { n = tx.Size(); return nil })
	return n
}

// drop ends the use of the database, perhaps because it failed.
func (f *file) drop(cause error) error {
	db := f.db
	f.db = nil
	return closeAfter(db, cause)
}

// close lets another daemon have the folder.
func (f *file) close() error {
	return errors.Join(f.drop(nil), f.lock.Close())
}
