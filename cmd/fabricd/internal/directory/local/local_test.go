package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/directory/disk"
	"gofabric/cmd/fabricd/internal/directory/disk/paper"
	"gofabric/cmd/fabricd/internal/directory/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	root  = store.Caller{All: true}
	alice = store.Caller{UID: 1000}
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Folder: folder(t, dir), Grace: 30 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// folder opens a folder of the system's; none, if dir is "".
func folder(t testing.TB, dir string) disk.Folder {
	t.Helper()
	if dir == "" {
		return nil
	}
	f, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func name(i int, ttl time.Duration) store.Request {
	return store.Request{Kind: store.Names, Key: fmt.Sprint("job/", i), Value: fmt.Appendf(nil, "10.0.0.1:%d", i), TTL: ttl}
}

// TestRestart copies the folder while eight writers are at work, as if the machine ended there: what was acknowledged before the copy is in it.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var mu sync.Mutex
	acknowledged := map[string]uint64{}
	var writers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for w := range 8 {
		writers.Go(func() {
			for i := 0; i < 500 && ctx.Err() == nil; i++ { // less than calls for a snapshot, whose files a copy could miss
				e, err := s.Put(t.Context(), alice, name(i*8+w, time.Hour))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[e.Key] = e.Revision
				mu.Unlock()
			}
		})
	}
	for range 5 {
		mu.Lock()
		want := len(acknowledged) + 100
		mu.Unlock()
		for n := 0; n < want && n < 4000; {
			mu.Lock()
			n = len(acknowledged)
			mu.Unlock()
			time.Sleep(time.Millisecond) // until the writers have come further
		}
		mu.Lock()
		before := map[string]uint64{}
		for k, r := range acknowledged {
			before[k] = r
		}
		mu.Unlock()
		crashed := t.TempDir()
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		again := open(t, crashed)
		for k, r := range before {
			if e, err := again.Get(t.Context(), root, store.Names, k); err != nil || e.Revision < r || e.Lease == "" {
				t.Fatalf("%s, acknowledged at revision %d, is %+v, %v", k, r, e, err)
			}
		}
		again.Close()
	}
	cancel()
	writers.Wait()
}

// TestSnapshots: enough is written for several snapshots, which a restart needs.
func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	value := make([]byte, store.MaxValue)
	for i := range 80 {
		_, err := s.Put(t.Context(), alice, store.Request{Kind: store.Values, Key: fmt.Sprint(i % 3), Value: value})
		if err != nil {
			t.Fatal(err)
		}
	}
	last, err := s.Delete(t.Context(), alice, store.Values, "0")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if found, _ := filepath.Glob(filepath.Join(dir, "snapshot-*")); len(found) == 0 {
		t.Error("no snapshot was written")
	}
	size := int64(0)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 16<<20 {
		t.Errorf("the folder has %d bytes for 512 KiB of values", size)
	}
	s = open(t, dir)
	list, err := s.List(t.Context(), root, store.Values, "", "", 10)
	if err != nil || len(list.Entries) != 2 || list.Revision != last {
		t.Errorf("after a restart: %d entries at revision %d, want 2 at %d; %v", len(list.Entries), list.Revision, last, err)
	}
}

// TestHistory: a watcher goes on where it was though the daemon was started anew.
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

// TestExpiry: names end when nobody renews them, and watchers hear of it.
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
			t.Errorf("a lease that ended is renewed: %v", err)
		}
		s.Close()
	})
}

// full lets no file of this process become longer than the log in dir and a few bytes, as a full disk would; the function it returns makes room again.
func full(t *testing.T, dir string) (room func()) {
	t.Helper()
	log, err := os.Stat(filepath.Join(dir, "log-0000000000000001"))
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ) // or it ends the process, setrlimit(2)
	var had unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &had); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(log.Size()) + 4, Max: had.Max}); err != nil {
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

// TestDiskFull: while the disk takes nothing, changes are refused and leave no trace, and all else goes on; when it has room again, changes are taken again,
// watchers miss nothing, and a restart finds what was acknowledged.
func TestDiskFull(t *testing.T) {
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
	room := full(t, dir) // a part of a change fits, and no snapshot
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
		t.Error("nothing is said of the disk")
	}
	if got, err := s.Get(t.Context(), root, store.Names, "job/1"); err != nil || string(got.Value) != string(before.Value) || got.Lease != before.Lease || got.Revision != before.Revision {
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
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // until it is tried again
		_, err := s.Put(t.Context(), alice, name(5, time.Hour))
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrDown) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if err := s.Trouble(); err != nil {
		t.Errorf("still in trouble: %v", err)
	}
	if events, at, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Key != "job/5" || at != before.Revision+2 {
		t.Errorf("the watch told %v up to %d, %v", events, at, err)
	}
	s.Close()
	mustHave(t, open(t, dir), acknowledged)
}

// old is a disk that has no more logs than one.
type old struct {
	*paper.Disk
	asked *int
}

func (d old) Create(name string) (disk.File, error) {
	if *d.asked++; *d.asked > 1 {
		return nil, unix.ENOSPC
	}
	return d.Disk.Create(name)
}

// TestNoNewLog: where no new log can be begun the old one goes on, and a new one is tried when that has grown, not with every change.
func TestNoNewLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := old{paper.New(1), new(int)}
		s, err := Open(Options{Folder: d, Log: slog.New(slog.DiscardHandler), snapshotMin: 5000})
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if _, err := s.Put(t.Context(), alice, name(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		size := s.journal.Size()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if most := 1 + int(size/5000); *d.asked < 2 || *d.asked > most {
			t.Errorf("%d logs were tried for %d bytes, want 2 to %d", *d.asked, size, most)
		}
	})
}

// stuck is a disk that takes nothing until it is let go.
type stuck struct {
	*paper.Disk
	hold chan struct{}
}

func (d stuck) Create(name string) (disk.File, error) {
	f, err := d.Disk.Create(name)
	return stuckFile{f, d.hold}, err
}

type stuckFile struct {
	disk.File
	hold chan struct{}
}

func (f stuckFile) Write(b []byte) (int, error) {
	if len(b) > 100 { // not the beginning of a log
		<-f.hold
	}
	return f.File.Write(b)
}

// TestStuck: on a disk that takes for ever, callers are told so after their time, and what they leave behind has a bound; when it goes on, so does everything.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := stuck{paper.New(1), make(chan struct{})}
		s, err := Open(Options{Folder: d, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		value := make([]byte, store.MaxValue)
		put := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.Put(ctx, alice, store.Request{Kind: store.Values, Key: "job", Value: value})
			return err
		}
		for range 2 * maxWaiting / len(value) {
			if err := put(); !errors.Is(err, store.ErrDown) {
				t.Fatalf("the disk is stuck: %v", err)
			}
		}
		s.mu.Lock()
		if n := s.batch.bytes; n < maxWaiting || n > maxWaiting+2*store.MaxValue {
			t.Errorf("%d bytes wait for the disk", n)
		}
		s.mu.Unlock()
		close(d.hold)
		synctest.Wait()
		if err := put(); err != nil {
			t.Errorf("the disk goes on: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func mustHave(t *testing.T, s *Store, want []string) {
	t.Helper()
	list, err := s.List(t.Context(), root, store.Names, "", "", 100)
	var got []string
	for i := range list.Entries {
		got = append(got, list.Entries[i].Key)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v; %v", got, want, err)
	}
}

func BenchmarkPut(b *testing.B) {
	s, err := Open(Options{Folder: folder(b, b.TempDir()), Log: slog.New(slog.DiscardHandler)})
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
