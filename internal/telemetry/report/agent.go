package report

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/telemetry"
)

// The pauses between searches for a daemon: while there is none, and after one has ended. The latter doubles each
// time.
const (
	lookEvery  = 5 * time.Second
	retryFirst = 100 * time.Millisecond
	wordTime   = 5 * time.Second // for fabricd to read an answer
)

// Start starts a goroutine that answers the node's fabricd, and returns the function that ends it. The result is
// nil if reports are disabled (FABRICD_DIR=off).
func Start() (stop func()) {
	if fabricd.Dirs() == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	go run(ctx)
	return cancel
}

func run(ctx context.Context) {
	for pause := lookEvery; ctx.Err() == nil; pause = min(2*pause, lookEvery) {
		if path := fabricd.Find(fabricd.Stats); path != "" {
			if talk(ctx, path) { // it may restart soon, or refuse again
				pause = retryFirst
			}
		}
		sleep(ctx, pause)
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// talk answers the daemon until the connection or ctx ends. It reports whether the daemon has sent a request.
func talk(ctx context.Context, path string) (asked bool) {
	d := net.Dialer{Timeout: wordTime}
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if say(c, 0, telemetry.Self()) != nil {
		return false
	}
	in := bufio.NewReader(c)
	for {
		var q Request
		if ReadFrame(in, &q, MaxRequest) != nil {
			return asked
		}
		asked = true
		if say(c, q.Seq, telemetry.Collect()) != nil {
			return asked
		}
	}
}

// say sends an answer. If it would be too long, it omits the details.
func say(c net.Conn, seq uint64, p *telemetry.Process) error {
	c.SetWriteDeadline(time.Now().Add(wordTime))
	err := WriteFrame(c, Reply{seq, p}, MaxFrame)
	if !errors.Is(err, errTooLong) {
		return err
	}
	p.More += len(p.Endpoints)
	p.Endpoints, p.Stalls = []telemetry.Endpoint{}, p.Stalls[:min(len(p.Stalls), telemetry.MaxStalls/8)]
	return WriteFrame(c, Reply{seq, p}, MaxFrame)
}
