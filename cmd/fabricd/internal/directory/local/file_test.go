package local

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/cmd/fabricd/internal/directory/table"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// mirror is a table and the file of its changes, used as a store uses them.
type mirror struct {
	t     *testing.T
	dir   string
	table *table.Table
	file  *file
	past  []store.Event // all changes since the last rewrite
}

func (m *mirror) open() {
	m.t.Helper()
	f, err := openFile(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	now := time.Now()
	again, history := table.New(store.Limits{}), []store.Event(nil)
	found, err := f.read(func(e store.Event) { again.Apply(now, e); history = remember(history, e) })
	if err != nil {
		m.t.Fatal(err)
	}
	m.file = f
	if !found {
		m.rewrite()
		return
	}
	again.Begin(f.state.revision)
	f.live(again.All())
	if got, want := again.All(), m.table.All(); !reflect.DeepEqual(got, want) ||
		again.Revision() != m.table.Revision() {
		m.t.Fatalf("%d entries at revision %d, want %d at %d",
			len(got), again.Revision(), len(want), m.table.Revision())
	}
	want := m.past[max(0, len(m.past)-recall):]
	if len(history) < len(want) || len(want) > 0 && !reflect.DeepEqual(history[len(history)-len(want):], want) {
		m.t.Fatalf("the file returns %d changes, want the last %d", len(history), len(want))
	}
	if bound := len(again.All()) + recall; f.state.count > uint64(bound) {
		m.t.Fatalf("%d changes are kept, more than %d", f.state.count, bound)
	}
}

func (m *mirror) rewrite() {
	m.t.Helper()
	if err := m.file.rewrite(m.table.All(), m.table.Revision()); err != nil {
		m.t.Fatal(err)
	}
	m.past = nil
}

// batch makes n changes, and writes them together.
func (m *mirror) batch(r *rand.Rand, n, keys int) {
	m.t.Helper()
	var events []store.Event
	now := time.Now()
	for range n {
		key := fmt.Sprint(r.IntN(keys))
		if r.IntN(3) == 0 {
			if ev, err := m.table.Delete(now, root, store.Values, key); err == nil {
				events = append(events, ev)
			}
			continue
		}
		_, ev, err := m.table.Put(now, alice, store.Request{Kind: store.Values, Key: key, Value: make([]byte, 1+r.IntN(60))})
		if err != nil {
			m.t.Fatal(err)
		}
		events = append(events, ev)
	}
	if err := m.file.append(events, m.table.Replaced()); err != nil {
		m.t.Fatal(err)
	}
	m.past = append(m.past, events...)
}

// TestFile makes changes in batches of all sizes, more than the file recalls, over restarts and rewrites. The file
// has the entries of the table and the last changes, and no older changes that were replaced.
func TestFile(t *testing.T) {
	seeds := uint64(2)
	if need.Many() {
		seeds = 15
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &mirror{t: t, dir: t.TempDir(), table: table.New(store.Limits{})}
		m.open()
		for range 25 {
			m.batch(r, 1+r.IntN([...]int{3, 3000, 2 * recall}[r.IntN(3)]), [...]int{5, 500, 20_000}[r.IntN(3)])
			switch r.IntN(6) {
			case 0:
				m.rewrite()
			case 1:
				if err := m.file.shrink(); err != nil {
					t.Fatal(err)
				}
			case 2, 3:
				if err := m.file.close(); err != nil {
					t.Fatal(err)
				}
				m.open()
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		if err := m.file.close(); err != nil {
			t.Fatal(err)
		}
		m.open()
		if err := m.file.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLongValues: replaced values do not fill the disk, though watchers may ask for the last ones.
func TestLongValues(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	value := make([]byte, store.MaxValue)
	putAll(t, s, 1000, func(int) store.Request { return store.Request{Kind: store.Values, Key: "a", Value: value} })
	info, err := os.Stat(filepath.Join(dir, dbName))
	if err != nil || info.Size() > 64<<20 || info.Size() < recallBytes {
		t.Errorf("the file of one value has %d bytes, %v", info.Size(), err)
	}
	s.Close()
	s = open(t, dir)
	w, err := s.Watch(t.Context(), root, store.Values, "", s.table.Revision()-20)
	if err != nil {
		t.Fatal(err)
	}
	if events, _, err := w.Next(t.Context()); err != nil || len(events) != 20 {
		t.Errorf("%d changes, %v", len(events), err)
	}
}

// TestShrinks: a large file becomes small again after its contents were deleted.
func TestShrinks(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	value := make([]byte, store.MaxValue)
	putAll(t, s, 200, func(i int) store.Request {
		return store.Request{Kind: store.Values, Key: fmt.Sprint(i), Value: value}
	})
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, dbName))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size() < 200*store.MaxValue {
		t.Fatalf("%d bytes", size())
	}
	if _, _, err := s.DeletePrefix(t.Context(), alice, store.Values, ""); err != nil {
		t.Fatal(err)
	}
	putAll(t, s, recall, func(i int) store.Request { return name(i%10, 0) }) // until the file no longer recalls the deleted values
	wait.Until(t, "the file becomes small", func() bool { return size() <= 16<<20 })
	s.Close()
	list, err := open(t, dir).List(t.Context(), root, store.Names, "", "", 20)
	if err != nil || len(list.Entries) != 10 {
		t.Errorf("%d entries, %v", len(list.Entries), err)
	}
}
