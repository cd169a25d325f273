package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"gofabric/test/wait"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testLimit = wait.Limit

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	t.Cleanup(cancel)
	return ctx
}

// lookup returns a function that reads variables from env.
func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// freeRoot returns an address for rank 0, and a function that returns its listener, which listens already.
func freeRoot(t testing.TB) (address string, listening func(string) (net.Listener, error)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), func(string) (net.Listener, error) { return l, nil }
}

// together runs a function in each of several processes of a job, and returns their errors. Each process is a
// goroutine.
func together(t testing.TB, size int, cfg func(rank int) Config, f func(ctx context.Context, j *Job) error) []error {
	ctx := testContext(t)
	errs := make([]error, size)
	var all sync.WaitGroup
	for rank := range size {
		all.Go(func() {
			c := cfg(rank)
			c.Rank, c.Size = rank, size
			j, err := Join(ctx, c)
			if err == nil {
				err = errors.Join(f(ctx, j), j.Close())
			}
			errs[rank] = err
		})
	}
	all.Wait()
	return errs
}

// places has the ways in which processes find each other. Each function makes a new job.
var places = map[string]func(t testing.TB) func(rank int) Config{
	TCP: func(t testing.TB) func(int) Config {
		address, listening := freeRoot(t)
		return func(int) Config { return Config{Source: TCP, Root: address, Name: "j", listen: listening} }
	},
	File: func(t testing.TB) func(int) Config {
		dir := t.TempDir()
		return func(int) Config { return Config{Dir: dir, Name: "j"} }
	},
	Fabricd: func(t testing.TB) func(int) Config {
		socket := newFakeDirectory(t).socket
		return func(int) Config { return Config{Daemon: socket, Name: "j"} }
	},
}

// TestExchange: each process gets the values of all, several times. A fence separates values that were put before it
// from later ones.
func TestExchange(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			const size = 5
			errs := together(t, size, place(t), func(ctx context.Context, j *Job) error {
				if j.Size() != size || j.Source() != name {
					return fmt.Errorf("size %d, source %s", j.Size(), j.Source())
				}
				for round := range 3 {
					mine := bytes.Repeat([]byte{byte(j.Rank()), byte(round)}, 1000*round)
					all, err := j.Exchange(ctx, mine)
					if err != nil {
						return err
					}
					for rank, v := range all {
						if want := bytes.Repeat([]byte{byte(rank), byte(round)}, 1000*round); !bytes.Equal(v, want) {
							return fmt.Errorf("round %d: rank %d has put %d bytes, not %d", round, rank,
								len(v), len(want))
						}
					}
				}
				if err := j.Put(ctx, "a key/of rank %d?", []byte("x")); err != nil {
					return err
				}
				if _, err := j.Get(ctx, "nobody's"); !errors.Is(err, ErrNoKey) {
					return fmt.Errorf("a key that no rank has put: %v", err)
				}
				return j.Fence(ctx)
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestForget: exchanged values are freed a round later.
func TestForget(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			errs := together(t, 3, place(t), func(ctx context.Context, j *Job) error {
				for range 4 {
					if _, err := j.Exchange(ctx, make([]byte, 200<<10)); err != nil {
						return err
					}
				}
				if err := j.Fence(ctx); err != nil {
					return err
				}
				for round := range 3 {
					for _, key := range exchangeKeys(round, j.Size()) {
						if v, err := j.Get(ctx, key); !errors.Is(err, ErrNoKey) {
							t.Errorf("rank %d: %s has %d bytes, %v", j.Rank(), key, len(v), err)
						}
					}
				}
				return j.Fence(ctx)
			})
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
	}
}

// missingTwo matches errors that name rank 2. On a busy machine a rank may give up before another one has come.
var missingTwo = regexp.MustCompile(`missing: (rank |ranks ([0-9]+, )*)2\b`)

// patientContext has a deadline, but does not end then. fabricd and rank 0 answer before the deadline of a fence. On a
// busy machine their answer may arrive later.
type patientContext struct {
	context.Context
	deadline time.Time
}

func (c patientContext) Deadline() (time.Time, bool) { return c.deadline, true }

// TestMissing: the error of a wait names the missing processes.
func TestMissing(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var others sync.WaitGroup
			others.Add(3)
			errs := together(t, 4, place(t), func(ctx context.Context, j *Job) error {
				if err := j.Fence(ctx); err != nil {
					return fmt.Errorf("before it: %w", err)
				}
				if j.Rank() == 2 { // this rank does not come to the next fence
					others.Wait()
					return nil
				}
				defer others.Done()
				const limit = 400 * time.Millisecond
				if name == Fabricd || name == TCP && j.Rank() > 0 { // another process answers
					return j.Fence(patientContext{ctx, time.Now().Add(limit)})
				}
				ctx, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				return j.Fence(ctx)
			})
			if d := time.Since(start); d > testLimit/2 {
				t.Errorf("it took %v", d)
			}
			for rank, err := range errs {
				switch {
				case rank == 2:
					if err != nil {
						t.Errorf("rank 2: %v", err)
					}
				case err == nil || !missingTwo.MatchString(err.Error()):
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

// TestBroken: after a fence has failed, all calls return its error.
func TestBroken(t *testing.T) {
	address, listening := freeRoot(t)
	j, err := Join(t.Context(), Config{Size: 2, Root: address, listen: listening})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = j.Fence(ctx)
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Missing) != 1 || e.Missing[0] != 1 || !errors.Is(err, context.DeadlineExceeded) || e.Hint == "" {
		t.Fatalf("a fence without rank 2: %v", err)
	}
	for what, err := range map[string]error{"Put": j.Put(t.Context(), "a", nil), "Fence": j.Fence(t.Context())} {
		if !errors.Is(err, ErrJobOver) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSingle(t *testing.T) {
	j, err := Join(t.Context(), Config{lookup: lookup(map[string]string{"GOFABRIC_RANK": "0", "GOFABRIC_SIZE": "1"})})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	all, err := j.Exchange(t.Context(), []byte("me"))
	if err != nil || len(all) != 1 || string(all[0]) != "me" || j.Source() != Single {
		t.Fatal(all, err, j.Source())
	}
	if err := j.Put(t.Context(), "", nil); err == nil {
		t.Error("an empty key was accepted")
	}
	if err := j.Put(t.Context(), "a", make([]byte, MaxValue+1)); err == nil {
		t.Error("a value that is too long was accepted")
	}
}

// TestTimeout: a context without a deadline gets one.
func TestTimeout(t *testing.T) {
	address, listening := freeRoot(t)
	j, err := Join(t.Context(), Config{Size: 2, Root: address, listen: listening, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Fence(context.Background()); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "time-out") {
		t.Fatal(err)
	}
}
