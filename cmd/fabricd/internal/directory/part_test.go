package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
	"gofabric/test/parallel"
	"gofabric/test/wait"
)

func TestMain(m *testing.M) {
	parallel.Run(8)
	goleak.VerifyTestMain(m)
}

// node is the part behind its routes.
type node struct {
	mux  *daemon.Mux
	part *Part
	stop func()
}

// startNode starts the part as a daemon would.
func startNode(t *testing.T, c *daemon.Config) *node {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	n := &node{mux: daemon.NewMux(), part: New()}
	site := &daemon.Site{Config: c, Log: slog.New(slog.DiscardHandler), Mux: n.mux, Metrics: prometheus.NewRegistry()}
	if err := n.part.Start(ctx, site); err != nil {
		cancel()
		t.Fatal(err)
	}
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := n.part.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

// user sends requests with a uid.
type user struct {
	mux *daemon.Mux
	uid int
}

func (n *node) as(uid int) user { return user{n.mux, uid} }

// send sends a request, and decodes the answer into out. An answer without success becomes an *api.Error.
func (u user) send(ctx context.Context, method, path string, in, out any) error {
	body := ""
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = string(data)
	}
	r := httptest.NewRequestWithContext(daemon.WithCaller(ctx, daemon.Caller{UID: u.uid, GID: u.uid}), method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	u.mux.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		e := &api.Error{Status: w.Code}
		if err := json.Unmarshal(w.Body.Bytes(), e); err != nil {
			e.Message = w.Body.String()
		}
		return e
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), out)
}

