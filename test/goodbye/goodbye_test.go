package goodbye

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric"
	"gofabric/core"
	"gofabric/test/need"
)

// way is a stack, and the carrier of two processes of one host.
type way struct {
	name     string
	provider string
	msg      bool
	env      []string
}

var ways = []way{
	{"msg", "tcp", true, nil},
	{"msg-stream", "tcp", true, []string{"FI_TCP_SINGLE_COPY_SIZE=-1"}},
	{"msg-socket", "tcp", true, []string{"FI_TCP_LOCAL_MEMORY=0"}},
	{"msg-tcp", "tcp", true, []string{"FI_TCP_LOCAL_SOCKETS=0", "FI_TCP_SINGLE_COPY_SIZE=-1"}},
	{"msg-fault", "tcp;fault", true, []string{"FI_FAULT_DELAY=3ms", "FI_FAULT_CUT=20%"}},
	{"rdm", "tcp", false, nil},
	{"rdm-stream", "tcp", false, []string{"FI_TCP_SINGLE_COPY_SIZE=-1"}},
	{"rdm-socket", "tcp", false, []string{"FI_TCP_LOCAL_MEMORY=0"}},
	{"rdm-tcp", "tcp", false, []string{"FI_TCP_LOCAL_SOCKETS=0", "FI_TCP_SINGLE_COPY_SIZE=-1"}},
	{"rxm", "tcp;ofi_rxm", false, nil},
	{"rxm-tcp", "tcp;ofi_rxm", false, []string{"FI_TCP_LOCAL_SOCKETS=0", "FI_OFI_RXM_SINGLE_COPY_SIZE=-1"}},
	{"rxm-packets", "tcp;ofi_rxm", false, []string{"FI_OFI_RXM_EXTENSIONS=0"}},
	{"rxd", "udp;ofi_rxd", false, nil},
	{"rxd-datagrams", "udp;ofi_rxd", false, []string{"FI_UDP_LOCAL_MEMORY=0", "FI_OFI_RXD_SINGLE_COPY_SIZE=-1"}},
	{"rxd-loss", "udp;fault;ofi_rxd", false, []string{"FI_FAULT_LOSS=20%", "FI_FAULT_DUP=5%", "FI_FAULT_REORDER=5%"}},
}

// reader is the process that receives and checks. The other one sends.
type reader struct {
	t      *testing.T
	ctx    context.Context
	ep     *gofabric.Endpoint
	listen *gofabric.Listener
	child  *exec.Cmd
	in     io.WriteCloser
	lines  chan string
}

// start opens the reader's end and starts the sender.
func start(t *testing.T, w *way, o order) *reader {
	for _, kv := range w.env {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	r := &reader{t: t, ctx: ctx, lines: make(chan string, 16)}
	o.Provider, o.Msg = w.provider, w.msg
	var err error
	if w.msg {
		if r.listen, err = gofabric.Listen(ctx, "127.0.0.1:0", gofabric.Config{Provider: w.provider}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.listen.Close() })
		o.To = strings.TrimPrefix(r.listen.Addr().String(), "fi_sockaddr_in://")
	} else {
		if r.ep, err = gofabric.Open(ctx, gofabric.Config{Provider: w.provider, Node: "127.0.0.1"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.ep.Close() })
		o.To = r.ep.Name().String()
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), childVar+"="+string(text))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if r.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r.child = c
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
		close(r.lines)
	}()
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if w.msg {
		if r.ep, err = r.listen.Accept(ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.ep.Close() })
	}
	return r
}

// line waits for a line of the sender's output.
func (r *reader) line(want string) string {
	r.t.Helper()
	select {
	case l, ok := <-r.lines:
		if !ok || !strings.HasPrefix(l, want) {
			r.t.Fatalf("the sender printed %q, want %s", l, want)
		}
		return l
	case <-r.ctx.Done():
		r.t.Fatalf("the sender has not printed %s", want)
	}
	return ""
}

// receive receives the messages and checks them.
func (r *reader) receive(o *order) {
	r.t.Helper()
	buf, want := make([]byte, o.Size+1), make([]byte, o.Size)
	for i := range o.Count {
		got, err := r.ep.Recv(r.ctx, gofabric.AnyPeer, buf)
		if err != nil {
			r.t.Fatalf("message %d of %d: %v", i, o.Count, err)
		}
		if fill(want, i, o.Seed); !bytes.Equal(buf[:got.Len], want) {
			r.t.Fatalf("message %d of %d differs from what was sent", i, o.Count)
		}
	}
}

