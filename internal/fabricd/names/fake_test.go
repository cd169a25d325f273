package names

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDaemon is a daemon whose names the test reads and changes.
type fakeDaemon struct {
	mu     sync.Mutex
	names  map[string]api.Registration
	lease  int           // number of the last lease
	lost   bool          // no lease is found for a renewal
	status int           // 0, or the status of all answers
	puts   chan string   // gets each name that is put
	renews chan struct{} // gets a token for each renewal of a lease
	server *httptest.Server
}

// newFakeDaemon starts a daemon that this process finds.
func newFakeDaemon(t *testing.T) *fakeDaemon {
	dir, err := os.MkdirTemp("", "fd")
	if err != nil {
		t.Fatal(err)
	}
	d := &fakeDaemon{names: map[string]api.Registration{}, puts: make(chan string, 100),
		renews: make(chan struct{}, 100)}
	l, err := net.Listen("unix", filepath.Join(dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fabricd.EnvDir, dir)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/names/{name...}", d.get)
	mux.HandleFunc("PUT /v1/names/{name...}", d.put)
	mux.HandleFunc("DELETE /v1/names/{name...}", d.del)
	mux.HandleFunc("POST /v1/leases/{id}", d.renew)
	d.server = httptest.NewUnstartedServer(mux)
	d.server.Listener.Close()
	d.server.Listener = l
	d.server.Start()
	t.Cleanup(func() {
		d.server.Close()
		os.RemoveAll(dir)
	})
	return d
}

func (d *fakeDaemon) answer(w http.ResponseWriter, ok bool, v any) {
	switch {
	case d.status != 0:
		w.WriteHeader(d.status)
		v = api.Error{Status: d.status, Message: "the test asked for this status"}
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		v = api.Error{Status: http.StatusNotFound, Message: "not found"}
	}
	json.NewEncoder(w).Encode(v)
}

func (d *fakeDaemon) get(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.names[r.PathValue("name")]
	d.answer(w, ok, api.Name{Name: r.PathValue("name"), Address: found.Address, Owner: 7})
}

func (d *fakeDaemon) put(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var in api.Registration
	json.NewDecoder(r.Body).Decode(&in)
	if d.status == 0 {
		d.names[r.PathValue("name")] = in
		d.lease++
		d.lost = false
	}
	d.answer(w, true, api.Registered{Lease: fmt.Sprint(d.lease)})
	d.puts <- r.PathValue("name")
}

func (d *fakeDaemon) del(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.names[r.PathValue("name")]
	delete(d.names, r.PathValue("name"))
	d.answer(w, ok, api.Deleted{})
}

func (d *fakeDaemon) renew(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ok := !d.lost && r.PathValue("id") == fmt.Sprint(d.lease)
	d.answer(w, ok, api.Renewed{})
	select {
	case d.renews <- struct{}{}:
	default:
	}
}

func (d *fakeDaemon) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *fakeDaemon) has(name string) (address string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.names[name]
	return r.Address, ok
}

// next waits for an event.
func next[T any](t *testing.T, c chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(wait.Limit):
		t.Fatal("no event within 20 s")
		panic("not reached")
	}
}
