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

// try opens a store, or says why not.
func try(dir string) (*Store, error) {
	return Open(Options{Folder: dir, Grace: time.Hour, Log: slog.New(slog.DiscardHandler)})
}

// contents is what a store has: revisions by key, and the history.
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

// written is the file of a store with entries short and long, on branch and leaf pages, with free pages and history.
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

// TestDamage damages a file: one bit, a page of zeros, one page in the place of another, the end cut off. Either
// that stops the start, with the name of the file; or the damage is where nothing is, and everything is there.
func TestDamage(t *testing.T) {
	data, all, history := written(t)
	r := rand.New(rand.NewPCG(3, 4))
	pages := len(data) / pageSize
	flips := 500
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
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // bbolt keeps what it panicked at
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
			t.Errorf("%s was not noticed: %d entries, want %d", what, len(now), len(all))
		}
		s.Close()
	}
	t.Logf("%d pages, %d damages, %d noticed", pages, len(damages), refused)
	if refused < len(damages)/3 {
		t.Errorf("only %d of %d damages were noticed", refused, len(damages))
	}
}

// TestMissing: changes that are taken out of the file by a program that knows how are missed; so are ones that came
// back.
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

// TestCutWhileOpen: the file is truncated while it is open, which is a memory fault in its mapping. The daemon
// survives, and writes everything anew.
func TestCutWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	putAll(t, s, 300, func(i int) store.Request { return name(i, 0) })
	if err := os.Truncate(filepath.Join(dir, dbName), pageSize); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), alice, name(1000, 0)); !errors.Is(err, store.ErrDown) {
		t.Errorf("a change in a file that is cut: %v", err)
	}
	untilTaken(t, s, name(1001, 0))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if list, err := open(t, dir).List(t.Context(), root, store.Names, "", "", 1000); err != nil || len(list.Entries) != 301 {
		t.Errorf("%d entries, %v", len(list.Entries), err)
	}
}

// untilTaken makes a change again and again until the disk takes it.
func untilTaken(t *testing.T, s *Store, r store.Request) {
	t.Helper()
	wait.Until(t, "the disk takes a change", func() bool { // when it is tried again
		_, err := s.Put(t.Context(), alice, r)
		if err != nil && !errors.Is(err, store.ErrDown) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestLocked: one daemon has a folder.
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

// TestLockedFile: a program that has the file open with bbolt, as bbolt's own tool, keeps the daemon out as well.
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

// TestOldFormat: the logs of an older fabricd are not passed over, and not touched.
func TestOldFormat(t *testing.T) {
	for _, name := range []string{"log-0000000000000001", "snapshot-0000000000000002"} {
		dir := t.TempDir()
		old := filepath.Join(dir, name)
		if err := os.WriteFile(old, []byte("fabrdir1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := try(dir); !errors.Is(err, ErrOldFormat) || !strings.Contains(err.Error(), old) || !strings.Contains(err.Error(), "move log-*") {
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