// TestLateReader has the sender end while most of its messages wait for a late reader.
func TestLateReader(t *testing.T) {
	rounds, sizes := 1, []int{1, 60_000}
	if need.Many() {
		rounds, sizes = 10, []int{1, 2 << 10, 60_000, 1 << 20}
	}
	for _, w := range ways {
		for _, end := range []string{"close", "shutdown", "half"} {
			if !w.msg && end != "close" {
				continue
			}
			for _, size := range sizes {
				t.Run(fmt.Sprintf("%s/%s/%d", w.name, end, size), func(t *testing.T) {
					for i := range rounds {
						late(t, &w, end, size, uint64(i))
					}
				})
			}
		}
	}
}

func late(t *testing.T, w *way, end string, size int, seed uint64) {
	o := order{Size: size, Count: 10, Seed: byte(seed), End: end}
	r := start(t, w, o)
	random := rand.New(rand.NewPCG(seed, uint64(size)))
	// The subject of the test: messages arrive before they are read.
	time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	r.receive(&o)
	r.line("SENT")
	if !w.msg {
		r.line("DONE")
		return
	}
	if _, err := r.ep.Recv(r.ctx, gofabric.AnyPeer, make([]byte, 1)); err != io.EOF {
		t.Errorf("after the last message: %v, want EOF", err)
	}
	if end == "half" {
		if err := r.ep.Send(r.ctx, gofabric.Connected, []byte("answer")); err != nil {
			t.Errorf("the other direction: %v", err)
		}
		if err := r.ep.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	r.line("DONE")
}

// TestKilled kills the sender. Messages that had arrived are received, and then the receive fails.
func TestKilled(t *testing.T) {
	for _, w := range ways[:4] {
		t.Run(w.name, func(t *testing.T) {
			o := order{Size: 100, Count: 3, End: "kill"}
			r := start(t, &w, o)
			r.line("SENT")
			r.receive(&o)
			r.child.Process.Kill()
			if _, err := r.ep.Recv(r.ctx, gofabric.AnyPeer, make([]byte, 1)); !errors.Is(err, core.ErrConnReset) ||
				errors.Is(err, io.EOF) {
				t.Errorf("after a kill: %v, want ErrConnReset", err)
			}
		})
	}
}

// TestStopped closes an endpoint whose peer is stopped. The close ends when the linger time is over, and its error
// says how much is lost. Without linger it ends at once.
func TestStopped(t *testing.T) {
	for _, w := range ways {
		if w.msg || strings.HasSuffix(w.provider, "fault;ofi_rxd") {
			continue
		}
		for _, linger := range []int{-1, 300} {
			t.Run(fmt.Sprintf("%s/%d", w.name, linger), func(t *testing.T) { stopped(t, &w, linger) })
		}
	}
}

func stopped(t *testing.T, w *way, linger int) {
	o := order{Size: 8, Count: 1, End: "listen"}
	r := start(t, w, o)
	r.receive(&o)
	name := strings.TrimPrefix(r.line("NAME"), "NAME ")
	ctx := r.ctx
	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: w.provider, Node: "127.0.0.1",
		Linger: time.Duration(linger) * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	to, err := ep.Insert(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := ep.Send(ctx, to, []byte("first")); err != nil {
		t.Fatal(err)
	}
	r.line("FIRST")
	if err := r.child.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer r.child.Process.Signal(unix.SIGCONT)
	// The signal stops one thread first; the others run until it has been scheduled (signal(7)).
	var status unix.WaitStatus
	if _, err := unix.Wait4(r.child.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the reader does not stop: %v, %#x", err, status)
	}
	start := time.Now()
	n, err := stall(ep, to)
	if lost := errors.Is(err, core.ErrTimedOut); lost != (linger > 0) || !lost && err != nil {
		t.Errorf("Close after %d messages to a stopped peer, lingering for %d ms: %v", n, linger, err)
	}
	if d := time.Since(start); d > limit/2 {
		t.Errorf("Close took %v", d)
	}
}
