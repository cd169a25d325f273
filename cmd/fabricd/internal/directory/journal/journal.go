package journal

import (
	"bufio"
	"errors"
	"fmt"
	"sync/atomic"

	"gofabric/cmd/fabricd/internal/directory/disk"
)

// Journal is an open folder of records.
type Journal struct {
	folder disk.Folder
	log    disk.File
	salt   []byte
	number uint64 // of the log
	buf    []byte
	size   atomic.Int64 // of the log, as far as it is on disk
	old    atomic.Int64 // logs before it that are still there

	unbegun error // why there is no log yet, which the disk had no room for
}

// begin is create for Open: that the disk takes no new log is no reason not to show what the others have.
func (j *Journal) begin(n uint64) {
	if j.unbegun = j.create(n); j.unbegun != nil {
		j.number = n
	}
}

// Unbegun is why nothing can be appended before Restart; nil if it can.
func (j *Journal) Unbegun() error { return j.unbegun }

// create begins log n. A file that cannot be begun does not stay; if it does nevertheless, nothing is in it, and load knows that.
func (j *Journal) create(n uint64) error {
	f, err := j.folder.Create(logName(n))
	if err != nil {
		return err
	}
	header, salt := newHeader()
	if _, err = f.Write(header); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = j.folder.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Close(), j.folder.Remove(logName(n)))
	}
	j.use(f, n, salt, headerSize)
	return nil
}

func (j *Journal) use(f disk.File, n uint64, salt []byte, size int) {
	if j.log != nil {
		j.log.Close() // all of it is on disk
	}
	j.log, j.number, j.salt = f, n, salt
	j.size.Store(int64(size))
}

// maxBatch bounds the bytes of a frame, about. Tests change it.
var maxBatch = 16 << 20

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
		if err := j.log.Sync(); err != nil { // each frame: a disk may write the second one first
			return err
		}
		written += len(j.buf)
		records = records[n:]
	}
	if cap(j.buf) > 4<<20 {
		j.buf = nil
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
// behind it, also where somebody removed the log. Of a file whose fsync(2) failed nothing is relied upon that was written since it last succeeded.
func (j *Journal) Restart(each func(emit func(record []byte) error) error) error {
	if j.unbegun != nil {
		j.begin(j.number)
		return j.unbegun
	}
	good := j.size.Load()
	if err := j.log.Truncate(good); err != nil {
		return err
	}
	if _, err := j.log.Seek(good, 0); err != nil {
		return err
	}
	err := j.log.Sync()
	gone := errors.Is(err, disk.ErrGone)
	if err != nil && !gone {
		return err
	}
	if gone || good > int64(headerSize) {
		if _, err := j.Rotate(); err != nil {
			return err
		}
	}
	if err := j.Snapshot(j.number, each); err != nil && !errors.Is(err, errStay) {
		return err
	}
	return nil
}

// Size is the length of the log, bytes.
func (j *Journal) Size() int64 { return j.size.Load() }

// Number is that of the log in use.
func (j *Journal) Number() uint64 { return j.number }

// Old is how many logs there are before the one that is written to.
func (j *Journal) Old() int { return int(j.old.Load()) }

// Rotate begins a new log, whose number it returns: a snapshot of what there is now has this number.
func (j *Journal) Rotate() (uint64, error) {
	n := j.number + 1
	if err := j.create(n); err != nil {
		return n, err
	}
	j.old.Add(1)
	return n, nil
}

// Snapshot writes all records of a snapshot, and removes the files that it stands for; an error may be that these stay (Old). It may run beside Append.
func (j *Journal) Snapshot(n uint64, each func(emit func(record []byte) error) error) (err error) {
	f, err := j.folder.Create(unfinished)
	if err != nil {
		return err
	}
	defer func() {
		f.Close() // it is on disk, or of no use
		if err != nil {
			_ = j.folder.Remove(unfinished) // it takes room that may be short
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
	if err := j.folder.Rename(unfinished, snapshotName(n)); err != nil {
		return err
	}
	if err := j.folder.Sync(); err != nil {
		return err
	}
	return j.removeBelow(n)
}

// errStay is of a snapshot that is on disk, while files stay that it stands for.
var errStay = errors.New("cannot be removed")

// removeBelow removes what snapshot n stands for. What cannot be removed is removed another time.
func (j *Journal) removeBelow(n uint64) error {
	files, err := scan(j.folder)
	if err != nil {
		return fmt.Errorf("%w: %w", errStay, err)
	}
	old := int64(0) // logs that stay
	for _, k := range files.logs {
		if k >= n {
			old++
			continue
		}
		if e := j.folder.Remove(logName(k)); e != nil {
			old, err = old+1, e
		}
	}
	j.old.Store(max(old-1, 0)) // the last is in use
	for _, k := range files.snapshots {
		if k < n {
			if e := j.folder.Remove(snapshotName(k)); e != nil {
				err = e
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errStay, err)
	}
	return nil
}

// Close ends the use of the log. The folder is its opener's.
func (j *Journal) Close() error {
	if j.log == nil {
		return nil
	}
	return j.log.Close()
}
