package fabricd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// registry is the clients' record of acknowledged registrations.
type registry struct {
	mu    sync.Mutex
	names map[string]uint64 // with their revision
	count int
}

// register registers names until ctx ends. It repeats each registration until it is acknowledged, as clients do while
// their daemon is down.
func (r *registry) register(ctx context.Context, t *testing.T, c *api.Client, client int) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("job/%d/%d", client, i%1000)
		for ctx.Err() == nil {
			var out api.Registered
			err := c.Do(ctx, "PUT", api.NamePath(name),
				api.Registration{Address: fmt.Sprint("10.0.0.1:", i), Lease: "10m"}, &out)
			if err == nil {
				r.mu.Lock()
				r.names[name] = out.Revision
				r.count++
				r.mu.Unlock()
				break
			}
			if s := status(err); s != 0 && s != 503 {
				t.Errorf("register: %v", err)
				return
			}
			time.Sleep(5 * time.Millisecond) // until a daemon runs again
		}
	}
}

// reach waits until n more registrations are acknowledged.
func (r *registry) reach(t *testing.T, n int) {
	t.Helper()
	r.mu.Lock()
	want := r.count + n
	r.mu.Unlock()
	wait.Until(t, fmt.Sprintf("%d registrations", want), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.count >= want
	})
}

func (r *registry) copy() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := map[string]uint64{}
	for k, v := range r.names {
		c[k] = v
	}
	return c
}

// follow watches from revision to revision across restarts of the daemon. It checks that no revision is missing or
// repeated.
func follow(ctx context.Context, t *testing.T, c *api.Client) {
	last := uint64(0)
	for ctx.Err() == nil {
		body, err := c.Open(ctx, "GET", fmt.Sprint("/v1/watch?from=", last), nil)
		if err != nil {
			if s := status(err); s != 0 && s != 503 {
				t.Errorf("watch from %d: %v", last, err)
				return
			}
			time.Sleep(5 * time.Millisecond) // until a daemon runs again
			continue
		}
		for d := json.NewDecoder(body); ; {
			var e api.Event
			if d.Decode(&e) != nil {
				break
			}
			switch {
			case e.Type == "error" && e.Error.Status == 503:
			case e.Type == "error":
				t.Errorf("watch: %v", e.Error)
			case e.Type == "put" && last != 0 && e.Revision != last+1:
				t.Errorf("revision %d follows %d", e.Revision, last)
			}
			last = max(last, e.Revision)
		}
		body.Close()
	}
}

// TestKilledUnderLoad kills the daemon repeatedly while clients register names. Acknowledged names are there after
// each restart, and clients and watchers continue.
func TestKilledUnderLoad(t *testing.T) {
	dir := newDir(t)
	rounds := 5
	if need.Many() {
		rounds = 50
	}
	p := start(t, dir)
	ctx := within(t, 5*time.Minute)
	r := &registry{names: map[string]uint64{}}
	run, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for i := range 6 {
		c := client(t, dir)
		clients.Go(func() { r.register(run, t, c, i) })
	}
	watcher := client(t, dir)
	clients.Go(func() { follow(run, t, watcher) })
	for round := range rounds {
		r.reach(t, 200+round*37%100)
		p.Kill()
		before := r.copy()
		p = start(t, dir)
		c := client(t, dir)
		have := map[string]api.Name{}
		for after, more := "", true; more; {
			var list api.Names
			if err := c.Do(ctx, "GET", "/v1/names?prefix=job/&after="+after, nil, &list); err != nil {
				t.Fatal(err)
			}
			for _, n := range list.Names {
				have[n.Name], after = n, n.Name
			}
			more = list.More
		}
		for name, revision := range before {
			if n, ok := have[name]; !ok || n.Revision < revision {
				t.Fatalf("round %d: %s, acknowledged at revision %d, is %+v", round, name, revision, n)
			}
		}
	}
	r.reach(t, 100)
	cancel()
	clients.Wait()
	t.Logf("%d registrations acknowledged, %d times killed", r.count, rounds)
}

// TestStopsInOrder checks that a daemon stops at once on request, although clients watch and wait. It leaves its state
// and removes its socket.
func TestStopsInOrder(t *testing.T) {
	dir := newDir(t)
	p := start(t, dir)
	c := client(t, dir)
	ctx := within(t, time.Minute)
	if err := c.Do(ctx, "PUT", api.NamePath("a"), api.Registration{Address: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	body, err := c.Open(ctx, "GET", "/v1/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	waited := make(chan error, 1)
	go func() { waited <- client(t, dir).Do(ctx, "GET", api.KeyPath("never")+"?wait=1m", nil, nil) }()
	begin := time.Now()
	p.Stop()
	if took := time.Since(begin); took > 45*time.Second { // less than the waiting call would take
		t.Errorf("stopping took %v", took)
	}
	if err := <-waited; err == nil {
		t.Error("waiting for a value that does not exist succeeded")
	}
	if _, err := os.Stat(dir + "/api.sock"); err == nil {
		t.Error("the socket is still there")
	}
	start(t, dir)
	if err := client(t, dir).Do(ctx, "GET", api.NamePath("a"), nil, nil); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}
