package fabricd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"gofabric/test/need"
)

func TestOwnDir(t *testing.T) {
	for _, c := range []struct {
		uid     int
		runtime string
		want    string
	}{
		{0, "/run/user/0", "/run/fabricd"},
		{1000, "/run/user/1000", "/run/user/1000/fabricd"},
		{1000, "", "/tmp/fabricd-1000"},
	} {
		if got := OwnDir(c.uid, c.runtime, "/tmp"); got != c.want {
			t.Errorf("OwnDir(%d, %q) = %s, want %s", c.uid, c.runtime, got, c.want)
		}
	}
}

// TestFind: a socket is not used if other users may write to its folder.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvDir, dir)
	if got := Find(API); got != "" {
		t.Fatalf("Find in an empty folder = %s", got)
	}
	l, err := net.Listen("unix", filepath.Join(dir, API))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := Find(API); got != filepath.Join(dir, API) {
		t.Errorf("Find = %q", got)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := Find(API); got != "" {
		t.Errorf("Find in a folder that all users may write to = %s", got)
	}
	t.Setenv(EnvDir, "off")
	if got := Dirs(); got != nil {
		t.Errorf("Dirs, switched off = %v", got)
	}
}

// TestCheck: Check accepts neither a folder of another user, nor a link of another user to a valid folder, nor a
// file.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	good, link, file := filepath.Join(dir, "good"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.Mkdir(good, 0o755), os.Symlink(good, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{good, link} {
		if err := Check(path); err != nil {
			t.Error(err)
		}
	}
	if Check(file) == nil || !errors.Is(Check(filepath.Join(dir, "none")), os.ErrNotExist) {
		t.Errorf("a file: %v; nothing: %v", Check(file), Check(filepath.Join(dir, "none")))
	}
	if os.Getuid() != 0 {
		return // the rest needs root
	}
	if err := os.Lchown(link, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	if Check(link) == nil {
		t.Error("another user's link is trusted")
	}
	if err := os.Chown(good, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	if Check(good) == nil {
		t.Error("another user's folder is trusted")
	}
}

// TestFindForeign: a folder or link of another user at the place of a daemon's folder is not used, even if the link
// leads to a valid folder.
func TestFindForeign(t *testing.T) {
	need.Root(t, "giving files to another user")
	dir, at := t.TempDir(), filepath.Join(t.TempDir(), "fabricd-0")
	l, err := net.Listen("unix", filepath.Join(dir, API))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv(EnvDir, at)
	if err := os.Symlink(dir, at); err != nil {
		t.Fatal(err)
	}
	if got := Find(API); got != filepath.Join(at, API) {
		t.Errorf("through a link of this user's: %q", got)
	}
	if err := os.Lchown(at, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if got := Find(API); got != "" {
		t.Errorf("through another user's link: %q", got)
	}
	os.Remove(at)
	t.Setenv(EnvDir, dir)
	if err := os.Chown(dir, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if got := Find(API); got != "" {
		t.Errorf("in another user's folder: %q", got)
	}
}
