package goodbye

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/test/wait"
)

// childVar holds an order. It makes the test's program the sender.
const childVar = "GOFABRIC_GOODBYE_CHILD"

// limit is the time limit of every wait.
const limit = wait.Limit

// order is what the sender has to do.
type order struct {
	Provider string
	Msg      bool // a connected endpoint instead of one of type RDM
	To       string
	Size     int
	Count    int
	Seed     byte
	End      string // close, shutdown, half, kill (waits until it is killed), listen (until it is stopped)
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVar); text != "" {
		var o order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			fail(err)
		}
		o.run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func fail(err error) {
	fmt.Println("FAIL", err)
	os.Exit(1)
}

// fill writes message i.
func fill(b []byte, i int, seed byte) {
	for j := range b {
		b[j] = byte(i)*31 + byte(j) + byte(j>>8)*7 + seed
	}
}

// run opens an endpoint, sends, and ends as the order says.
func (o *order) run() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cfg := gofabric.Config{Provider: o.Provider}
	var ep *gofabric.Endpoint
	var err error
	to := gofabric.Connected
	if o.Msg {
		ep, err = gofabric.Dial(ctx, o.To, cfg)
	} else {
		cfg.Node = "127.0.0.1"
		if ep, err = gofabric.Open(ctx, cfg); err == nil {
			to, err = ep.Insert(o.To)
		}
	}
	if err != nil {
		fail(err)
	}
	b := make([]byte, o.Size)
	for i := range o.Count {
		fill(b, i, o.Seed)
		if err := ep.Send(ctx, to, b); err != nil {
			fail(fmt.Errorf("send %d: %w", i, err))
		}
	}
	clear(b)
	if o.End != "listen" {
		fmt.Println("SENT")
	}
	switch o.End {
	case "close":
		err = ep.Close()
	case "shutdown":
		err = ep.Core().Shutdown()
	case "half":
		err = o.half(ctx, ep)
	case "kill":
		bufio.NewReader(os.Stdin).ReadByte()
	case "listen": // waits until it is stopped
		fmt.Println("NAME", ep.Name())
		if _, err = ep.Recv(ctx, gofabric.AnyPeer, make([]byte, 64)); err == nil {
			fmt.Println("FIRST")
			bufio.NewReader(os.Stdin).ReadByte()
		}
	}
	if err != nil {
		fail(err)
	}
	fmt.Println("DONE")
}

// half closes one direction. It still receives the peer's answer and the peer's end.
func (o *order) half(ctx context.Context, ep *gofabric.Endpoint) error {
	if err := ep.CloseWrite(); err != nil {
		return err
	}
	if err := ep.Send(ctx, gofabric.Connected, []byte{1}); !errors.Is(err, core.ErrShutdown) {
		return fmt.Errorf("a send after CloseWrite: %v, want ErrShutdown", err)
	}
	b := make([]byte, 16)
	got, err := ep.Recv(ctx, gofabric.Connected, b)
	if err != nil || string(b[:got.Len]) != "answer" {
		return fmt.Errorf("the answer: %q, %v", b[:got.Len], err)
	}
	if _, err := ep.Recv(ctx, gofabric.Connected, b); err != io.EOF {
		return fmt.Errorf("after the answer: %v, want EOF", err)
	}
	return ep.Close()
}

// stall sends injected messages to a peer that reads nothing until no more are accepted, and closes.
func stall(ep *gofabric.Endpoint, to gofabric.Peer) (sent int, err error) {
	b := make([]byte, 64)
	for {
		err := ep.Core().Inject(b, core.FIAddr(to))
		if err == core.ErrAgain && sent > 0 {
			return sent, ep.Close()
		}
		if err != nil && err != core.ErrAgain {
			return sent, err
		}
		if err == nil {
			sent++
		}
	}
}
