package boot

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"gofabric/boot/internal/pmi"
	"gofabric/internal/fabricd/api"
)

// This file has processes that meet in the directory of fabricd. The entries of a job expire after a day.

// daemonLimits are the directory's limits for keys, less their prefix, and for values.
var daemonLimits = pmi.Limits{Key: 200, Value: 128 << 10}

// The pauses after a failed attempt: fabricd may restart.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// fenceWait is the longest wait at a fence in one request.
const fenceWait = 30 * time.Second

type daemonStore struct {
	client *api.Client
	m      member
	prefix string
	uid    int // user id as fabricd knows it
	round  int
	parts  map[string]int // of the values that were put
}

func joinDaemon(ctx context.Context, c *Config, m *member) (store, error) {
	if m.name == "" {
		return nil, errors.New("a job that meets in fabricd's directory needs a name, new for each run: set GOFABRIC_JOB")
	}
	client, err := api.Dial(c.Daemon)
	if err != nil {
		return nil, err
	}
	// The user is part of all keys, because other users may have jobs of this name.
	s := &daemonStore{client: client, m: *m, prefix: fmt.Sprintf("boot/%d/%s", os.Getuid(), daemonName(m.name)), parts: map[string]int{}}
	if err := s.first(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return s, nil
}

// daemonName returns an element of a key for any text.
func daemonName(text string) string {
	return daemonLimits.Name(base64.RawURLEncoding.EncodeToString([]byte(text)))
}

func (s *daemonStore) key(kind, name string) string {
	return api.KeyPath(s.prefix + "/" + strconv.Itoa(s.m.size) + "/" + kind + "/" + name)
}

// first records that this rank has joined. It refuses a job whose name was used before: old fences would release
// this process at once.
func (s *daemonStore) first(ctx context.Context) error {
	mark := s.key("joined", strconv.Itoa(s.m.rank))
	var old api.Value
	err := s.do(ctx, http.MethodGet, mark, nil, &old)
	if err == nil {
		return fmt.Errorf("rank %d has already joined a job %q: give each run a name of its own (GOFABRIC_JOB)", s.m.rank, s.m.name)
	}
	if !notThere(err) {
		return err
	}
	if err := s.do(ctx, http.MethodPut, mark, api.Value{Value: []byte{1}, Private: true}, nil); err != nil {
		return err
	}
	err = s.do(ctx, http.MethodGet, mark, nil, &old)
	s.uid = old.Owner
	return err
}

func notThere(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status == http.StatusNotFound
}

// do sends a request to fabricd, and repeats it while fabricd is not available. All requests may be repeated.
func (s *daemonStore) do(ctx context.Context, method, path string, in, out any) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := s.client.Do(ctx, method, path, in, out)
		if e, answered := errors.AsType[*api.Error](err); err == nil || answered && e.Status != http.StatusServiceUnavailable {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("waited for fabricd: %w; last: %w", context.Cause(ctx), err)
		}
	}
}

func (s *daemonStore) put(ctx context.Context, key string, value []byte) error {
	parts, err := daemonLimits.Split(value)
	if err != nil {
		return err
	}
	s.parts[key] = len(parts)
	for i, p := range parts {
		if err := s.do(ctx, http.MethodPut, s.key("values", pmi.Part(daemonName(key), i)), api.Value{Value: []byte(p), Private: true}, nil); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes the parts of this rank's value if that works at once; otherwise they expire.
func (s *daemonStore) forget(ctx context.Context, keys []string) {
	key := keys[s.m.rank]
	for i := range s.parts[key] {
		if s.client.Do(ctx, http.MethodDelete, s.key("values", pmi.Part(daemonName(key), i)), nil, nil) != nil {
			break
		}
	}
	delete(s.parts, key)
}

func (s *daemonStore) get(ctx context.Context, key string) ([]byte, error) {
	first, err := s.part(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	count, err := daemonLimits.Count(first)
	if err != nil {
		return nil, err
	}
	parts := []string{first}
	for i := 1; i < count; i++ {
		p, err := s.part(ctx, key, i)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return pmi.Join(parts)
}

func (s *daemonStore) part(ctx context.Context, key string, i int) (string, error) {
	var v api.Value
	err := s.do(ctx, http.MethodGet, s.key("values", pmi.Part(daemonName(key), i)), nil, &v)
	switch {
	case notThere(err):
		return "", ErrNoKey
	case err != nil:
		return "", err
	case v.Owner != s.uid:
		return "", fmt.Errorf("user %d has put a value of this job, which belongs to user %d", v.Owner, s.uid)
	}
	return string(v.Value), nil
}

func (s *daemonStore) fence(ctx context.Context) error {
	var got api.Arrived
	// The first answer comes at once. It names the missing ranks if ctx ends before there is another one.
	for wait := time.Duration(0); ; wait = s.fencePause(ctx) {
		in := api.Arrival{Rank: s.m.rank, Size: s.m.size, Generation: &s.round, Wait: wait.Truncate(time.Millisecond).String()}
		if err := s.do(ctx, http.MethodPost, api.FencePath(s.prefix), in, &got); err != nil {
			if ctx.Err() != nil && len(got.Missing) > 0 {
				return &missingError{got.Missing, err}
			}
			return err
		}
		if got.Done {
			s.round++
			return nil
		}
		if end, ok := ctx.Deadline(); wait > 0 && ok && time.Until(end) < 500*time.Millisecond || ctx.Err() != nil {
			return &missingError{got.Missing, fmt.Errorf("waited at fence %d, which %d of %d processes reached: %w", s.round, got.Count, s.m.size, context.DeadlineExceeded)}
		}
	}
}

// fencePause is how long fabricd may wait before it answers. It leaves time for the answer, which names the missing
// ranks, before ctx ends.
func (s *daemonStore) fencePause(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return fenceWait
	}
	left := time.Until(end)
	return max(min(fenceWait, left-min(left/5, 500*time.Millisecond)), time.Millisecond)
}

func (s *daemonStore) close(context.Context) error {
	s.client.Close()
	return nil
}
