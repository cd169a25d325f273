package boot

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/internal/fabricd/api"
)

// fakeDirectory has the part of fabricd's directory that this package uses. test/boot tests the real one.
type fakeDirectory struct {
	socket string

	mu     sync.Mutex
	values map[string]api.Value
	came   map[int]map[int]bool // generation, rank
	change chan struct{}        // closed at each arrival
	busy   int                  // number of requests to answer with 503
	waits  func()               // is called when a request waits at a fence
	owner  map[string]int       // user ids, by the end of the key
}

func newFakeDirectory(t testing.TB) *fakeDirectory {
	dir, err := os.MkdirTemp("", "fd")
	if err != nil {
		t.Fatal(err)
	}
	d := &fakeDirectory{socket: filepath.Join(dir, "api.sock"), values: map[string]api.Value{},
		came: map[int]map[int]bool{}, change: make(chan struct{})}
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/kv/{key...}", d.put)
	mux.HandleFunc("GET /v1/kv/{key...}", d.get)
	mux.HandleFunc("DELETE /v1/kv/{key...}", d.del)
	mux.HandleFunc("POST /v1/fence/{name...}", d.fence)
	s := httptest.NewUnstartedServer(mux)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(func() {
		s.Close()
		os.RemoveAll(dir)
	})
	return d
}

// refused answers as a fabricd does that is not ready.
func (d *fakeDirectory) refused(w http.ResponseWriter) bool {
	if d.busy == 0 {
		return false
	}
	d.busy--
	answer(w, http.StatusServiceUnavailable, api.Error{Status: http.StatusServiceUnavailable, Message: "not ready"})
	return true
}

func answer(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (d *fakeDirectory) put(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var v api.Value
	if d.refused(w) {
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil || len(v.Value) > 256<<10 {
		answer(w, http.StatusBadRequest, api.Error{Status: http.StatusBadRequest, Message: "bad"})
		return
	}
	v.Owner = 7
	for end, uid := range d.owner {
		if strings.HasSuffix(r.PathValue("key"), end) {
			v.Owner = uid
		}
	}
	d.values[r.PathValue("key")] = v
	answer(w, http.StatusOK, api.Registered{})
}

func (d *fakeDirectory) get(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused(w) {
		return
	}
	if v, ok := d.values[r.PathValue("key")]; ok {
		answer(w, http.StatusOK, v)
		return
	}
	answer(w, http.StatusNotFound, api.Error{Status: http.StatusNotFound, Message: "not found"})
}

func (d *fakeDirectory) del(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.values, r.PathValue("key"))
	answer(w, http.StatusOK, api.Deleted{Count: 1})
}

func (d *fakeDirectory) fence(w http.ResponseWriter, r *http.Request) {
	var in api.Arrival
	json.NewDecoder(r.Body).Decode(&in)
	wait, _ := time.ParseDuration(in.Wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused(w) {
		return
	}
	g := d.came[*in.Generation]
	if g == nil {
		g = map[int]bool{}
		d.came[*in.Generation] = g
	}
	g[in.Rank] = true
	close(d.change)
	d.change = make(chan struct{})
	for len(g) < in.Size {
		change := d.change
		d.mu.Unlock()
		if d.waits != nil && wait > 0 {
			d.waits()
		}
		var over bool
		select {
		case <-change:
		case <-timer.C:
			over = true
		case <-r.Context().Done():
			over = true
		}
		d.mu.Lock()
		if over {
			break
		}
	}
	out := api.Arrived{Generation: *in.Generation, Done: len(g) == in.Size, Count: len(g)}
	for rank := range in.Size {
		if !g[rank] {
			out.Missing = append(out.Missing, rank)
		}
	}
	answer(w, http.StatusOK, out)
}

// TestDaemonBusy: if fabricd restarts, requests are repeated.
func TestDaemonBusy(t *testing.T) {
	d := newFakeDirectory(t)
	d.busy = 3
	errs := together(t, 2, func(int) Config { return Config{Daemon: d.socket, Name: "j"} }, func(ctx context.Context, j *Job) error {
		_, err := j.Exchange(ctx, make([]byte, 300<<10))
		return err
	})
	if err := errors.Join(errs...); err != nil || d.busy != 0 {
		t.Fatal(err, d.busy)
	}
}

// TestDaemonCancelled: the error of a fence that is cancelled names the missing ranks, though fabricd has not answered
// the request that waits for them.
func TestDaemonCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	d := newFakeDirectory(t)
	d.waits = cancel
	j, err := Join(ctx, Config{Daemon: d.socket, Name: "j", Size: 3, Rank: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	err = j.Fence(ctx)
	if e, ok := errors.AsType[*Error](err); !ok || !slices.Equal(e.Missing, []int{0, 2}) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestUsedName: every store refuses the name of an earlier job.
func TestUsedName(t *testing.T) {
	for _, name := range []string{File, Fabricd} {
		t.Run(name, func(t *testing.T) {
			cfg := places[name](t)(0)
			cfg.Size = 2
			j, err := Join(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if again, err := Join(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "GOFABRIC_JOB") {
				t.Fatal(again, err)
			}
		})
	}
}

// TestForeignValue: a value of another user is not accepted as a value of a rank of the job.
func TestForeignValue(t *testing.T) {
	d := newFakeDirectory(t)
	d.owner = map[string]int{daemonName("gofabric/0/1"): 8}
	errs := together(t, 2, func(int) Config { return Config{Daemon: d.socket, Name: "j"} }, func(ctx context.Context, j *Job) error {
		_, err := j.Exchange(ctx, []byte("x"))
		return err
	})
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "user 8") {
			t.Error(err)
		}
	}
}

// TestNoDaemon: if there is no fabricd, the error says what to do.
func TestNoDaemon(t *testing.T) {
	t.Setenv("FABRICD_DIR", t.TempDir())
	_, err := Join(t.Context(), Config{Source: Fabricd, Name: "j", Size: 2})
	if !errors.Is(err, api.ErrNoDaemon) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err = Join(ctx, Config{Daemon: "/nowhere/api.sock", Name: "j", Size: 2}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Error(err)
	}
}
