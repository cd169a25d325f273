package chaos

import (
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
	"gofabric/core"
)

// A client sends some messages to the server through the root package and ends as its order says:
//
//	close      Close, with nothing under way
//	busy       Close while another goroutine sends
//	shutdown   fi_shutdown of a connection
//	half       CloseWrite, wait for the server's end, Close
//	exit       exit without closing anything
//	kill       send until it is killed

type client struct {
	setup
	journal *journal
	ep      *gofabric.Endpoint
	to      gofabric.Peer
}

func (c *client) fail(k count, format string, args ...any) {
	say("FAIL %s client %d (%s): %s", countNames[k], c.Life, c.Order,
		strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " / "))
}

// clientMain is the program of a client.
func clientMain(text string) {
	c := &client{setup: parse(text)}
	before := takeStock()
	ctx, cancel := context.WithTimeout(context.Background(), 3*bound)
	var err error
	if c.journal, err = newJournal(c.Dir, clientOwner, c.Life, c.epoch()); err != nil {
		panic(err)
	}
	if err := c.open(ctx); err != nil {
		say("NOWAY %v", strings.ReplaceAll(err.Error(), "\n", " / ")) // the server may be stopped
		os.Exit(0)
	}
	rng := rand.New(rand.NewPCG(c.Seed, uint64(c.Life)))
	var calls sync.WaitGroup
	sending, stop := context.WithCancel(ctx)
	for channel := range uint8(2) {
		count := 1 + rng.IntN(12)
		if c.Order == "kill" || c.Order == "busy" && channel == 1 {
			count = 1 << 30
		}
		seed := rng.Uint64()
		do := func() {
			defer calls.Done()
			c.send(ctx, sending, channel, count, rand.New(rand.NewPCG(seed, 0)))
		}
		if calls.Add(1); c.Order != "busy" {
			do()
		} else {
			go do()
		}
	}
	if c.Order == "busy" {
		time.Sleep(time.Duration(rng.Int64N(int64(200 * time.Millisecond)))) // the close begins at a random time
	}
	if c.Order != "exit" {
		c.end(ctx, stop)
		calls.Wait()
		cancel()
		c.journal.f.Close()
		if more := before.settle(); more != "" {
			c.fail(leaked, "after everything was closed, more is in use than before: %s", more)
		}
		// The buffers, which the server may still read, have been overwritten.
		time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
	}
	os.Exit(0)
}

func (c *client) open(ctx context.Context) (err error) {
	if c.to = gofabric.Connected; c.Msg {
		c.ep, err = gofabric.Dial(ctx, c.Server,
			gofabric.Config{Provider: c.Prov, PrivateData: []byte(fmt.Sprint(clientOwner, " ", c.Life))})
		return err
	}
	host, _, err := net.SplitHostPort(c.Nodes[c.Me]) // the client's own host
	if err != nil {
		return err
	}
	if c.ep, err = gofabric.Open(ctx, gofabric.Config{Provider: c.Prov, Node: host}); err == nil {
		c.to, err = c.ep.Insert(c.Server)
	}
	return err
}

// send sends messages of a lane until count are sent or the endpoint is closed.
func (c *client) send(ctx, sending context.Context, channel uint8, count int, rng *rand.Rand) {
	var kept bin
	for seq := uint64(1); seq <= uint64(count) && sending.Err() == nil; seq++ {
		l := letter{owner: clientOwner, life: c.Life, channel: channel, seq: seq}
		buf := kept.take(l.size(c.Most))
		l.fill(buf)
		call, cancel, level := ctx, context.CancelFunc(func() {}), levelNone
		if rng.IntN(10) == 0 { // this send will be cancelled
			call, cancel = context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(3*time.Millisecond))))
		}
		if len(buf) <= c.ep.Info().Tx.InjectSize && rng.IntN(3) == 0 {
			level = levelInject
		}
		c.journal.note(notePosted, l.word(), serverOwner, level)
		var err error
		switch {
		case level == levelInject && !c.Msg && channel == 1:
			err = c.ep.Core().TInjectData(buf, l.word(), core.FIAddr(c.to), l.word())
		case level == levelInject:
			err = c.ep.Core().InjectData(buf, l.word(), core.FIAddr(c.to))
		case !c.Msg && channel == 1:
			err = c.ep.TSendData(call, c.to, buf, l.word(), l.word())
		default:
			err = c.ep.SendData(call, c.to, buf, l.word())
		}
		cancel()
		kept.give(buf, scribbleTx)
		kind := noteDone
		if err != nil {
			kind = noteFailed
		}
		c.journal.note(kind, l.word(), serverOwner, level)
		switch {
		case err == nil, errors.Is(err, context.DeadlineExceeded), err == core.ErrAgain:
		case sending.Err() != nil:
			return
		default:
			time.Sleep(20 * time.Millisecond) // the box may be away for a time, and then refuses at once
		}
		if c.Order == "kill" || rng.IntN(4) == 0 { // the server reads a few hundred a second
			time.Sleep(time.Duration(rng.Int64N(int64(40 * time.Millisecond))))
		}
	}
}

// end closes in good order.
func (c *client) end(ctx context.Context, stop func()) {
	c.journal.note(noteClosing, letter{owner: clientOwner, life: c.Life}.word(), 0, 0)
	stop()
	kind, began := noteClosed, time.Now()
	look := func(what string, err error) {
		switch {
		case errors.Is(err, core.ErrTimedOut):
			kind = noteLate
			say("LATE %d", c.Life)
		case errors.Is(err, core.ErrNotConn), errors.Is(err, core.ErrConnReset): // the server has been stopped for long
			kind = noteLate
		case err != nil:
			c.fail(hung, "%s: %v", what, err)
		}
		if took := time.Since(began); took > closeBound {
			c.fail(hung, "%s took %v", what, took)
		}
		began = time.Now()
	}
	switch {
	case c.Order == "shutdown" && c.Msg:
		look("fi_shutdown", c.ep.Core().Shutdown())
	case c.Order == "half" && c.Msg:
		err := c.ep.CloseWrite()
		look("CloseWrite", err)
		if err != nil {
			break
		}
		if _, err := c.ep.Recv(ctx, c.to, make([]byte, 1)); err != io.EOF {
			kind = noteLate
			say("NOEOF %v", err)
		}
		began = time.Now()
	}
	look("Close", c.ep.Close())
	c.journal.note(kind, letter{owner: clientOwner, life: c.Life}.word(), 0, 0)
}
