package journal

import (
	"errors"
	"fmt"
	"slices"

	"gofabric/cmd/fabricd/internal/directory/disk"
)

// Replay is called with all records, first those of the newest snapshot, then those of the logs.
type Replay func(record []byte, logged bool) error

// Open reads what a folder has, and returns a journal that goes on behind it. What was read is durable then: the process that wrote it may have ended, or its
// fsync(2) failed, before it was, and the kernel shows it nevertheless.
func Open(folder disk.Folder, replay Replay) (*Journal, error) {
	j := &Journal{folder: folder}
	if err := j.load(replay); err != nil {
		if j.log != nil {
			j.log.Close()
		}
		return nil, err
	}
	return j, nil
}

func (j *Journal) load(replay Replay) error {
	if err := j.folder.Sync(); err != nil { // before anything relies on names
		return err
	}
	files, err := scan(j.folder)
	if err != nil {
		return err
	}
	first := uint64(1) // log that counts
	if n := len(files.snapshots); n > 0 {
		first = files.snapshots[n-1]
		if err := j.readSnapshot(first, replay); err != nil {
			return err
		}
	}
	logs := slices.DeleteFunc(files.logs, func(n uint64) bool { return n < first })
	if err := j.checkNumbers(logs, first, len(files.snapshots) > 0); err != nil {
		return err
	}
	_ = j.folder.Remove(unfinished) // mostly there is none; the next snapshot replaces it
	if len(logs) == 0 {
		j.begin(1)
		return nil
	}
	if err := j.readLogs(logs, replay); err != nil {
		return err
	}
	_ = j.removeBelow(first) // the next snapshot says so, too
	return nil
}

// checkNumbers finds logs that are missing.
func (j *Journal) checkNumbers(logs []uint64, first uint64, snapshot bool) error {
	if len(logs) == 0 && snapshot {
		return fmt.Errorf("%s: %w: there is a snapshot but no log", j.folder, ErrDamaged)
	}
	for i, n := range logs {
		if n != first+uint64(i) {
			return fmt.Errorf("%s: %w: %s is there, but not the log before it", j.folder, ErrDamaged, logName(n))
		}
	}
	return nil
}

func (j *Journal) readSnapshot(n uint64, replay Replay) error {
	name := snapshotName(n)
	data, err := j.folder.Read(name)
	if err != nil {
		return err
	}
	good, ended, err := read(data, func(r []byte) error { return replay(r, false) })
	if err == nil && (good != len(data) || !ended) {
		err = fmt.Errorf("%w: it ends at byte %d of %d without its end mark", ErrDamaged, good, len(data))
	}
	if err != nil {
		return fmt.Errorf("%s/%s: %w", j.folder, name, err)
	}
	return nil
}

// found is what is good in a log.
type found struct {
	n    uint64
	good []byte // nil: not even its header is whole
	bad  int    // bytes behind that
}

// readLogs reads logs and opens the last one for more. A log is begun when all of the one before is on disk, unless that beginning failed, and the log before went
// on: so the last log with frames in it may end in one that was not written to its end, which is cut off, and no other.
func (j *Journal) readLogs(logs []uint64, replay Replay) error {
	var last found // with frames
	var end found
	for i, n := range logs {
		f, err := j.readLog(n, replay)
		if err != nil {
			return err
		}
		if len(f.good) > headerSize || i == 0 {
			if i > 0 && (last.n != n-1 || len(last.good) <= headerSize || last.bad > 0) {
				return fmt.Errorf("%s/%s: %w: bad bytes at %d, or nothing, though a newer log has more", j.folder, logName(last.n), ErrDamaged, len(last.good))
			}
			last = f
		}
		end = f
	}
	if last.n != end.n {
		file, err := j.settle(last)
		if err != nil {
			return err
		}
		file.Close() // it is on disk
	}
	if end.good == nil { // the end came while the log was made: nothing was ever in it
		j.begin(end.n)
		return nil
	}
	file, err := j.settle(end)
	if err != nil {
		return err
	}
	j.use(file, end.n, slices.Clone(saltOf(end.good)), len(end.good))
	return nil
}

func (j *Journal) readLog(n uint64, replay Replay) (found, error) {
	data, err := j.folder.Read(logName(n))
	if err != nil {
		return found{}, err
	}
	good, _, err := read(data, func(r []byte) error { return replay(r, true) })
	if err != nil {
		return found{}, fmt.Errorf("%s/%s: %w", j.folder, logName(n), err)
	}
	if good < headerSize {
		return found{n: n}, nil
	}
	return found{n: n, good: data[:good], bad: len(data) - good}, nil
}

// settle makes durable what was read of a log, and nothing else of it. The bytes are written again: of those that an fsync(2) failed for, the next one need not
// know.
func (j *Journal) settle(f found) (disk.File, error) {
	file, err := j.folder.Open(logName(f.n))
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(f.good); err == nil {
		err = errors.Join(file.Truncate(int64(len(f.good))), file.Sync())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
