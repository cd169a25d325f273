package local

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// try opens a store, or returns the reason why it cannot.
func try(dir string) (*Store, error) {
	return Open(Options{Folder: dir, Grace: time.Hour, Log: slog.New(slog.DiscardHandler)})
}

// contents returns the contents of a store: revisions by key, and the history.
func contents(t *testing.T, s *Store) (all map[string]uint64, history string) {
	t.Helper()
	all = map[string]uint64{}
	for _, e := range s.table.All() {
		all[e.Key+string(e.Value)] = e.Revision
	}
	w, err := s.feed.Watch(root, store.Values, "", s.feed.Revision()-100)
	if err != nil {
		t.Fatal(err)
	}
	for w.At() < s.feed.Revision() {
		events, _, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		history += fmt.Sprint(events)
	}
	return all, history
}

// written returns the file of a store with short and long entries, on branch and leaf pages, with free pages and
// history.
func written(t *testing.T) (data []byte, all map[string]uint64, history string) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		key := fmt.Sprint("job/", r.IntN(200))
		size := 10 + r.IntN(100)
		if i%50 == 0 {
			size = 10_000
		}
		if _, err := s.Put(t.Context(), alice, store.Request{Kind: store.Values, Key: key, Value: []byte(strings.Repeat("v", size))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Delete(t.Context(), alice, store.Values, "job/1"); err != nil {
		t.Fatal(err)
	}
	all, history = contents(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	return data, all, history
}

// TestDamage damages a file: it flips one bit, clears a page, puts one page in the place of another, or cuts the
// end off. Then either the store refuses to start and names the file, or the damage is in an unused place and the
// contents are complete.
func TestDamage(t *testing.T) {
	data, all, history := written(t)
	r := rand.New(rand.NewPCG(3, 4))
	pages := len(data) / pageSize
	flips := 150
	if need.Many() {
		flips = 20_000
	}
	damages := map[string]func([]byte) []byte{}
	for range flips {
		at, bit := r.IntN(len(data)), r.IntN(8)
		if r.IntN(2) == 0 {
			at = at/pageSize*pageSize + r.IntN(256) // heads of pages and elements
		}
		damages[fmt.Sprintf("bit %d of byte %d", bit, at)] = func(b []byte) []byte { b[at] ^= 1 << bit; return b }
	}
	for p := range pages {
		damages[fmt.Sprint("zeros in page ", p)] = func(b []byte) []byte { clear(b[p*pageSize : (p+1)*pageSize]); return b }
		damages[fmt.Sprint("the end at page ", p)] = func(b []byte) []byte { return b[:p*pageSize] }
		damages[fmt.Sprint("the end within page ", p)] = func(b []byte) []byte { return b[:p*pageSize+r.IntN(pageSize)] }
		other := r.IntN(pages)
		damages[fmt.Sprint("page ", other, " in the place of ", p)] = func(b []byte) []byte {
			copy(b[p*pageSize:(p+1)*pageSize], b[other*pageSize:])
			return b
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, dbName)
	refused := 0
	for what, damage := range damages {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // after a panic bbolt keeps the file open
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damage(append([]byte(nil), data...)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := try(dir)
		if err != nil {
			refused++
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), dbName) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if now, told := contents(t, s); !maps.Equal(now, all) || told != history {
			t.Errorf("the store did not notice %s: %d entries, want %d", what, len(now), len(all))
		}
		s.Close()
	}
	t.Logf("%d pages, %d damages, %d refused", pages, len(damages), refused)
	if refused < len(damages)/3 {
		t.Errorf("only %d of %d damages were refused", refused, len(damages))
	}
}

// TestMissing: a program changes the file with bbolt, and removes changes or brings old ones back. The store
// notices both.
func TestMissing(t *testing.T) {
	data, _, _ := written(t)
	for what, f := range map[string]func(changes *bbolt.Bucket) error{
		"first": func(b *bbolt.Bucket) error { k, _ := b.Cursor().First(); return b.Delete(k) },
		"last":  func(b *bbolt.Bucket) error { k, _ := b.Cursor().Last(); return b.Delete(k) },
		"swapped": func(b *bbolt.Bucket) error {
			k, v := b.Cursor().First()
			_, w := b.Cursor().Last()
			if string(v) == string(w) {
				return fs.ErrInvalid
			}
			return b.Put(k, append([]byte(nil), w...))
		},
		"more": func(b *bbolt.Bucket) error {
			return b.Put(keyOf(1<<40), seal(store.AppendRecord(nil, &store.Event{Type: store.Put, Entry: store.Entry{Kind: store.Names, Key: "x", Revision: 1 << 40}})))
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, dbName)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(path, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(func(tx *bbolt.Tx) error { return f(tx.Bucket(changesBucket)) }), db.Close()); err != nil {
				t.Fatal(err)
			}
			if s, err := try(dir); !errors.Is(err, ErrDamaged) {
				t.Errorf("%v", err)
				s.Close()
			}
		})
	}
}

// TestCutWhileOpen: the file is truncated while it is open, which causes a memory fault in its mapping. The daemon
// survives, and writes all entries to a new file.
func TestCutWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	putAll(t, s, 300, func(i int) store.Request { return name(i, 0) })
	if err := os.Truncate(filepath.Join(dir, dbName), pageSize); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), alice, name(1000, 0)); !errors.Is(err, store.ErrDown) {
		t.Errorf("a change in a truncated file: %v", err)
	}
	untilTaken(t, s, name(1001, 0))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if list, err := open(t, dir).List(t.Context(), root, store.Names, "", "", 1000); err != nil ||
		len(list.Entries) != 301 {
		t.Errorf("%d entries, %v", len(list.Entries), err)
	}
}

// untilTaken repeats a change until the disk accepts it.
func untilTaken(t *testing.T, s *Store, r store.Request) {
	t.Helper()
	wait.Until(t, "the disk accepts a change", func() bool {
		_, err := s.Put(t.Context(), alice, r)
		if err != nil && !errors.Is(err, store.ErrDown) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestLocked: only one daemon can use a folder.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := try(dir); err == nil || !strings.Contains(err.Error(), "in use by another fabricd") {
		t.Errorf("a second daemon: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, err := try(dir); err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Errorf("a second daemon, without %s: %v", lockName, err)
	}
	if _, err := s.Put(t.Context(), alice, name(1, 0)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	mustHave(t, open(t, dir), []string{"job/1"})
}

// TestLockedFile: a program that has the file open with bbolt, such as bbolt's own tool, also keeps a daemon from
// starting.
func TestLockedFile(t *testing.T) {
	dir := t.TempDir()
	open(t, dir).Close()
	db, err := bbolt.Open(filepath.Join(dir, dbName), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := try(dir); err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Errorf("%v", err)
	}
}

// TestOldFormat: the store reports the logs of an older fabricd, and does not change them.
func TestOldFormat(t *testing.T) {
	for _, name := range []string{"log-0000000000000001", "snapshot-0000000000000002"} {
		dir := t.TempDir()
		old := filepath.Join(dir, name)
		if err := os.WriteFile(old, []byte("fabrdir1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := try(dir); !errors.Is(err, ErrOldFormat) || !strings.Contains(err.Error(), old) ||
			!strings.Contains(err.Error(), "move log-*") {
			t.Errorf("%v", err)
		}
		if data, err := os.ReadFile(old); err != nil || string(data) != "fabrdir1" {
			t.Errorf("%q, %v", data, err)
		}
		if err := os.Remove(old); err != nil {
			t.Fatal(err)
		}
		open(t, dir)
	}
}
