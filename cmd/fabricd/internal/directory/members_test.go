package directory

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// TestMemberKilled kills each of three members in turn, the leader or another one. Meanwhile names are added and
// deleted, and watches and fences work.
func TestMemberKilled(t *testing.T) {
	t.Parallel()
	c := startEtcd(t)
	n1, n2 := startNode(t, c.config()), startNode(t, c.config())
	ctx := wait.Context(t)
	alice1, alice2 := n1.as(1000), n2.as(1000)
	seen := make(chan string, 1000)
	go alice2.watch(ctx, "job/", seen)
	<-seen // alive
	for i := range 60 {
		if i == 20 {
			c.kill(0)
		}
		name := fmt.Sprint("job/", i)
		alice1.mustPut(ctx, t, name, fmt.Sprint("10.0.0.1:", i), "1m")
		if got := alice2.mustGet(ctx, t, name); got.Address != fmt.Sprint("10.0.0.1:", i) || got.Owner != 1000 {
			t.Fatalf("the other node has %+v", got)
		}
	}
	for i := range 60 {
		select {
		case got := <-seen:
			if want := fmt.Sprint("put job/", i); got != want {
				t.Fatalf("the other node's watch returned %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatal("the other node's watch returned nothing more")
		}
	}
	fenceAll(ctx, t, 8, 3, alice1, alice2)
	if !need.Many() {
		return
	}
	c.kill(1) // one member is not a majority
	begin := time.Now()
	err := alice1.send(ctx, "PUT", api.NamePath("job/0"), api.Registration{Address: "10.0.0.1:1"}, nil)
	if took := time.Since(begin); status(err) != 503 || took > 2*requestTime {
		t.Errorf("without a majority: %v after %v", err, took)
	}
}

// TestMemberReturns: members die and return one after the other, until each was away. No entry is lost, and at the
// end all entries are there.
func TestMemberReturns(t *testing.T) {
	t.Parallel()
	c := startEtcd(t)
	n := startNode(t, c.config())
	ctx := wait.Context(t)
	alice := n.as(1000)
	seen := make(chan string, 1000)
	go alice.watch(ctx, "job/", seen)
	<-seen // alive
	for i := range 3 {
		c.kill(i)
		alice.mustPut(ctx, t, fmt.Sprint("job/", i), "10.0.0.1:1", "")
		c.returns(t, i)
		c.members[i].Expect(up)
	}
	for i := range 3 {
		if got, want := <-seen, fmt.Sprint("put job/", i); got != want {
			t.Errorf("the watch returned %q, want %q", got, want)
		}
		alice.mustGet(ctx, t, fmt.Sprint("job/", i))
	}
	fenceAll(ctx, t, 4, 2, alice)
	n.untilWell(t)
}

// ask sends a request to a member itself, through etcd's JSON gateway, and returns the revision of the answer.
func (c *etcd) ask(ctx context.Context, t *testing.T, member int, path, body string) (revision string, err error) {
	t.Helper()
	config, err := etcdTLS(c.config())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, "POST", c.endpoints[member]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != 200 {
		return "", fmt.Errorf("%s: %s, %w", path, resp.Status, err)
	}
	return answer.Header.Revision, nil
}

// relay forwards connections to a member until it is shut.
type relay struct {
	l    net.Listener
	to   string
	mu   sync.Mutex
	shut bool
	open map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &relay{l: l, to: strings.TrimPrefix(to, "https://"), open: map[net.Conn]bool{}}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { g.pass(in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		g.set(true)
		work.Wait()
	})
	return g
}

func (g *relay) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer out.Close()
	g.mu.Lock()
	if g.shut {
		g.mu.Unlock()
		return
	}
	g.open[in], g.open[out] = true, true
	g.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(in, out) // the copy ends when either side closes
		in.Close()
	})
	_, _ = io.Copy(out, in)
	out.Close()
	back.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, in)
	delete(g.open, out)
}

// set shuts the relay or opens it.
func (g *relay) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for c := range g.open {
		if shut {
			c.Close()
		}
	}
}

// arrive arrives at a fence of two ranks.
func (u user) arrive(ctx context.Context, t *testing.T, name string, rank int, last bool) {
	t.Helper()
	wait := "0s"
	if last {
		wait = "1m"
	}
	var out api.Arrived
	if err := u.send(ctx, "POST", api.FencePath(name), api.Arrival{Rank: rank, Size: 2, Wait: wait}, &out); err != nil || out.Done != last {
		t.Errorf("at the fence %s: %+v, %v", name, out, err)
	}
}

