package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gofabric/cmd/fabricd/internal/directory/disk"
	"gofabric/cmd/fabricd/internal/directory/disk/paper"
)

// open is a journal with its folder.
type open struct {
	*Journal
	folder disk.Folder
}

func (o *open) Close() { _, _ = o.Journal.Close(), o.folder.Close() } // some tests have closed it

// reopen reads a folder and returns its records.
func reopen(dir string) (*open, []string, error) {
	folder, err := disk.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	var got []string
	j, err := Open(folder, func(r []byte, _ bool) error { got = append(got, string(r)); return nil })
	if err != nil {
		folder.Close()
		return nil, nil, err
	}
	return &open{j, folder}, got, nil
}

func mustOpen(t *testing.T, dir string) (*open, []string) {
	t.Helper()
	j, got, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, got
}

func appendAll(t *testing.T, j *open, batch ...string) {
	t.Helper()
	var records [][]byte
	for _, r := range batch {
		records = append(records, []byte(r))
	}
	if err := j.Append(records); err != nil {
		t.Fatal(err)
	}
}

// TestCut cuts a log at every length, as the end of a machine may: what was acknowledged before is there, a batch is there whole or not at all, and the journal
// goes on.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	var want []string
	type mark struct {
		size  int64
		count int
	}
	marks := []mark{{0, 0}}
	for i := range 12 {
		var batch []string
		for k := range i % 4 {
			batch = append(batch, fmt.Sprintf("record %d.%d", i, k))
		}
		batch = append(batch, "")
		appendAll(t, j, batch...)
		want = append(want, batch...)
		marks = append(marks, mark{j.Size(), len(want)})
	}
	j.Close()
	name := logName(1)
	whole, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, m := range marks {
			if m.size <= int64(cut) {
				count = m.count
			}
		}
		j, got, err := reopen(dir)
		if err != nil || !slices.Equal(got, want[:count]) {
			t.Fatalf("cut at %d: %q, %v; want %q", cut, got, err, want[:count])
		}
		appendAll(t, j, "more")
		j.Close()
		if _, got = mustOpen(t, dir); !slices.Equal(got, append(slices.Clone(want[:count]), "more")) {
			t.Fatalf("cut at %d, then one more: %q", cut, got)
		}
	}
}

// TestDamage flips each byte: what is not the last frame is never lost in silence.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	appendAll(t, j, "one")
	second := j.Size()
	appendAll(t, j, "two")
	j.Close()
	path := filepath.Join(dir, logName(1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 0x10
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		j, got, err := reopen(dir)
		switch {
		case int64(i) < second:
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d is bad: %q, %v; want ErrDamaged", i, got, err)
			}
		default: // as a torn write
			if err != nil || !slices.Equal(got, []string{"one"}) {
				t.Errorf("byte %d of the last frame is bad: %q, %v", i, got, err)
			}
			j.Close()
		}
	}
}

// TestSnapshot: a snapshot stands for the logs before it, whenever the machine ends while it is made.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	appendAll(t, j, "a", "b")
	n, err := j.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "c")
	copyTo := func() string {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		return to
	}
	before := copyTo()
	err = j.Snapshot(n, func(emit func([]byte) error) error {
		if _, got := mustOpen(t, copyTo()); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("while the snapshot is written: %q", got)
		}
		return emit([]byte("ab"))
	})
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "d")
	after := copyTo()
	j.Close()
	if _, got := mustOpen(t, before); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("before the snapshot: %q", got)
	}
	if _, got := mustOpen(t, after); !slices.Equal(got, []string{"ab", "c", "d"}) {
		t.Errorf("behind the snapshot: %q", got)
	}
	if _, err := os.Stat(filepath.Join(after, logName(1))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log that the snapshot stands for: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(after, snapshotName(n)))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(data) { // a snapshot has its name only when it is whole
		if err := os.WriteFile(filepath.Join(dir, snapshotName(n)), data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, got, err := reopen(dir); !errors.Is(err, ErrDamaged) {
			t.Fatalf("a snapshot cut at %d: %q, %v", cut, got, err)
		}
	}
}

// TestForged: a value that looks like a frame is none, as its writer does not know the salt.
func TestForged(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	appendAll(t, j, "one")
	appendAll(t, j, string(appendFrame(nil, make([]byte, saltSize), [][]byte{[]byte("evil")})))
	size := j.Size()
	j.Close()
	if err := os.Truncate(filepath.Join(dir, logName(1)), size-1); err != nil {
		t.Fatal(err)
	}
	if _, got := mustOpen(t, dir); !slices.Equal(got, []string{"one"}) {
		t.Errorf("got %q", got)
	}
}

// TestLocked: a folder has one daemon.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir)
	if _, _, err := reopen(dir); err == nil {
		t.Error("a folder is open twice")
	}
}

// FuzzRead reads any file: whatever it holds, reading ends, within the file, and what was good before bad bytes is the same without them.
func FuzzRead(f *testing.F) {
	header, salt := newHeader()
	log := appendFrame(appendFrame(header, salt, [][]byte{[]byte("one"), nil}), salt, [][]byte{[]byte("two")})
	f.Add(log)
	f.Add(log[:len(log)-1])
	f.Add(appendFrame(log, salt, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		good, _, err := read(data, func(r []byte) error { got = append(got, string(r)); return nil })
		if good < 0 || good > len(data) {
			t.Fatalf("%d good bytes of %d", good, len(data))
		}
		if err != nil {
			return
		}
		var again []string
		if _, _, err := read(data[:good], func(r []byte) error { again = append(again, string(r)); return nil }); err != nil || !slices.Equal(got, again) {
			t.Errorf("%q, then %q, %v", got, again, err)
		}
	})
}

