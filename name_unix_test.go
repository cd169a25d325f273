//go:build unix

package gofabric

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gofabric/core"
	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

// directory is a daemon that only keeps names. test/fabricd tests the real one.
func directory(t *testing.T) (names *sync.Map) {
	dir, err := os.MkdirTemp("", "fd")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fabricd.EnvDir, dir)
	names = new(sync.Map)
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/names/{name...}", func(w http.ResponseWriter, r *http.Request) {
		var in api.Registration
		json.NewDecoder(r.Body).Decode(&in)
		names.Store(r.PathValue("name"), in.Address)
		json.NewEncoder(w).Encode(api.Registered{Lease: "1"})
	})
	mux.HandleFunc("GET /v1/names/{name...}", func(w http.ResponseWriter, r *http.Request) {
		address, ok := names.Load(r.PathValue("name"))
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			json.NewEncoder(w).Encode(api.Error{Status: http.StatusNotFound, Message: "not found"})
			return
		}
		json.NewEncoder(w).Encode(api.Name{Name: r.PathValue("name"), Address: address.(string)})
	})
	mux.HandleFunc("DELETE /v1/names/{name...}",
		func(_ http.ResponseWriter, r *http.Request) { names.Delete(r.PathValue("name")) })
	s := httptest.NewUnstartedServer(mux)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(func() {
		s.Close()
		os.RemoveAll(dir)
	})
	return names
}

// TestName: an endpoint that is opened with a name is found by that name as a peer, by GetInfo, and by an address
// vector of core, until it is closed.
func TestName(t *testing.T) {
	for _, provider := range []string{"tcp", "udp;ofi_rxd"} {
		t.Run(provider, func(t *testing.T) {
			names := directory(t)
			ctx := testContext(t)
			open := func(name string) *Endpoint {
				t.Helper()
				e, err := Open(ctx, Config{Provider: provider, Node: "127.0.0.1", Name: name})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { e.Close() })
				return e
			}
			a, b := open("job/0"), open("job/1")
			toB, err := a.Insert("fabric://job/1")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := a.Lookup(toB); err != nil || got != b.Name() {
				t.Fatalf("fabric://job/1 is %v, %v; want %v", got, err, b.Name())
			}
			sent := make(chan error, 1)
			go func() { sent <- a.Send(ctx, toB, []byte("hello")) }()
			if r, err := b.Recv(ctx, AnyPeer, make([]byte, 8)); err != nil || r.Len != 5 {
				t.Error(r, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			hints := core.NewHints()
			hints.Fabric.ProvName = provider
			infos, _, err := GetInfo(core.Query{Node: "fabric://job/1", Hints: hints})
			if err != nil || infos[0].DestAddr != b.Name() {
				t.Errorf("GetInfo: %v, %v", infos, err)
			}
			fi := make([]core.FIAddr, 2)
			// InsertSym counts names up, as it does host names.
			if n, err := b.av.InsertSym("fabric://job/0", 2, "", 1, fi, 0); err != nil || n != 2 {
				t.Errorf("InsertSym: %d, %v", n, err)
			}
			if got, err := b.av.Lookup(fi[1]); err != nil || got != b.Name() {
				t.Errorf("the second name is %v, %v; want %v", got, err, b.Name())
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if _, ok := names.Load("job/1"); ok {
				t.Error("the name is still registered after the endpoint was closed")
			}
			if _, err = a.Insert("fabric://job/1"); !errors.Is(err, core.ErrNoData) ||
				!strings.Contains(err.Error(), "fabric://job/1") {
				t.Errorf("look-up of a name that was removed: %v", err)
			}
		})
	}
}

// TestNamedListener: a listener is found by its name.
func TestNamedListener(t *testing.T) {
	names := directory(t)
	ctx := testContext(t)
	l, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp", Name: "service"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan error, 1)
	go func() {
		e, err := l.Accept(ctx)
		if err == nil {
			err = e.Close()
		}
		accepted <- err
	}()
	e, err := Dial(ctx, "fabric://service", Config{Provider: "tcp"})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := <-accepted; err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := names.Load("service"); ok {
		t.Error("the name is still registered after the listener was closed")
	}
}

// TestNoDirectory: without fabricd, calls with names fail with errors that say what to do. An endpoint whose name
// cannot be registered is not opened.
func TestNoDirectory(t *testing.T) {
	t.Setenv(fabricd.EnvDir, t.TempDir())
	ctx := testContext(t)
	if _, err := Open(ctx, Config{Provider: "tcp", Node: "127.0.0.1", Name: "job/0"}); !errors.Is(err,
		core.ErrNoData) || !strings.Contains(err.Error(), "fabricd run") {
		t.Errorf("Open: %v", err)
	}
	if _, err := Listen(ctx, "127.0.0.1:0", Config{Provider: "tcp", Name: "job/0"}); !errors.Is(err, core.ErrNoData) {
		t.Errorf("Listen: %v", err)
	}
	if _, _, err := GetInfo(core.Query{Node: "fabric://job/0"}); !errors.Is(err, core.ErrNoData) ||
		!strings.Contains(err.Error(), "fabricd run") {
		t.Errorf("GetInfo: %v", err)
	}
	e, err := Open(ctx, Config{Provider: "tcp", Node: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Insert("fabric://job/0"); !errors.Is(err, core.ErrNoData) ||
		!strings.Contains(err.Error(), "fabricd run") {
		t.Errorf("Insert: %v", err)
	}
}
