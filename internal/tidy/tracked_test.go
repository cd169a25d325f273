package tidy

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gofabric/test/need"
)

const trackedMax = 1 << 20 // bytes

// kinds has the tracked files that are not text: the ends of their names, and their first bytes.
var kinds = map[string]string{".png": "\x89PNG\r\n\x1a\n", ".pcap": "\xd4\xc3\xb2\xa1", ".gz": "\x1f\x8b"}

// unfit returns the reason why a file does not belong into the repository, or "".
func unfit(name string, data []byte) string {
	begin, known := kinds[filepath.Ext(name)]
	switch {
	case len(data) > trackedMax:
		return "it is longer than 1 MiB"
	case known && !bytes.HasPrefix(data, []byte(begin)):
		return "it does not have the format that its name promises"
	case !known && (!utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0):
		return "it is not text"
	}
	return ""
}

// TestTracked checks that git tracks no programs and no files that are too long. Otherwise git add would also add the
// output of go build.
func TestTracked(t *testing.T) {
	const root = "../.."
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		need.Missing(t, "the sources are not in a git repository: %v", err)
	}
	git := need.Programs(t, "git", "git")
	out, err := exec.Command(git, "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(names) < 1000 {
		t.Errorf("only %d files are tracked", len(names))
	}
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		if i, err := os.Lstat(path); err == nil && i.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it will be deleted by the next commit
		}
		if err != nil {
			t.Error(err)
		}
		if wrong := unfit(name, data); wrong != "" {
			t.Errorf("git tracks %s: %s", name, wrong)
		}
	}
}

// TestUnfit: a program is refused under any name, and files of the permitted kinds are not.
func TestUnfit(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program = program[:4096]
	for name, c := range map[string]struct {
		data []byte
		fit  bool
	}{
		"ofi": {program, false}, "fabricd": {program, false}, "testdata/a.pcap": {program, false},
		"a.go": {[]byte("package a // ü\n"), true}, "empty": {nil, true},
		"a.txt": {bytes.Repeat([]byte("a"), trackedMax), true},
		"b.txt": {bytes.Repeat([]byte("a"), trackedMax+1), false}, "c.pcap": {[]byte("\xd4\xc3\xb2\xa1\x00"), true},
		"latin.txt": {[]byte("\xfc"), false},
	} {
		if wrong := unfit(name, c.data); (wrong == "") != c.fit {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