var errBroken = errors.New("broken")

// failing is a folder whose files are on disk only so often.
type failing struct {
	disk.Folder
	left int // calls of Sync that go well
}

func (f *failing) Create(name string) (disk.File, error) {
	file, err := f.Folder.Create(name)
	return failingFile{file, f}, err
}

type failingFile struct {
	disk.File
	in *failing
}

func (f failingFile) Sync() error {
	if f.in.left--; f.in.left < 0 {
		return errBroken
	}
	return f.File.Sync()
}

// TestRestart: after a failed write a journal takes nothing back that was acknowledged, and shows nothing that was not, wherever the machine ends meanwhile.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	folder, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	failing := &failing{Folder: folder, left: math.MaxInt}
	opened, err := Open(failing, func([]byte, bool) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	j := &open{opened, folder}
	defer j.Close()
	appendAll(t, j, "a", "b")
	all := func(emit func([]byte) error) error { return errors.Join(emit([]byte("a")), emit([]byte("b"))) }
	failing.left = 0
	ended := func(want ...string) {
		t.Helper()
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		again, got, err := reopen(copied)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("a machine that ends here leaves %q, want %q; %v", got, want, err)
		}
		again.Close()
	}
	if err := j.Append([][]byte{[]byte("lost")}); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if err := j.Restart(all); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	ended("a", "b")
	noRoom := errors.New("no room")
	for range 2 { // the second time the new log is there already
		failing.left = math.MaxInt
		if err := j.Restart(func(emit func([]byte) error) error { return errors.Join(emit([]byte("a")), noRoom) }); !errors.Is(err, noRoom) {
			t.Fatal(err)
		}
		ended("a", "b")
	}
	if _, err := os.Stat(filepath.Join(dir, "snapshot.new")); err == nil {
		t.Error("a snapshot that failed takes up room")
	}
	if err := j.Restart(all); err != nil {
		t.Fatal(err)
	}
	ended("a", "b")
	appendAll(t, j, "c")
	ended("a", "b", "c")
}

// TestUnbegun: a log that was begun, and never used, may follow one that ends in the midst of a frame: making it failed, and it could not be removed, or the end of the
// machine brought it back. One that was used may not; and none may be missing.
func TestUnbegun(t *testing.T) {
	header, salt := newHeader()
	one := appendFrame(bytes.Clone(header), salt, [][]byte{[]byte("one")})
	torn := append(bytes.Clone(one), 9, 0, 0)
	for _, c := range []struct {
		name string
		logs map[uint64][]byte
		want []string // nil: damaged
	}{
		{"begun", map[uint64][]byte{1: torn, 2: header}, []string{"one"}},
		{"half begun", map[uint64][]byte{1: torn, 2: header[:9]}, []string{"one"}},
		{"empty", map[uint64][]byte{1: torn, 2: nil}, []string{"one"}},
		{"used", map[uint64][]byte{1: torn, 2: one}, nil},
		{"used, behind one that was not", map[uint64][]byte{1: one, 2: header, 3: one}, nil},
		{"behind an empty one", map[uint64][]byte{1: nil, 2: one}, nil},
		{"without the first", map[uint64][]byte{2: one}, nil},
		{"without the second", map[uint64][]byte{1: one, 3: one}, nil},
		{"whole", map[uint64][]byte{1: one, 2: one}, []string{"one", "one"}},
	} {
		dir := t.TempDir()
		for n, data := range c.logs {
			if err := os.WriteFile(filepath.Join(dir, logName(n)), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j, got, err := reopen(dir)
		if c.want == nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %q, %v; want ErrDamaged", c.name, got, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
			continue
		}
		appendAll(t, j, "more")
		j.Close()
		if _, got, err := reopen(dir); err != nil || !slices.Equal(got, append(slices.Clone(c.want), "more")) {
			t.Errorf("%s, then one more: %q, %v", c.name, got, err)
		}
	}
}

// TestWithoutLog: behind a snapshot there is a log, always. One that is missing may have had something, and the next would not be read.
func TestWithoutLog(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	appendAll(t, j, "one")
	n, err := j.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Snapshot(n, func(emit func([]byte) error) error { return emit([]byte("one")) }); err != nil {
		t.Fatal(err)
	}
	j.Close()
	if err := os.Remove(filepath.Join(dir, logName(n))); err != nil {
		t.Fatal(err)
	}
	if _, got, err := reopen(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("%q, %v; want ErrDamaged", got, err)
	}
}

// TestUnfinished: a snapshot whose writer ended takes no room after the next start.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, unfinished), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a new folder, and one that has a log
		j, _ := mustOpen(t, dir)
		j.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestFrames: the machine ends while many records are written, more than go into one frame; the disk may have a later one and not the one before.
func TestFrames(t *testing.T) {
	defer func(n int) { maxBatch = n }(maxBatch)
	maxBatch = 100
	want := make([][]byte, 40)
	for i := range want {
		want[i] = fmt.Appendf(nil, "record %d %030d", i, i)
	}
	for seed := range uint64(200) {
		d := paper.New(seed)
		j, err := Open(d, func([]byte, bool) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		d.EndAfter(int(seed % 30))
		_ = j.Append(want) // the machine may end
		d.Begin(true)
		var got [][]byte
		if _, err = Open(d, func(r []byte, _ bool) error { got = append(got, bytes.Clone(r)); return nil }); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(got) > len(want) || !slices.EqualFunc(got, want[:len(got)], bytes.Equal) {
			t.Fatalf("seed %d: %q", seed, got)
		}
	}
}
