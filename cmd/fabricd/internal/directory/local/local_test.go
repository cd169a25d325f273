package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/directory/store"
)

func TestMain(m *testing.M) {
	if asVictim() {
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var (
	root  = store.Caller{All: true}
	alice = store.Caller{UID: 1000}
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Folder: dir, Grace: 30 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func name(i int, ttl time.Duration) store.Request {
	return store.Request{Kind: store.Names, Key: fmt.Sprint("job/", i), Value: fmt.Appendf(nil, "10.0.0.1:%d", i), TTL: ttl}
}

// putAll makes n changes, many at the same time.
func putAll(t *testing.T, s *Store, n int, request func(i int) store.Request) {
	t.Helper()
	var callers sync.WaitGroup
	next := make(chan int)
	for range 64 {
		callers.Go(func() {
			for i := range next {
				if _, err := s.Put(t.Context(), alice, request(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	callers.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// TestHistory: a watcher continues at its position after a restart of the daemon.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 10 {
		if _, err := s.Put(t.Context(), alice, name(i, 0)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	s = open(t, dir)
	w, err := s.Watch(t.Context(), root, store.Names, "", 4)
	if err != nil {
		t.Fatal(err)
	}
	if events, at, err := w.Next(t.Context()); err != nil || len(events) != 6 || events[0].Key != "job/4" || at != 10 {
		t.Errorf("%d events, at %d, %v", len(events), at, err)
	}
}

// TestExpiry: names without renewal expire, and watchers get the change.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "")
		begin := time.Now()
		e, err := s.Put(t.Context(), alice, name(1, 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Watch(t.Context(), root, store.Names, "", e.Revision)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second)
		if _, err := s.Renew(t.Context(), alice, e.Lease); err != nil {
			t.Fatal(err)
		}
		events, _, err := w.Next(t.Context())
		if err != nil || len(events) != 1 || events[0].Type != store.Expired || time.Since(begin) != 17*time.Second {
			t.Errorf("after %v: %v, %v", time.Since(begin), events, err)
		}
		if _, err := s.Renew(t.Context(), alice, e.Lease); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Renew of an ended lease: %v", err)
		}
		s.Close()
	})
}

// envFull marks a process whose disk becomes full.
const envFull = "FABRICD_TEST_FULL"

// full keeps this process from writing beyond the first page of any file, like a full disk. The function that it
// returns ends this.
func full(t *testing.T) (room func()) {
	t.Helper()
	signal.Ignore(unix.SIGXFSZ) // otherwise the signal ends the process (setrlimit(2))
	var had unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &had); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: pageSize, Max: had.Max}); err != nil {
		t.Fatal(err)
	}
	room = sync.OnceFunc(func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &had); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(room)
	return room
}

// TestDiskFull: while the disk is full, changes are refused and have no effect, and all other calls work. When the
// disk has room again, changes are accepted, watchers miss nothing, and a restart finds the acknowledged changes.
func TestDiskFull(t *testing.T) {
	if os.Getenv(envFull) == "" { // a separate process, because go test writes a file of its own in this one
		cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
		cmd.Env = append(os.Environ(), envFull+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestDiskFull") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	dir := t.TempDir()
	s := open(t, dir)
	var acknowledged []string
	for i := 1; i < 3; i++ {
		if _, err := s.Put(t.Context(), alice, name(i, time.Hour)); err != nil {
			t.Fatal(err)
		}
		acknowledged = append(acknowledged, name(i, 0).Key)
	}
	w, err := s.Watch(t.Context(), root, store.Names, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Get(t.Context(), root, store.Names, "job/1")
	if err != nil {
		t.Fatal(err)
	}
	usage := s.Usage()
	room := full(t)
	for range 3 {
		if _, err := s.Put(t.Context(), alice, name(9, time.Hour)); !errors.Is(err, store.ErrDown) {
			t.Errorf("put with a full disk: %v", err)
		}
		if _, err := s.Put(t.Context(), alice, store.Request{Kind: store.Names, Key: "job/1", Value: []byte("new")}); !errors.Is(err, store.ErrDown) {
			t.Errorf("change with a full disk: %v", err)
		}
		if _, err := s.Delete(t.Context(), alice, store.Names, "job/2"); !errors.Is(err, store.ErrDown) {
			t.Errorf("delete with a full disk: %v", err)
		}
	}
	if s.Trouble() == nil {
		t.Error("the store does not report the full disk")
	}
	if got, err := s.Get(t.Context(), root, store.Names, "job/1"); err != nil ||
		string(got.Value) != string(before.Value) || got.Lease != before.Lease || got.Revision != before.Revision {
		t.Errorf("job/1 was %+v, and is %+v, %v", before, got, err)
	}
	if got := s.Usage(); got != usage {
		t.Errorf("usage was %+v, and is %+v", usage, got)
	}
	if _, err := s.Renew(t.Context(), alice, before.Lease); err != nil {
		t.Errorf("a lease cannot be renewed: %v", err)
	}
	mustHave(t, s, acknowledged)
	room()
	acknowledged = append(acknowledged, "job/5")
	untilTaken(t, s, name(5, time.Hour))
	if err := s.Trouble(); err != nil {
		t.Errorf("the store still reports trouble: %v", err)
	}
	if events, at, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Key != "job/5" ||
		at != before.Revision+2 {
		t.Errorf("the watch returned %v up to %d, %v", events, at, err)
	}
	s.Close()
	mustHave(t, open(t, dir), acknowledged)
}

// TestStuck: a write to the disk does not end. Callers get an error after their time-out, and the changes that wait
// have a bound. When the disk works again, one transaction writes all changes that have gathered.
func TestStuck(t *testing.T) {
	s := open(t, t.TempDir())
	value := make([]byte, store.MaxValue)
	put := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := s.Put(ctx, alice, store.Request{Kind: store.Values, Key: "job", Value: value})
		return err
	}
	stuck, err := s.file.db.Begin(true) // bbolt allows one write transaction at a time
	if err != nil {
		t.Fatal(err)
	}
	before := stuck.ID()
	for range 2 * maxWaiting / len(value) {
		if err := put(100 * time.Microsecond); !errors.Is(err, store.ErrDown) {
			t.Fatalf("Put while the disk is stuck: %v", err)
		}
	}
	s.mu.Lock()
	if n := s.batch.bytes; n < maxWaiting || n > maxWaiting+2*store.MaxValue {
		t.Errorf("%d bytes wait for the disk", n)
	}
	s.mu.Unlock()
	if err := stuck.Rollback(); err != nil {
		t.Fatal(err)
	}
	for err := put(time.Minute); err != nil; err = put(time.Minute) { // until the waiting changes are written
		if !errors.Is(err, store.ErrDown) {
			t.Fatal(err)
		}
		s.mu.Lock()
		b := s.last
		s.mu.Unlock()
		<-b.done
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := transactions(t, s.opt.Folder) - uint64(before); n > 4 {
		t.Errorf("%d transactions", n)
	}
}

// transactions returns the number of transactions in a file that is not open.
func transactions(t *testing.T, dir string) (n uint64) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, dbName), 0, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bbolt.Tx) error { n = uint64(tx.ID()); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGroupedChanges: one transaction writes all changes that arrive while the disk is busy, and each is acknowledged.
func TestGroupedChanges(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	busy, err := s.file.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	before := uint64(busy.ID()) - 1
	const n = 500
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			if _, err := s.Put(t.Context(), alice, name(i, time.Hour)); err != nil {
				t.Error(err)
			}
		})
	}
	for decided := uint64(0); decided < n; runtime.Gosched() { // until all changes wait for the disk
		s.mu.Lock()
		decided = s.table.Revision()
		s.mu.Unlock()
	}
	if err := busy.Rollback(); err != nil {
		t.Fatal(err)
	}
	callers.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := transactions(t, dir) - before; took < 1 || took > 2 { // one transaction may have begun before the other changes arrived
		t.Errorf("%d changes took %d transactions", n, took)
	}
	if list, err := open(t, dir).List(t.Context(), root, store.Names, "", "", 2*n); err != nil ||
		len(list.Entries) != n {
		t.Errorf("%d entries, %v", len(list.Entries), err)
	}
}

func mustHave(t *testing.T, s *Store, want []string) {
	t.Helper()
	list, err := s.List(t.Context(), root, store.Names, "", "", 100)
	var got []string
	for i := range list.Entries {
		got = append(got, list.Entries[i].Key)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the store has %v, want %v; %v", got, want, err)
	}
}

func BenchmarkPut(b *testing.B) {
	s, err := Open(Options{Folder: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var next sync.Mutex
	i := 0
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			next.Lock()
			i++
			n := i
			next.Unlock()
			if _, err := s.Put(b.Context(), root, name(n%10000, time.Hour)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
