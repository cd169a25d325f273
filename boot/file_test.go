package boot

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder: the last process to leave removes the folder, and the name may be used again.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		errs := together(t, 3, func(int) Config { return Config{Dir: dir, Name: "../j/x"} },
			func(ctx context.Context, j *Job) error { return j.Fence(ctx) })
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
			t.Fatal(list, err)
		}
	}
}

// TestForeignFolder: a folder that other users may write to is refused, and so is a symbolic link in its place.
func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gofabric-"+fileName("j"))
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), Config{Dir: dir, Name: "j", Size: 2}); err == nil ||
		!strings.Contains(err.Error(), "no other user") {
		t.Error(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), Config{Dir: dir, Name: "j", Size: 2}); err == nil ||
		!strings.Contains(err.Error(), "no other user") {
		t.Error(err)
	}
}

// TestLeft: a fence does not wait for a process that has left.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	gone := make(chan struct{})
	errs := together(t, 2, func(int) Config { return Config{Dir: dir, Name: "j"} }, func(ctx context.Context, j *Job) error {
		if j.Rank() == 0 {
			defer close(gone)
			return j.Close()
		}
		<-gone
		return j.Fence(ctx)
	})
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "rank 0 left the job") {
		t.Error(errs)
	}
}

// TestLargeValue: a value is refused if a process outside the job has made it too long.
func TestLargeValue(t *testing.T) {
	dir := t.TempDir()
	j, err := Join(t.Context(), Config{Source: File, Dir: dir, Name: "j", Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	path := filepath.Join(j.store.(*fileStore).dir, "values", fileName("a"))
	if err := os.WriteFile(path, make([]byte, MaxValue+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

// TestComeAndGone: a fence succeeds if a rank came to it and then left the job between two looks at the folder. It
// fails if a rank left without coming to it.
func TestComeAndGone(t *testing.T) {
	s := &fileStore{m: member{rank: 1, size: 2}, dir: t.TempDir()}
	for _, dir := range []string{"fences/0", "left"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.mark("left", "0"); err != nil {
		t.Fatal(err)
	}
	if s.hopeless([]int{0}) == nil {
		t.Error("the fence waits for a rank that has left")
	}
	if err := s.mark("fences/0", "0"); err != nil {
		t.Fatal(err)
	}
	if err := s.hopeless([]int{0}); err != nil {
		t.Error(err)
	}
}
