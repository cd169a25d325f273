package boot

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gofabric/boot/internal/pmi"
)

// This file has processes that meet in a folder that all of them can access. The job has a folder of its name below
// it, with
//
//	joined/RANK         a rank has joined
//	values/KEY          a value that was put
//	fences/ROUND/RANK   a rank is at a fence
//	over                the reason why the job is over
//	left/RANK           a rank has left; the last one removes the folder

// fileNames bounds keys as file names, which have at most 255 bytes.
var fileNames = pmi.Limits{Key: 200}

// The pauses between reads of the folder: no event works on all file systems.
const (
	firstLook = time.Millisecond
	lastLook  = 100 * time.Millisecond
)

type fileStore struct {
	dir   string
	m     member
	round int
}

func joinFile(_ context.Context, c *Config, m *member) (store, error) {
	name := cmp.Or(m.name, "job")
	s := &fileStore{dir: filepath.Join(c.Dir, "gofabric-"+fileName(name)), m: *m}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	if err := ours(s.dir); err != nil {
		return nil, err
	}
	for _, sub := range []string{"joined", "values", "fences", "left"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	switch err := s.mark("joined", strconv.Itoa(m.rank)); {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("rank %d has already joined a job in %s: remove the folder, or give each run a name of its own (GOFABRIC_JOB)", m.rank, s.dir)
	case err != nil:
		return nil, err
	}
	return s, nil
}

// fileName returns a file name for any text.
func fileName(text string) string {
	return fileNames.Name(base64.RawURLEncoding.EncodeToString([]byte(text)))
}

// mark creates an empty file that must not exist.
func (s *fileStore) mark(elem ...string) error {
	f, err := os.OpenFile(filepath.Join(append([]string{s.dir}, elem...)...), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// write creates a file with its content atomically, so that no process reads half of it.
func (s *fileStore) write(path string, content []byte) error {
	f, err := os.CreateTemp(s.dir, "new")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

func (s *fileStore) put(_ context.Context, key string, value []byte) error {
	return s.write(filepath.Join(s.dir, "values", fileName(key)), value)
}

func (s *fileStore) get(_ context.Context, key string) ([]byte, error) {
	value, err := readSmall(filepath.Join(s.dir, "values", fileName(key)), MaxValue)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoKey
	}
	return value, err
}

// readSmall reads a file of at most most bytes.
func readSmall(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(b) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return b, err
}

func (s *fileStore) forget(_ context.Context, keys []string) {
	os.Remove(filepath.Join(s.dir, "values", fileName(keys[s.m.rank])))
}

func (s *fileStore) fence(ctx context.Context) error {
	dir := filepath.Join("fences", strconv.Itoa(s.round))
	if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
		return err
	}
	if err := s.mark(dir, strconv.Itoa(s.m.rank)); err != nil {
		return err
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		who, err := s.absent(dir)
		if err == nil && len(who) > 0 {
			err = s.hopeless(who)
		}
		if err != nil {
			return err
		}
		if len(who) == 0 {
			s.becomePast()
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			err := &missingError{who, fmt.Errorf("waited for the other processes at fence %d in %s: %w", s.round, s.dir, context.Cause(ctx))}
			s.write(filepath.Join(s.dir, "over"), []byte(err.Error()+"; missing: "+rankList(who)))
			return err
		}
	}
}

// becomePast advances to the next fence. All processes at this fence have left the one before, so that its folder
// is removed with its last mark.
func (s *fileStore) becomePast() {
	if s.round > 0 {
		before := filepath.Join(s.dir, "fences", strconv.Itoa(s.round-1))
		os.Remove(filepath.Join(before, strconv.Itoa(s.m.rank)))
		os.Remove(before)
	}
	s.round++
}

// absent returns the ranks without a mark in a folder.
func (s *fileStore) absent(dir string) ([]int, error) {
	list, err := os.ReadDir(filepath.Join(s.dir, dir))
	if err != nil {
		return nil, err
	}
	here := make([]bool, s.m.size)
	for _, e := range list {
		if rank, err := strconv.Atoi(e.Name()); err == nil && rank >= 0 && rank < s.m.size {
			here[rank] = true
		}
	}
	var who []int
	for rank, ok := range here {
		if !ok {
			who = append(who, rank)
		}
	}
	return who, nil
}

// hopeless returns the reason why a wait for some ranks cannot succeed.
func (s *fileStore) hopeless(who []int) error {
	if text, err := readSmall(filepath.Join(s.dir, "over"), 4096); err == nil {
		return &missingError{who, fmt.Errorf("another rank gave up: %s", text)}
	}
	for _, rank := range who {
		if !s.marked("left", rank) {
			continue
		}
		if !s.marked(filepath.Join("fences", strconv.Itoa(s.round)), rank) { // the rank may have come, and left, since it was listed
			return &missingError{[]int{rank}, fmt.Errorf("rank %d left the job before it reached fence %d", rank, s.round)}
		}
	}
	return nil
}

// marked reports whether a rank has its mark in a folder.
func (s *fileStore) marked(dir string, rank int) bool {
	_, err := os.Lstat(filepath.Join(s.dir, dir, strconv.Itoa(rank)))
	return err == nil
}

func (s *fileStore) close(context.Context) error {
	if err := s.mark("left", strconv.Itoa(s.m.rank)); err != nil {
		return err
	}
	who, err := s.absent("left")
	if err == nil && len(who) == 0 {
		err = os.RemoveAll(s.dir)
	}
	if errors.Is(err, fs.ErrNotExist) { // another process removed it
		err = nil
	}
	return err
}
