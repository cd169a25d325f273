package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// TestRemoved: the file, or all files, are removed, or the file is replaced. The store does not acknowledge the
// next change, which would be lost. It writes all entries to a new file, and has them after a restart.
func TestRemoved(t *testing.T) {
	for _, what := range []string{dbName, "*", "replaced"} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			for i := range 3 {
				if _, err := s.Put(t.Context(), alice, name(i, time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			if what == "replaced" {
				other := filepath.Join(t.TempDir(), dbName)
				if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Rename(other, filepath.Join(dir, dbName))); err != nil {
					t.Fatal(err)
				}
			} else {
				files, err := filepath.Glob(filepath.Join(dir, what))
				if err != nil || len(files) == 0 {
					t.Fatalf("%v, %v", files, err)
				}
				for _, f := range files {
					if err := os.Remove(f); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := s.Put(t.Context(), alice, name(3, time.Hour)); !errors.Is(err, store.ErrDown) ||
				!errors.Is(err, ErrGone) {
				t.Errorf("a change without a file: %v", err)
			}
			untilTaken(t, s, name(4, time.Hour))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			mustHave(t, open(t, dir), []string{"job/0", "job/1", "job/2", "job/4"})
		})
	}
}