// shape describes all fences that a node knows.
func (f *fences) shape() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for id, fence := range f.known {
		text := fmt.Sprintf("%v: %d is complete", id, fence.complete)
		for n, g := range fence.generations {
			text += fmt.Sprintf("; came to %d: %d", n, len(g.came))
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// untilWell waits until the node reports no trouble. A node checks this at intervals.
func (n *node) untilWell(t *testing.T) {
	t.Helper()
	wait.Until(t, "the node reports no trouble", func() bool { return n.part.Trouble() == nil })
}

// TestCompacted: a node is cut off while etcd's history continues and is compacted. The node reports trouble. When
// it is connected again, its watchers get an error that tells them to list again, it has all current entries and
// none that were deleted meanwhile, and a caller that waits at a fence there is released.
func TestCompacted(t *testing.T) {
	t.Parallel()
	c := startEtcd(t)
	g := newRelay(t, c.endpoints[0])
	far := c.config()
	far.Etcd = []string{"https://" + g.l.Addr().String()}
	near, away := startNode(t, c.config()), startNode(t, far)
	ctx := wait.Context(t)
	alice, distant := near.as(1000), away.as(1000)
	seen := make(chan string, 1000)
	go distant.watch(ctx, "job/", seen)
	<-seen // alive
	waits := make(chan error, 1)
	go func() {
		var out api.Arrived
		err := distant.send(ctx, "POST", api.FencePath("job/f"), api.Arrival{Rank: 0, Size: 2, Wait: "1m"}, &out)
		if err == nil && !out.Done {
			err = fmt.Errorf("%+v", out)
		}
		waits <- err
	}()
	wait.Until(t, "the first rank arrives at the fence", func() bool { return away.part.fences.has(fenceID{uid: 1000, size: 2, name: "job/f"}, 0, 0) })
	alice.arrive(ctx, t, "job/gone", 0, false)
	wait.Until(t, "the other node receives the arrival", func() bool { return away.part.fences.has(fenceID{uid: 1000, size: 2, name: "job/gone"}, 0, 0) })
	g.set(true)
	alice.arrive(ctx, t, "job/f", 1, true)
	alice.arrive(ctx, t, "job/f", 0, false) // another generation, whose end removes the first one
	alice.arrive(ctx, t, "job/f", 1, true)
	if _, _, err := near.part.store.DeletePrefix(ctx, asDaemon(), store.Fences, fenceID{uid: 1000, size: 2, name: "job/gone"}.prefix(0)); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		alice.mustPut(ctx, t, fmt.Sprint("job/", i), "10.0.0.1:1", "")
	}
	last, err := c.ask(ctx, t, 0, "/v3/kv/range", `{"key":"eA=="}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ask(ctx, t, 0, "/v3/kv/compaction", `{"revision":"`+last+`","physical":true}`); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the watch notices the lost connection", func() bool { return away.part.Trouble() != nil })
	g.set(false)
	for got := ""; got != "error"; {
		select {
		case got = <-seen:
			if got != "error" && got != "alive" {
				t.Fatalf("the watch returned %q, want an error", got)
			}
		case <-ctx.Done():
			t.Fatal("the watch returned nothing")
		}
	}
	var names api.Names
	if err := distant.send(ctx, "GET", "/v1/names?prefix=job/", nil, &names); err != nil || len(names.Names) != 20 {
		text, _ := json.Marshal(names)
		t.Errorf("the node has %s, %v", text, err)
	}
	if err := <-waits; err != nil {
		t.Errorf("the wait at the fence: %v", err)
	}
	const left = "fence \"job/f\" of 2: 1 is complete; came to 1: 2" // without the fences that were removed meanwhile
	defer func() {
		if t.Failed() {
			t.Logf("the node has the fences %q, the other node %q, want %q",
				away.part.fences.shape(), near.part.fences.shape(), left)
		}
	}()
	wait.Until(t, "both nodes have the same fences", func() bool {
		return near.part.fences.shape() == left && away.part.fences.shape() == left
	})
	away.untilWell(t)
	if got := away.part.store.Usage(); got != near.part.store.Usage() {
		t.Errorf("the node's usage is %+v, the other node's %+v", got, near.part.store.Usage())
	}
}
