package boot

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/test/wait"
)

// TestRestart kills fabricd and starts it again without its state. The data path of registered endpoints is not
// disturbed, and they register again without a call of the application.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("FABRICD_DIR")
	d := runFabricd(t, dir, "off")
	ctx, cancel := context.WithTimeout(t.Context(), jobLimit)
	defer cancel()
	a, b := open(ctx, t, "job/0"), open(ctx, t, "job/1")
	toB := insert(t, a, "fabric://job/1")
	toA := insert(t, b, "fabric://job/0")

	traffic, stop := context.WithCancel(ctx)
	done := make(chan error, 2)
	var slowest time.Duration
	go func() { done <- echo(traffic, b, toA) }()
	go func() {
		var err error
		slowest, err = ping(traffic, a, toB)
		done <- err
	}()

	d.End(syscall.SIGKILL)
	if _, err := b.Insert("fabric://job/0"); !errors.Is(err, core.ErrNoData) {
		t.Errorf("resolving a name while fabricd is dead: %v", err)
	}
	runFabricd(t, dir, "off")
	for _, name := range []string{"fabric://job/0", "fabric://job/1"} {
		wait.Until(t, name, func() bool { _, err := a.Insert(name); return err == nil })
	}
	stop()
	for range 2 {
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error("the data path:", err)
		}
	}
	t.Logf("the slowest round trip meanwhile took %v", slowest)
	// The machine may be busy; a data path that waits for fabricd would take as long as the names do, or for ever.
	if slowest > 5*time.Second {
		t.Errorf("a round trip took %v", slowest)
	}
}

func open(ctx context.Context, t *testing.T, name string) *gofabric.Endpoint {
	t.Helper()
	e, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func insert(t *testing.T, e *gofabric.Endpoint, name string) gofabric.Peer {
	t.Helper()
	p, err := e.Insert(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// echo sends each message back.
func echo(ctx context.Context, e *gofabric.Endpoint, to gofabric.Peer) error {
	buf := make([]byte, 64)
	for {
		r, err := e.Recv(ctx, gofabric.AnyPeer, buf)
		if err == nil {
			err = e.Send(ctx, to, buf[:r.Len])
		}
		if err != nil {
			return err
		}
	}
}

// ping makes round trips and returns how long the slowest took.
func ping(ctx context.Context, e *gofabric.Endpoint, to gofabric.Peer) (slowest time.Duration, err error) {
	buf := make([]byte, 64)
	for {
		begun := time.Now()
		if err := e.Send(ctx, to, buf); err != nil {
			return slowest, err
		}
		if _, err := e.Recv(ctx, gofabric.AnyPeer, buf); err != nil {
			return slowest, err
		}
		slowest = max(slowest, time.Since(begun))
		select { // a few hundred round trips a second are enough
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return slowest, ctx.Err()
		}
	}
}
