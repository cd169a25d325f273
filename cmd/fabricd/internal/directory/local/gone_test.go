package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/directory/disk"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// TestLogRemoved: somebody removes the log that is written to, or all files. The next change is not acknowledged into nowhere; everything is written anew, and is there
// after a restart.
func TestLogRemoved(t *testing.T) {
	for _, what := range []string{"log-*", "*-*"} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			for i := range 3 {
				if _, err := s.Put(t.Context(), alice, name(i, time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, what))
			if err != nil || len(files) == 0 {
				t.Fatalf("%v, %v", files, err)
			}
			for _, f := range files {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Put(t.Context(), alice, name(3, time.Hour)); !errors.Is(err, store.ErrDown) || !errors.Is(err, disk.ErrGone) {
				t.Errorf("a change that no file has: %v", err)
			}
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // until it is tried again
				_, err := s.Put(t.Context(), alice, name(4, time.Hour))
				if err == nil {
					break
				}
				if !errors.Is(err, store.ErrDown) || time.Now().After(end) {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			mustHave(t, open(t, dir), []string{"job/0", "job/1", "job/2", "job/4"})
		})
	}
}
