package journal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Journal is an open folder of records.
type Journal struct {
	dir    string
	lock   *os.File
	log    *os.File
	salt   []byte
	number uint64 // of the log
	buf    []byte
	size   atomic.Int64 // of the log, as far as it is on disk
	sync   func(*os.File) error
}

// Open calls replay with all records, first those of the newest snapshot, then those of the logs, and returns a journal that goes on behind them. Nobody else
// can open the folder until Close.
func Open(dir string, replay func(record []byte) error) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, lock: lock, sync: syncData}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s is in use by another fabricd: %w", dir, err)
	}
	if err := j.load(replay); err != nil {
		lock.Close()
		return nil, err
	}
	return j, nil
}

// load reads what there is and opens the last log.
func (j *Journal) load(replay func([]byte) error) error {
	files, err := scan(j.dir)
	if err != nil {
		return err
	}
	first := uint64(0)
	if n := len(files.snapshots); n > 0 {
		first = files.snapshots[n-1]
		if err := j.readSnapshot(first, replay); err != nil {
			return err
		}
	}
	logs := slices.DeleteFunc(files.logs, func(n uint64) bool { return n < first })
	for i, n := range logs {
		if want := logs[0] + uint64(i); n != want || i == 0 && first > 0 && n != first {
			return fmt.Errorf("%s: %w: %s is there, but not the log before it", j.dir, ErrDamaged, logName(n))
		}
		if err := j.readLog(n, i == len(logs)-1, replay); err != nil {
			return err
		}
	}
	if len(logs) == 0 {
		if first > 0 {
			return fmt.Errorf("%s: %w: there is a snapshot but no log", j.dir, ErrDamaged)
		}
		return j.create(1)
	}
	j.removeBelow(first)
	return nil
}

func (j *Journal) readSnapshot(n uint64, replay func([]byte) error) error {
	path := filepath.Join(j.dir, snapshotName(n))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	good, ended, err := read(data, replay)
	if err == nil && (good != len(data) || !ended) {
		err = fmt.Errorf("%w: it ends at byte %d of %d without its end mark", ErrDamaged, good, len(data))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readLog reads a log; the last one may end in a frame that was not written to its end, which is cut off, and is left open for more.
func (j *Journal) readLog(n uint64, last bool, replay func([]byte) error) error {
	path := filepath.Join(j.dir, logName(n))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	good, _, err := read(data, replay)
	if err == nil && good != len(data) && !last {
		err = fmt.Errorf("%w: bad bytes at %d, though a newer log exists", ErrDamaged, good)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !last {
		return nil
	}
	if good < headerSize { // the end came while the log was made: nothing was ever in it
		return j.create(n)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Seek(int64(good), 0); err == nil && good != len(data) {
		err = errors.Join(f.Truncate(int64(good)), f.Sync())
	}
	if err != nil {
		f.Close()
		return err
	}
	j.use(f, n, slices.Clone(saltOf(data)), good)
	return nil
}

// create begins log n. A file that cannot be begun does not stay: the log before it would be no longer the last, which alone may end in the midst of a frame.
func (j *Journal) create(n uint64) error {
	path := filepath.Join(j.dir, logName(n))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	header, salt := newHeader()
	if _, err = f.Write(header); err == nil {
		err = errors.Join(f.Sync(), syncDir(j.dir))
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	j.use(f, n, salt, headerSize)
	return nil
}

func (j *Journal) use(f *os.File, n uint64, salt []byte, size int) {
	if j.log != nil {
		j.log.Close() // all of it is on disk
	}
	j.log, j.number, j.salt = f, n, salt
	j.size.Store(int64(size))
}

// maxBatch bounds the bytes of a frame, about.
const maxBatch = 16 << 20

// Append writes records, and returns when they are on disk. After an error nothing more may be appended before Restart: what is on disk is not known.
func (j *Journal) Append(records [][]byte) error {
	written := 0
	for len(records) > 0 {
		n := fill(records)
		j.buf = appendFrame(j.buf[:0], j.salt, records[:n])
		if len(j.buf)-frameHead > maxFrame {
			return fmt.Errorf("%d bytes at once", len(j.buf))
		}
		if _, err := j.log.Write(j.buf); err != nil {
			return err
		}
		written += len(j.buf)
		records = records[n:]
	}
	if cap(j.buf) > 4<<20 {
		j.buf = nil
	}
	if err := j.sync(j.log); err != nil {
		return err
	}
	j.size.Add(int64(written))
	return nil
}

// fill is how many records go into the next frame.
func fill(records [][]byte) int {
	size := 0
	for i, r := range records {
		if size += len(r); size >= maxBatch {
			return i + 1
		}
	}
	return len(records)
}

// Restart makes a journal fit for use after a failed Append: it takes back what that left, and writes everything that there is anew, as a snapshot and a log
// behind it. Of a file whose fsync(2) failed nothing is relied upon that was written since it last succeeded.
func (j *Journal) Restart(each func(emit func(record []byte) error) error) error {
	good := j.size.Load()
	if err := j.log.Truncate(good); err != nil {
		return err
	}
	if _, err := j.log.Seek(good, 0); err != nil {
		return err
	}
	if err := j.sync(j.log); err != nil {
		return err
	}
	if good > int64(headerSize) {
		if _, err := j.Rotate(); err != nil {
			return err
		}
	}
	return j.Snapshot(j.number, each)
}

// Size is the length of the log, bytes.
func (j *Journal) Size() int64 { return j.size.Load() }

// Rotate begins a new log, whose number it returns: a snapshot of what there is now has this number.
func (j *Journal) Rotate() (uint64, error) {
	n := j.number + 1
	return n, j.create(n)
}

// Snapshot writes all records of a snapshot, and removes the files that it stands for. It may run beside Append.
func (j *Journal) Snapshot(n uint64, each func(emit func(record []byte) error) error) (err error) {
	temp := filepath.Join(j.dir, "snapshot.new")
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		f.Close() // it is on disk, or of no use
		if err != nil {
			os.Remove(temp) // it takes room that may be short
		}
	}()
	header, salt := newHeader()
	buffered := bufio.NewWriterSize(f, 1<<16)
	w := &frameWriter{w: buffered, salt: salt}
	if _, err := buffered.Write(header); err != nil {
		return err
	}
	if err := each(func(record []byte) error { _, err := w.Write(record); return err }); err != nil {
		return err
	}
	if err := errors.Join(w.end(), buffered.Flush()); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(j.dir, snapshotName(n))); err != nil {
		return err
	}
	if err := syncDir(j.dir); err != nil {
		return err
	}
	j.removeBelow(n)
	return nil
}

// removeBelow removes what snapshot n stands for. What cannot be removed is removed another time.
func (j *Journal) removeBelow(n uint64) {
	files, err := scan(j.dir)
	if err != nil {
		return
	}
	for _, k := range files.logs {
		if k < n {
			os.Remove(filepath.Join(j.dir, logName(k)))
		}
	}
	for _, k := range files.snapshots {
		if k < n {
			os.Remove(filepath.Join(j.dir, snapshotName(k)))
		}
	}
}

// Close gives the folder back.
func (j *Journal) Close() error {
	return errors.Join(j.log.Close(), j.lock.Close())
}
