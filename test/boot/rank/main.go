// Command rank is a process of a job, for the tests. It joins the job, publishes its address, exchanges messages with
// all ranks, and prints a line when all went well.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/boot"
	"gofabric/core"
)

var (
	provider = flag.String("provider", "tcp", "the provider")
	from     = flag.String("from", "", "the job's launcher or directory")
	big      = flag.Int("big", 10_000, "length of the value that each rank publishes beside its address, in bytes")
	die      = flag.Int("die", -1, "the rank that kills itself before the last fence")
	quick    = flag.Bool("quick", false, "go to the last fence without exchanging messages")
	limit    = flag.Duration("limit", 30*time.Second, "time limit for the whole run")
)

func main() {
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	job, err := boot.Join(ctx, boot.Config{Source: *from})
	if err != nil {
		return err
	}
	defer job.Close()
	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: *provider, Caps: core.CapTagged, Peers: job.Size()})
	if err != nil {
		return err
	}
	defer ep.Close()
	peers, err := boot.Peers(ctx, job, ep)
	if err != nil {
		return err
	}
	if err := values(ctx, job); err != nil {
		return err
	}
	if job.Rank() == *die {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if !*quick {
		if err := allToAll(ctx, job, ep, peers); err != nil {
			return err
		}
	}
	if err := job.Fence(ctx); err != nil { // an endpoint that closes early discards what its peers have not received
		return err
	}
	if err := job.Close(); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d, source %s, %s: ok\n", job.Rank(), job.Size(), job.Source(), ep.Info().Fabric.ProvName)
	return nil
}

// values exchanges values that are longer than a launcher's protocol carries.
func values(ctx context.Context, job *boot.Job) error {
	pattern := func(rank int) []byte {
		return bytes.Repeat([]byte{byte(rank), 0, 0xff, ' ', ';', '=', '\n'}, *big/7+1)[:*big]
	}
	all, err := job.Exchange(ctx, pattern(job.Rank()))
	if err != nil {
		return err
	}
	for i, v := range all {
		if !bytes.Equal(v, pattern(i)) {
			return fmt.Errorf("rank %d got %d bytes from rank %d, but they differ from those that it sent",
				job.Rank(), len(v), i)
		}
	}
	if _, err := job.Get(ctx, "missing"); !errors.Is(err, boot.ErrNoKey) {
		return fmt.Errorf("reading a key that no rank has put: %v", err)
	}
	return nil
}

// allToAll sends a message to each rank, and receives one from each.
func allToAll(ctx context.Context, job *boot.Job, ep *gofabric.Endpoint, peers []gofabric.Peer) error {
	n := job.Size()
	sent := make(chan error, n)
	for to := range n {
		go func() {
			sent <- ep.TSend(ctx, peers[to], fmt.Appendf(nil, "from %d to %d", job.Rank(), to), uint64(job.Rank()))
		}()
	}
	for from := range n {
		buf := make([]byte, 64)
		r, err := ep.TRecv(ctx, gofabric.AnyPeer, buf, uint64(from), 0)
		if err != nil {
			return err
		}
		if got, want := string(buf[:r.Len]), fmt.Sprintf("from %d to %d", from, job.Rank()); got != want {
			return fmt.Errorf("rank %d got %q, not %q", job.Rank(), got, want)
		}
		if r.From != gofabric.AnyPeer && r.From != peers[from] {
			return fmt.Errorf("rank %d got rank %d's message from peer %d", job.Rank(), from, r.From)
		}
	}
	for range n {
		if err := <-sent; err != nil {
			return err
		}
	}
	return nil
}
