package local

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/cmd/fabricd/internal/directory/table"
)

// The file has two buckets. changes has a record of each entry and of the last changes (past), under its revision
// (8 bytes, big-endian). Each record ends with a CRC-32C. Read in order, the records give the table, and the
// history for watchers after a restart. state describes the set of records, so that a missing one is detected.
var (
	changesBucket = []byte("changes")
	stateBucket   = []byte("state")
	stateKey      = []byte("1") // version of this format
)

// state describes the records in the file.
type state struct {
	revision uint64 // of the last change
	count    uint64 // records
	sum      uint64 // of their revisions; it distinguishes an old page from a new one
}

const stateSize = 3 * 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends a checksum to b.
func seal(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// sealed returns the argument of seal, or false if the checksum is wrong.
func sealed(b []byte) ([]byte, bool) {
	n := len(b) - 4
	if n < 0 || binary.BigEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil, false
	}
	return b[:n], true
}

func (s *state) encode() []byte {
	b := make([]byte, 0, stateSize+4)
	for _, v := range [...]uint64{s.revision, s.count, s.sum} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return seal(b)
}

func (s *state) decode(b []byte) bool {
	b, ok := sealed(b)
	if !ok || len(b) != stateSize {
		return false
	}
	s.revision, s.count, s.sum = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	return true
}

func keyOf(revision uint64) []byte { return binary.BigEndian.AppendUint64(nil, revision) }

// writer changes the file in one transaction.
type writer struct {
	changes *bbolt.Bucket
	states  *bbolt.Bucket
	state   state
}

func newWriter(tx *bbolt.Tx, s state) (*writer, error) {
	w := &writer{changes: tx.Bucket(changesBucket), states: tx.Bucket(stateBucket), state: s}
	if w.changes == nil || w.states == nil {
		return nil, fmt.Errorf("%w: a bucket is missing", ErrDamaged)
	}
	w.changes.FillPercent = 1 // revisions are in order: no key is inserted between existing ones
	return w, nil
}

func (w *writer) put(e *store.Event) error {
	w.state.count++
	w.state.sum += e.Revision
	w.state.revision = max(w.state.revision, e.Revision)
	return w.changes.Put(keyOf(e.Revision), seal(store.AppendRecord(nil, e)))
}

func (w *writer) remove(revision uint64) error {
	key := keyOf(revision)
	if w.changes.Get(key) == nil {
		return fmt.Errorf("%w: revision %d is missing", ErrDamaged, revision)
	}
	w.state.count--
	w.state.sum -= revision
	return w.changes.Delete(key)
}

func (w *writer) end() error { return w.states.Put(stateKey, w.state.encode()) }

// writeAll writes entries to a new file, in pieces.
func writeAll(db *bbolt.DB, entries []*store.Entry, st *state) error {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b *store.Entry) int { return cmp.Compare(a.Revision, b.Revision) })
	for first := true; first || len(entries) > 0; first = false {
		n := 0
		for size := int64(0); n < len(entries) && size < piece; n++ {
			size += entries[n].Size()
		}
		if err := db.Update(func(tx *bbolt.Tx) error { return writeEntries(tx, entries[:n], st) }); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// writeEntries writes entries to a new file, after those that st describes.
func writeEntries(tx *bbolt.Tx, entries []*store.Entry, st *state) error {
	for _, name := range [...][]byte{changesBucket, stateBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	w, err := newWriter(tx, *st)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.put(&store.Event{Type: store.Put, Entry: *e}); err != nil {
			return err
		}
	}
	*st = w.state
	return w.end()
}

var errFailedBefore = errors.New("it failed before, and has not been written again")

// append writes changes in one transaction, and returns when they are on disk. After an error the next call must be
// rewrite.
func (f *file) append(events []store.Event, replaced []table.Replaced) error {
	if f.db == nil {
		return fmt.Errorf("%s: %w", dbName, errFailedBefore)
	}
	var after state
	err := guarded(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			w, err := newWriter(tx, f.state)
			if err != nil {
				return err
			}
			if err := f.change(w, events, replaced); err != nil {
				return err
			}
			after = w.state
			return w.end()
		})
	})
	if err == nil {
		err = f.stillThere()
	}
	if err != nil {
		return errors.Join(err, f.drop(err))
	}
	f.state = after
	return nil
}

// change writes events. It removes the entries that they replaced, and records that are too old.
func (f *file) change(w *writer, events []store.Event, replaced []table.Replaced) error {
	for i := range events {
		e := &events[i]
		if err := f.past.reach(e.Revision, w.remove); err != nil {
			return err
		}
		if err := w.put(e); err != nil {
			return err
		}
		if e.Type != store.Put {
			f.past.add(e.Revision, e.Size())
		}
	}
	for i := range replaced {
		old := replaced[i].Old()
		switch {
		case old == nil:
		case old.Revision > f.past.floor:
			f.past.add(old.Revision, old.Size())
		default:
			if err := w.remove(old.Revision); err != nil {
				return err
			}
		}
	}
	return f.past.reach(w.state.revision, w.remove)
}

// load calls apply for the records in the file.
func (f *file) load(tx *bbolt.Tx, apply func(store.Event)) error {
	w, err := newWriter(tx, state{})
	if err != nil {
		return err
	}
	var want state
	if !want.decode(w.states.Get(stateKey)) {
		return fmt.Errorf("%w: its state", ErrDamaged)
	}
	f.past.floor = max(want.revision, recall) - recall
	var have state
	err = w.changes.ForEach(func(key, value []byte) error {
		record, ok := sealed(value)
		if !ok || len(key) != 8 {
			return fmt.Errorf("%w: the checksum of revision %x is wrong", ErrDamaged, key)
		}
		e, err := store.ParseRecord(record)
		if err != nil || e.Revision != binary.BigEndian.Uint64(key) {
			return fmt.Errorf("%w: revision %x: %w", ErrDamaged, key, errors.Join(err, errRecord))
		}
		have.count, have.sum, have.revision = have.count+1, have.sum+e.Revision, e.Revision
		if e.Revision > f.past.floor {
			f.past.add(e.Revision, e.Size()) // live removes entries again
		}
		apply(e)
		return nil
	})
	if err != nil {
		return err
	}
	if have.count != want.count || have.sum != want.sum || have.revision > want.revision {
		return fmt.Errorf("%w: it has %d changes up to revision %d, and should have %d up to %d", ErrDamaged, have.count, have.revision, want.count, want.revision)
	}
	f.state = want
	return nil
}

var errRecord = errors.New("its content is not valid")

// live marks the loaded changes that are entries.
func (f *file) live(entries []*store.Entry) {
	for _, e := range entries {
		f.past.keep(e.Revision)
	}
}