// status returns the HTTP status of a request's error.
func status(err error) int {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func (u user) mustPut(ctx context.Context, t *testing.T, name, address, lease string) api.Registered {
	t.Helper()
	var out api.Registered
	if err := u.send(ctx, "PUT", api.NamePath(name), api.Registration{Address: address, Lease: lease}, &out); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	return out
}

func (u user) mustGet(ctx context.Context, t *testing.T, name string) (out api.Name) {
	t.Helper()
	if err := u.send(ctx, "GET", api.NamePath(name), nil, &out); err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	return out
}

// watch sends "type name" of each event to seen, and "alive" first.
func (u user) watch(ctx context.Context, prefix string, seen chan<- string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mux.ServeHTTP(w, r.WithContext(daemon.WithCaller(r.Context(), daemon.Caller{UID: u.uid})))
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/v1/watch?prefix="+prefix, nil)
	if err != nil {
		panic(err)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		seen <- err.Error()
		return
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e api.Event
		if err := d.Decode(&e); err != nil {
			return
		}
		seen <- strings.TrimSpace(e.Type + " " + e.Name)
	}
}

// fenceAll has ranks meet several times, each at any of the nodes. It checks that no rank is released before the
// last one arrives.
func fenceAll(ctx context.Context, t *testing.T, ranks, times int, users ...user) {
	t.Helper()
	var mu sync.Mutex
	arrived := make([]int, times)
	var work sync.WaitGroup
	for rank := range ranks {
		work.Go(func() {
			for g := range times {
				mu.Lock()
				arrived[g]++
				mu.Unlock()
				for done := false; !done; {
					var out api.Arrived
					if err := users[(rank+g)%len(users)].send(ctx, "POST", api.FencePath("job/end"), api.Arrival{Rank: rank, Size: ranks, Generation: &g, Wait: "5s"}, &out); err != nil {
						t.Errorf("rank %d at fence %d: %v", rank, g, err)
						return
					}
					done = out.Done
				}
				mu.Lock()
				if arrived[g] != ranks {
					t.Errorf("rank %d passed fence %d, and only %d of %d ranks had arrived", rank, g, arrived[g], ranks)
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
}

// onEveryStore runs a test on each kind of directory.
func onEveryStore(t *testing.T, test func(t *testing.T, n *node)) {
	for name, config := range map[string]func(t *testing.T) *daemon.Config{
		"memory": func(*testing.T) *daemon.Config { return &daemon.Config{StateDir: "off"} },
		"disk":   func(t *testing.T) *daemon.Config { return &daemon.Config{StateDir: t.TempDir()} },
		"etcd":   func(t *testing.T) *daemon.Config { return startEtcd(t).config() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, startNode(t, config(t)))
		})
	}
}

// TestDirectory checks the behaviour that every store must have.
func TestDirectory(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, n *node) {
		t.Run("names", func(t *testing.T) { testNames(t, n) })
		t.Run("owners", func(t *testing.T) { testOwners(t, n) })
		t.Run("leases", func(t *testing.T) { testLeases(t, n) })
		t.Run("values", func(t *testing.T) { testValues(t, n) })
		t.Run("fences", func(t *testing.T) { testFences(t, n) })
		t.Run("fences-below", func(t *testing.T) { testFencesBelow(t, n) })
		t.Run("watch", func(t *testing.T) { testWatch(t, n) })
		t.Run("quota", func(t *testing.T) { testQuota(t, n) })
		t.Run("nonsense", func(t *testing.T) { testNonsense(t, n) })
	})
}

func testNames(t *testing.T, n *node) {
	ctx, alice := t.Context(), n.as(1000)
	first := alice.mustPut(ctx, t, "n/a", "10.0.0.1:1", "")
	second := alice.mustPut(ctx, t, "n/b b/ä%2f", "10.0.0.1:2", "1h")
	if second.Revision <= first.Revision || first.Lease != "" || second.Lease == "" {
		t.Errorf("put: %+v, %+v", first, second)
	}
	if got := n.as(1001).mustGet(ctx, t, "n/b b/ä%2f"); got.Address != "10.0.0.1:2" || got.Owner != 1000 ||
		got.Revision != second.Revision || got.Lease != "1h0m0s" {
		t.Errorf("get: %+v", got)
	}
	var all []string
	for after, more := "", true; more; {
		var list api.Names
		if err := alice.send(ctx, "GET", "/v1/names?prefix=n/&limit=1&after="+after, nil, &list); err != nil ||
			len(list.Names) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		all = append(all, list.Names[0].Name)
		after, more = "n/a", list.More
	}
	if !slices.Equal(all, []string{"n/a", "n/b b/ä%2f"}) {
		t.Errorf("listed %q", all)
	}
	var d api.Deleted
	if err := alice.send(ctx, "DELETE", "/v1/names?prefix=n/", nil, &d); err != nil || d.Count != 2 {
		t.Errorf("deleted %+v, %v", d, err)
	}
	if err := alice.send(ctx, "GET", api.NamePath("n/a"), nil, nil); status(err) != 404 {
		t.Errorf("a deleted name: %v", err)
	}
	if err := alice.send(ctx, "DELETE", api.NamePath("n/a"), nil, nil); status(err) != 404 {
		t.Errorf("deleted again: %v", err)
	}
}

func testOwners(t *testing.T, n *node) {
	ctx, alice, bob, root := t.Context(), n.as(1000), n.as(1001), n.as(0)
	lease := alice.mustPut(ctx, t, "o/a", "1", "1m").Lease
	for what, err := range map[string]error{
		"replaces": bob.send(ctx, "PUT", api.NamePath("o/a"), api.Registration{Address: "evil"}, nil),
		"deletes":  bob.send(ctx, "DELETE", api.NamePath("o/a"), nil, nil),
		"renews":   bob.send(ctx, "POST", api.LeasePath(lease), nil, nil),
		"joins":    bob.send(ctx, "PUT", api.NamePath("o/b"), api.Registration{Address: "evil", LeaseID: lease}, nil),
	} {
		if status(err) != 403 {
			t.Errorf("bob %s alice's name or lease: %v", what, err)
		}
	}
	var d api.Deleted
	if err := bob.send(ctx, "DELETE", "/v1/names?prefix=o/", nil, &d); err != nil || d.Count != 0 {
		t.Errorf("bob deletes alice's names by prefix: %+v, %v", d, err)
	}
	if got := alice.mustGet(ctx, t, "o/a"); got.Address != "1" {
		t.Errorf("after bob: %+v", got)
	}
	if err := alice.send(ctx, "PUT", api.KeyPath("o/secret"), api.Value{Value: []byte("s"), Private: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := bob.send(ctx, "GET", api.KeyPath("o/secret"), nil, nil); status(err) != 403 {
		t.Errorf("bob reads alice's secret: %v", err)
	}
	var list api.Values
	if err := bob.send(ctx, "GET", "/v1/kv?prefix=o/", nil, &list); err != nil || len(list.Values) != 0 {
		t.Errorf("bob lists alice's secret: %+v, %v", list, err)
	}
	root.mustPut(ctx, t, "o/a", "2", "")
	if got := alice.mustGet(ctx, t, "o/a"); got.Address != "2" || got.Owner != 1000 {
		t.Errorf("after root's change: %+v", got)
	}
	if err := root.send(ctx, "DELETE", api.NamePath("o/a"), nil, nil); err != nil {
		t.Error(err)
	}
}

func testLeases(t *testing.T, n *node) {
	ctx, alice := wait.Context(t), n.as(1000)
	seen := make(chan string, 100)
	go alice.watch(ctx, "l/", seen)
	<-seen
	lease := alice.mustPut(ctx, t, "l/a", "1", "3s").Lease
	if err := alice.send(ctx, "PUT", api.NamePath("l/b"), api.Registration{Address: "2", LeaseID: lease}, nil); err != nil {
		t.Fatal(err)
	}
	renewed := api.Renewed{}
	if err := alice.send(ctx, "POST", api.LeasePath(lease), nil, &renewed); err != nil ||
		time.Until(renewed.Expires) > 4*time.Second {
		t.Errorf("renewed: %+v, %v", renewed, err)
	}
	got := map[string]int{}
	for range 4 {
		select {
		case s := <-seen:
			got[s]++
		case <-ctx.Done():
			t.Fatalf("only the events %v arrived", got)
		}
	}
	if got["put l/a"] != 1 || got["put l/b"] != 1 || got["expire l/a"] != 1 || got["expire l/b"] != 1 {
		t.Errorf("events: %v", got)
	}
	for _, id := range []string{lease, "xyz", "0000000000000001"} {
		if err := alice.send(ctx, "POST", api.LeasePath(id), nil, nil); status(err) != 404 && status(err) != 403 {
			t.Errorf("renewal of the unknown lease %s: %v", id, err)
		}
	}
}

// counting is a store that reports look-ups of missing keys.
type counting struct {
	store.Store
	missed chan string
}

func (c *counting) Get(ctx context.Context, who store.Caller, k store.Kind, key string) (store.Entry, error) {
	e, err := c.Store.Get(ctx, who, k, key)
	if errors.Is(err, store.ErrNotFound) {
		c.missed <- key
	}
	return e, err
}

func testValues(t *testing.T, n *node) {
	ctx, alice := t.Context(), n.as(1000)
	real, missed := n.part.store, make(chan string, 10)
	n.part.store = &counting{real, missed}
	defer func() { n.part.store = real }()
	got := make(chan api.Value, 1)
	go func() {
		var v api.Value
		if err := n.as(1001).send(ctx, "GET", api.KeyPath("v/late")+"?wait=20s", nil, &v); err != nil {
			t.Error(err)
		}
		got <- v
	}()
	<-missed
	<-missed // the second look-up comes after the watch began: from here on it waits
	if err := alice.send(ctx, "PUT", api.KeyPath("v/latex"), api.Value{Value: []byte("another")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := alice.send(ctx, "PUT", api.KeyPath("v/late"), api.Value{Value: []byte{0, 255}}, nil); err != nil {
		t.Fatal(err)
	}
	if v := <-got; !slices.Equal(v.Value, []byte{0, 255}) || v.Owner != 1000 {
		t.Errorf("the wait returned %+v", v)
	}
	if err := alice.send(ctx, "GET", api.KeyPath("v/never")+"?wait=10ms", nil, nil); status(err) != 404 {
		t.Errorf("a wait for a missing value: %v", err)
	}
	large := make([]byte, 256<<10)
	if err := alice.send(ctx, "PUT", api.KeyPath("v/large"), api.Value{Value: large}, nil); err != nil {
		t.Errorf("256 KiB: %v", err)
	}
	if err := alice.send(ctx, "PUT", api.KeyPath("v/large"), api.Value{Value: append(large, 0)}, nil); status(err) != 400 {
		t.Errorf("256 KiB and one byte: %v", err)
	}
}

func testFences(t *testing.T, n *node) {
	ctx, alice := t.Context(), n.as(1000)
	fenceAll(ctx, t, 16, 5, alice)
	var out api.Arrived
	zero := 0
	// The answer to the last arrival was lost, so the same arrival is sent again.
	if err := alice.send(ctx, "POST", api.FencePath("job/end"), api.Arrival{Rank: 3, Size: 16, Generation: &zero}, &out); err != nil || !out.Done {
		t.Errorf("a second arrival at a complete fence: %+v, %v", out, err)
	}
	out = api.Arrived{}
	for range 2 { // two equal arrivals count once
		if err := alice.send(ctx, "POST", api.FencePath("f/few"), api.Arrival{Rank: 1, Size: 3, Wait: "10ms"}, &out); err != nil {
			t.Fatal(err)
		}
	}
	if out.Done || out.Count != 1 || !slices.Equal(out.Missing, []int{0, 2}) {
		t.Errorf("after one of three arrivals: %+v", out)
	}
	out = api.Arrived{}
	if err := n.as(1001).send(ctx, "POST", api.FencePath("f/few"), api.Arrival{Rank: 0, Size: 3}, &out); err != nil ||
		out.Count != 1 || out.Missing[0] != 1 {
		t.Errorf("another user's fence of the same name: %+v, %v", out, err)
	}
	seven := 7
	if err := alice.send(ctx, "POST", api.FencePath("f/few"), api.Arrival{Rank: 0, Size: 3, Generation: &seven}, nil); status(err) != 400 {
		t.Errorf("a generation far in the future: %v", err)
	}
	// This old generation could not be removed at its time.
	old := fenceID{uid: 1000, size: 16, name: "job/end"}.key(0, 7)
	if _, err := n.part.store.Put(ctx, store.Caller{UID: 1000}, store.Request{Kind: store.Fences, Key: old, TTL: fenceTTL, Private: true}); err != nil {
		t.Fatal(err)
	}
	n.untilGone(t, old) // when the node learns of it
}

// untilGone waits until an arrival at a fence is removed.
func (n *node) untilGone(t *testing.T, key string) {
	t.Helper()
	wait.Until(t, "an old generation is removed", func() bool {
		_, err := n.part.store.Get(t.Context(), asDaemon(), store.Fences, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		return err != nil
	})
}

// testFencesBelow: the removal of a fence's old generations does not affect fences whose names begin with its name.
func testFencesBelow(t *testing.T, n *node) {
	ctx, alice := t.Context(), n.as(1000)
	below := []string{"step/0", "step/0/x", "step/1", "step/1/0"}
	arrive := func(name string, rank, generation int) (out api.Arrived) {
		t.Helper()
		if err := alice.send(ctx, "POST", api.FencePath(name), api.Arrival{Rank: rank, Size: 2, Generation: &generation}, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, name := range below {
		arrive(name, 1, 0)
	}
	for g := range 3 {
		arrive("step", 0, g)
		if out := arrive("step", 1, g); !out.Done {
			t.Fatalf("after both arrivals: %+v", out)
		}
	}
	id := fenceID{uid: 1000, size: 2, name: "step"}
	for g := range 2 {
		for rank := range id.size {
			n.untilGone(t, id.key(g, rank))
		}
	}
	for _, name := range below {
		if _, err := n.part.store.Get(ctx, asDaemon(), store.Fences, fenceID{uid: 1000, size: 2, name: name}.key(0, 1)); err != nil {
			t.Errorf("the arrival at %s: %v", name, err)
		}
	}
}

func testWatch(t *testing.T, n *node) {
	ctx := wait.Context(t)
	alice := n.as(1000)
	for range 10 { // the revision of an answer has been reached, even if the node has not received it yet
		at := alice.mustPut(ctx, t, "x/0", "1", "").Revision
		w, err := n.part.store.Watch(ctx, asDaemon(), store.Names, "x/", at)
		if err != nil || w.At() != at {
			t.Errorf("a watch from the revision of an answer, %d: %v", at, err)
		}
	}
	if err := alice.send(ctx, "GET", "/v1/watch?from=1000000000000", nil, nil); status(err) != 410 {
		t.Errorf("a watch from another directory's revision: %v, want 410", err)
	}
	seen := make(chan string, 100)
	go n.as(1001).watch(ctx, "w/", seen)
	want := []string{"alive", "put w/1", "put w/2", "delete w/1", "delete w/2"}
	for i, w := range want {
		select {
		case got := <-seen:
			if got != w {
				t.Fatalf("event %d is %q, want %q", i, got, w)
			}
		case <-ctx.Done():
			t.Fatalf("event %d, %q, did not arrive", i, w)
		}
		var err error
		switch i {
		case 0:
			alice.mustPut(ctx, t, "x/1", "1", "")
			alice.mustPut(ctx, t, "w/1", "1", "")
		case 1:
			alice.mustPut(ctx, t, "w/2", "1", "")
		case 2:
			err = alice.send(ctx, "DELETE", api.NamePath("w/1"), nil, nil)
		case 3:
			err = alice.send(ctx, "DELETE", "/v1/names?prefix=w/", nil, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func testQuota(t *testing.T, n *node) {
	ctx, carol := t.Context(), n.as(1002)
	if err := n.part.Reload(&daemon.Config{EntriesPerUser: 3, BytesPerUser: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	defer n.part.Reload(&daemon.Config{})
	refused := 0
	for i := range 200 { // a cluster may accept some more before it has received the first ones
		err := carol.send(ctx, "PUT", api.NamePath(fmt.Sprint("q/", i)), api.Registration{Address: "1"}, nil)
		if status(err) == 507 {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused < 150 {
		t.Errorf("only %d of 200 puts were refused", refused)
	}
	n.as(1003).mustPut(ctx, t, "q/other", "1", "")
}

func testNonsense(t *testing.T, n *node) {
	ctx, alice := t.Context(), n.as(1000)
	long := strings.Repeat("x", 513)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", "/v1/names/" + long, `{"address":"1"}`, 400},
		{"PUT", "/v1/names/a", `{"address":"` + strings.Repeat("x", 4097) + `"}`, 400},
		{"PUT", "/v1/names/a", `{"address":""}`, 400},
		{"PUT", "/v1/names/a", `{"address":"1","lease":"soon"}`, 400},
		{"PUT", "/v1/names/a", `{"address":"1","lease":"-1s"}`, 400},
		{"PUT", "/v1/names/a", `{"address":"1","lease":"1ns"}`, 400},
		{"PUT", "/v1/names/a", `{"address":"1","lease":"99999h"}`, 400},
		{"PUT", "/v1/names/a", `{"address":"1","colour":"red"}`, 400},
		{"PUT", "/v1/names/a", `{"address":"1"}{}`, 400},
		{"PUT", "/v1/names/a", `{"address":1}`, 400},
		{"PUT", "/v1/names/a", `{`, 400},
		{"PUT", "/v1/names/a", ``, 400},
		{"PUT", "/v1/names/a", `{"address":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
		{"PUT", "/v1/names/a%00b", `{"address":"1"}`, 400},
		{"PUT", "/v1/names/a%2f..%2fb", `{"address":"1"}`, 400},
		{"PUT", "/v1/names/%ff", `{"address":"1"}`, 400},
		{"GET", "/v1/names/a%2f..%2fb", ``, 400},
		{"GET", "/v1/names?limit=-1", ``, 400},
		{"GET", "/v1/watch?from=x", ``, 400},
		{"GET", "/v1/kv/a?wait=x", ``, 400},
		{"DELETE", "/v1/names", ``, 400},
		{"POST", "/v1/leases/" + long, ``, 404},
		{"POST", "/v1/fence/a", `{"rank":2,"size":2}`, 400},
		{"POST", "/v1/fence/a", `{"rank":-1,"size":2}`, 400},
		{"POST", "/v1/fence/a", `{"rank":0,"size":1000000}`, 400},
		{"POST", "/v1/fence/" + strings.Repeat("x", 500), `{"rank":0,"size":2}`, 400},
		{"PATCH", "/v1/names/a", `{}`, 405},
	} {
		r := httptest.NewRequestWithContext(daemon.WithCaller(ctx, daemon.Caller{UID: alice.uid}), c.method, c.path, strings.NewReader(c.body))
		w := httptest.NewRecorder()
		n.mux.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s %.60s %.60s: %d %.200s, want %d", c.method, c.path, c.body, w.Code, w.Body, c.want)
		}
	}
}
