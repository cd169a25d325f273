package local

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/directory/disk"
	"gofabric/cmd/fabricd/internal/directory/disk/paper"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// tight is a disk that has no room for snapshots, or whose files cannot be removed.
type tight struct {
	*paper.Disk
	full, fixed *atomic.Bool
}

func (d tight) Create(name string) (disk.File, error) {
	if d.full.Load() && strings.HasPrefix(name, "snapshot") {
		return nil, unix.ENOSPC
	}
	return d.Disk.Create(name)
}

func (d tight) Remove(name string) error {
	if d.fixed.Load() {
		return unix.EROFS
	}
	return d.Disk.Remove(name)
}

// TestOldLogs: where logs pile up, for want of a snapshot or because they cannot be removed, that is said while changes go on; when the cause is gone so are they,
// though nobody changes anything.
func TestOldLogs(t *testing.T) {
	for what, cause := range map[string]error{"no room": unix.ENOSPC, "not removed": unix.EROFS} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := tight{paper.New(1), new(atomic.Bool), new(atomic.Bool)}
				d.full.Store(cause == unix.ENOSPC)
				d.fixed.Store(cause == unix.EROFS)
				s, err := Open(Options{Folder: d, Log: slog.New(slog.DiscardHandler), snapshotMin: 5000})
				if err != nil {
					t.Fatal(err)
				}
				change := func() {
					for range 300 {
						if _, err := s.Put(t.Context(), alice, name(1, 0)); err != nil {
							t.Fatal(err)
						}
					}
					synctest.Wait()
				}
				change()
				if err := s.Trouble(); !errors.Is(err, store.ErrOldLogs) || !errors.Is(err, cause) || s.journal.Old() != logs(t, d)-1 || s.journal.Old() < 2 {
					t.Errorf("%d logs are there, %d of them old: %v", logs(t, d), s.journal.Old(), err)
				}
				d.full.Store(false)
				d.fixed.Store(false)
				time.Sleep(2 * lastRepair)
				if err := s.Trouble(); err != nil || logs(t, d) != 1 || s.journal.Old() != 0 {
					t.Errorf("the cause is gone, but %v; %d logs are there, %d of them old", err, logs(t, d), s.journal.Old())
				}
				change()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// logs counts them.
func logs(t *testing.T, d tight) (n int) {
	t.Helper()
	names, err := d.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "log-") {
			n++
		}
	}
	return n
}
