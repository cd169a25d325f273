package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
)

// The server receives through the root package what clients send. It reads late.

type server struct {
	setup
	journal *journal
	calls   sync.WaitGroup
}

func (b *server) fail(c count, format string, args ...any) {
	say("FAIL %s the server: %s", countNames[c], strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " / "))
}

// serverMain is the program of the server.
func serverMain(text string) {
	b := &server{setup: parse(text)}
	before := takeStock()
	var err error
	if b.journal, err = newJournal(b.Dir, serverOwner, b.Life, b.epoch()); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	closer, err := b.open(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the server:", err)
		os.Exit(2)
	}
	say("READY %d", b.Life)
	bufio.NewScanner(os.Stdin).Scan()
	cancel()
	began := time.Now()
	if err := closer.Close(); err != nil {
		b.fail(hung, "closing: %v", err)
	}
	b.calls.Wait()
	if took := time.Since(began); took > closeBound {
		b.fail(hung, "closing took %v", took)
	}
	b.journal.f.Close()
	if more := before.settle(); more != "" {
		b.fail(leaked, "after everything was closed, more is in use than before: %s", more)
	}
	say("CLOSED %d", b.Life)
	os.Exit(0)
}

func (b *server) open(ctx context.Context) (io.Closer, error) {
	if b.Msg {
		l, err := gofabric.Listen(ctx, b.Server, gofabric.Config{Provider: b.Prov})
		if err != nil {
			return nil, err
		}
		b.calls.Add(1)
		go b.accept(ctx, l)
		return l, nil
	}
	host, port, err := net.SplitHostPort(b.Server)
	if err != nil {
		return nil, err
	}
	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: b.Prov, Node: host, Service: port})
	if err != nil {
		return nil, err
	}
	for _, tagged := range []bool{false, true} {
		b.calls.Add(1)
		go b.receive(ctx, ep, tagged, letter{})
	}
	return ep, nil
}

// accept accepts connections. The private data of a connection request names the sender.
func (b *server) accept(ctx context.Context, l *gofabric.Listener) {
	defer b.calls.Done()
	for {
		ep, err := l.Accept(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // the process has no descriptors left for a time
			continue
		}
		b.calls.Add(1)
		go func() {
			var who letter
			if _, err := fmt.Sscan(string(ep.PrivateData()), &who.owner, &who.life); err != nil {
				who = letter{}
			}
			b.receive(ctx, ep, false, who)
			if err := ep.Close(); err != nil && !errors.Is(err, core.ErrTimedOut) {
				b.fail(hung, "closing a connection: %v", err)
			}
		}()
	}
}

// receive receives messages until there are no more. It reads late at times.
func (b *server) receive(ctx context.Context, ep *gofabric.Endpoint, tagged bool, from letter) {
	defer b.calls.Done()
	buf := make([]byte, b.Most)
	scribble(buf, scribbleRx)
	rng := rand.New(rand.NewPCG(b.Seed, mix(from.word())))
	for first := true; ; first = false {
		if b.Msg && first && rng.IntN(4) > 0 || rng.IntN(300) == 0 {
			time.Sleep(time.Duration(rng.Int64N(int64(lateMax)))) // messages wait unexpected
		}
		var got gofabric.Received
		var err error
		if !scribbled(buf, scribbleRx) {
			b.fail(altered, "a buffer changed after its receive had completed")
		}
		if tagged {
			got, err = ep.TRecv(ctx, gofabric.AnyPeer, buf, 0, ^uint64(0))
		} else {
			got, err = ep.Recv(ctx, gofabric.AnyPeer, buf)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			b.check(buf[:got.Len], got, tagged)
		case b.Msg && err == io.EOF:
			b.journal.note(noteGoodbye, from.word(), 0, 0)
			return
		case b.Msg:
			b.journal.note(noteReset, from.word(), 0, 0)
			return
		case errors.Is(err, core.ErrTrunc):
			b.fail(altered, "%v", err)
		}
		scribble(buf, scribbleRx)
	}
}

func (b *server) check(buf []byte, got gofabric.Received, tagged bool) {
	word := got.Data
	if tagged {
		word = got.Tag
	}
	l := letterOf(word)
	if text := l.check(buf, b.Most); text != "" || !got.HasData && !tagged {
		b.fail(altered, "received %s; data: %v", text, got.HasData)
		return
	}
	b.journal.note(noteReceived, word, 0, 0)
}
