package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// reopen reads a folder and returns its records.
func reopen(dir string) (*Journal, []string, error) {
	var got []string
	j, err := Open(dir, func(r []byte) error { got = append(got, string(r)); return nil })
	return j, got, err
}

func mustOpen(t *testing.T, dir string) (*Journal, []string) {
	t.Helper()
	j, got, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, got
}

func appendAll(t *testing.T, j *Journal, batch ...string) {
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

// TestRestart: after a failed write a journal takes nothing back that was acknowledged, and shows nothing that was not, wherever the machine ends meanwhile.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	appendAll(t, j, "a", "b")
	all := func(emit func([]byte) error) error { return errors.Join(emit([]byte("a")), emit([]byte("b"))) }
	broken := errors.New("broken")
	left := 0 // calls that go well
	j.sync = func(f *os.File) error {
		if left--; left < 0 {
			return broken
		}
		return f.Sync()
	}
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
	if err := j.Append([][]byte{[]byte("lost")}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := j.Restart(all); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	ended("a", "b")
	left = 1
	noRoom := errors.New("no room")
	for range 2 { // the second time the new log is there already
		left = 1
		if err := j.Restart(func(emit func([]byte) error) error { return errors.Join(emit([]byte("a")), noRoom) }); !errors.Is(err, noRoom) {
			t.Fatal(err)
		}
		ended("a", "b")
	}
	if _, err := os.Stat(filepath.Join(dir, "snapshot.new")); err == nil {
		t.Error("a snapshot that failed takes up room")
	}
	left = 10
	if err := j.Restart(all); err != nil {
		t.Fatal(err)
	}
	ended("a", "b")
	appendAll(t, j, "c")
	ended("a", "b", "c")
}
