package directory

import (
	"fmt"
	"testing"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
	"gofabric/test/wait"
)

// TestHistoryLost: etcd loses all data, and begins again at revision 1, below the revision that nodes wait for. The
// nodes notice this. Watchers get an error that tells them to list again, the lost entries disappear on all nodes,
// and later watches and fences work.
func TestHistoryLost(t *testing.T) {
	t.Parallel()
	c := startEtcd(t)
	n := startNode(t, c.config())
	ctx := wait.Context(t)
	alice := n.as(1000)
	seen := make(chan string, 1000)
	go alice.watch(ctx, "job/", seen)
	<-seen // alive
	for i := range 40 {
		alice.mustPut(ctx, t, fmt.Sprint("job/", i), "10.0.0.1:1", "")
		if got, want := <-seen, fmt.Sprint("put job/", i); got != want {
			t.Fatalf("the watch returned %q, want %q", got, want)
		}
	}
	fenceAll(ctx, t, 4, 2, alice)
	for i := range c.members {
		c.kill(i)
	}
	for i := range c.members {
		c.forget(t, i)
		c.returns(t, i)
	}
	c.untilUp()
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
	if err := alice.send(ctx, "GET", "/v1/names?prefix=job/", nil, &names); err != nil || len(names.Names) != 0 {
		t.Errorf("the node has %d names, %v", len(names.Names), err)
	}
	if got := n.part.store.Usage(); got != (store.Usage{}) {
		t.Errorf("the node's usage is %+v", got)
	}
	fresh := make(chan string, 1000)
	go alice.watch(ctx, "job/", fresh)
	<-fresh // alive
	alice.mustPut(ctx, t, "job/new", "10.0.0.1:2", "")
	if got := <-fresh; got != "put job/new" {
		t.Errorf("the new watch returned %q", got)
	}
	fenceAll(ctx, t, 4, 2, alice)
}
