package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"gofabric/boot/internal/exchange"
	"gofabric/test/wait"
)

// TestUnknownConnections: a connection from outside the job is closed, and the job continues.
func TestUnknownConnections(t *testing.T) {
	address, listening := freeRoot(t)
	bad := map[string][]byte{ // by the answer of rank 0
		"a message of 1195725856 bytes":      []byte("GET / HTTP/1.1\r\n\r\n"),
		"EOF":                                nil,
		"a message of 4294967295 bytes":      {0xff, 0xff, 0xff, 0xff, 1},
		"unexpected first message of kind 3": (&exchange.Fence{}).Bytes(exchange.KindFence),
		"another name for the job":           (&exchange.Hello{Rank: 1, Size: 2, Job: "other"}).Bytes(),
		"has 2 processes, not 3":             (&exchange.Hello{Rank: 1, Size: 3, Job: "j"}).Bytes(),
		"another process is rank 0":          (&exchange.Hello{Rank: 0, Size: 2, Job: "j"}).Bytes(),
	}
	errs := together(t, 2, func(int) Config { return Config{Root: address, Name: "j", listen: listening} }, func(ctx context.Context, j *Job) error {
		if j.Rank() == 1 {
			for want, b := range bad {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					return err
				}
				conn.SetDeadline(time.Now().Add(testLimit))
				conn.Write(b)
				conn.(*net.TCPConn).CloseWrite()
				answer, _ := io.ReadAll(conn)
				if len(answer) < 5 || exchange.Kind(answer[4]) != exchange.KindFail || !strings.Contains(string(answer), want) {
					t.Errorf("answer %q; want %q", answer, want)
				}
				conn.Close()
			}
			twin, err := dialRoot(ctx, address, &member{rank: 1, size: 2, name: "j"})
			if err == nil || !strings.Contains(err.Error(), "rank 1 has already joined") {
				t.Errorf("a second rank 1: %v, %v", twin, err)
			}
		}
		_, err := j.Exchange(ctx, nil)
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// patientListener accepts connections without deadlines, so a hello may take for ever.
type patientListener struct{ net.Listener }

type patientConn struct{ net.Conn }

func (l patientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return patientConn{conn}, err
}

func (patientConn) SetDeadline(time.Time) error { return nil }

// TestSilentConnection: a connection without a message does not keep rank 0 from leaving.
func TestSilentConnection(t *testing.T) {
	address, listening := freeRoot(t)
	patient := func(a string) (net.Listener, error) {
		l, err := listening(a)
		return patientListener{l}, err
	}
	j, err := Join(t.Context(), Config{Size: 2, Root: address, listen: patient})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	left := make(chan error, 1)
	go func() { left <- j.Close() }()
	if err := wait.For(t, "rank 0 leaves", left); err != nil {
		t.Error(err)
	}
}

// TestNonsense: a process of the job that breaks the protocol ends the job, and the errors of all name it.
func TestNonsense(t *testing.T) {
	for name, b := range map[string][]byte{
		"kind":        exchange.Plain(exchange.KindWelcome),
		"entries":     {0, 0, 0, 13, byte(exchange.KindFence), 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
		"other fence": (&exchange.Fence{Round: 9}).Bytes(exchange.KindFence),
		"cut":         {0, 0, 0, 9, byte(exchange.KindFence), 1},
		"leaves":      exchange.Plain(exchange.KindBye),
	} {
		t.Run(name, func(t *testing.T) {
			address, listening := freeRoot(t)
			errs := together(t, 3, func(int) Config { return Config{Root: address, Name: "j", listen: listening} }, func(ctx context.Context, j *Job) error {
				if err := j.Fence(ctx); err != nil {
					return fmt.Errorf("before it: %w", err)
				}
				if j.Rank() == 1 {
					s := j.store.(*tcpStore)
					s.conn.Write(b)
					return s.conn.(*net.TCPConn).CloseWrite()
				}
				return j.Fence(ctx)
			})
			if errs[1] != nil {
				t.Error(errs[1])
			}
			for _, rank := range []int{0, 2} {
				if err := errs[rank]; err == nil || !strings.Contains(err.Error(), "rank 1") {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

// TestLeftBefore: one process has left the job, and then rank 0. The error of a later fence names the process that is
// missing.
func TestLeftBefore(t *testing.T) {
	for name, reset := range map[string]bool{"closed": false, "reset": true} {
		t.Run(name, func(t *testing.T) { leftBefore(t, reset) })
	}
}

// leftBefore has rank 2 come to the fence. Its connection is closed, and with reset its system knows that already.
func leftBefore(t *testing.T, reset bool) {
	address, listening := freeRoot(t)
	joined, left, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	errs := together(t, 3, func(int) Config { return Config{Root: address, Name: "j", listen: listening} }, func(ctx context.Context, j *Job) error {
		err := j.Fence(ctx)
		switch {
		case err != nil:
			return err
		case j.Rank() == 1:
			<-joined
			err = j.Close()
			close(left)
			return err
		case j.Rank() == 0:
			<-left
			r := j.store.(*root)
			for over := false; !over; runtime.Gosched() {
				r.mu.Lock()
				over = r.over != nil
				r.mu.Unlock()
			}
			err = j.Close()
			close(ended)
			return err
		}
		close(joined)
		<-ended
		if reset {
			for err == nil { // the other end is gone, which the first writes report
				_, err = j.store.(*tcpStore).conn.Write([]byte{0})
			}
		}
		return j.Fence(ctx)
	})
	for rank, err := range errs {
		if rank < 2 && err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if err := errs[2]; err == nil || !strings.Contains(err.Error(), "rank 1 has left") {
		t.Errorf("rank 2: %v; want that rank 1 has left", err)
	}
}

// TestRootGone: the others get an error when rank 0 has ended.
func TestRootGone(t *testing.T) {
	address, listening := freeRoot(t)
	joined := make(chan struct{})
	errs := together(t, 2, func(int) Config { return Config{Root: address, Name: "j", listen: listening} }, func(ctx context.Context, j *Job) error {
		if j.Rank() == 0 {
			<-joined
			return nil
		}
		close(joined)
		return j.Fence(ctx)
	})
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "rank 0") ||
		errors.Is(errs[1], context.DeadlineExceeded) {
		t.Fatal(errs)
	}
}

// TestNoRoot: without a listener the wait ends with an error that names rank 0.
func TestNoRoot(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Join(ctx, Config{Rank: 1, Size: 2, Root: address})
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Missing) != 1 || e.Missing[0] != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// TestOwnName: a pod whose own name does not resolve yet listens at the port of all its addresses.
func TestOwnName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	j, err := Join(t.Context(), Config{Size: 2, Root: "sim-0.sim:7470", listen: func(address string) (net.Listener, error) {
		if asked = append(asked, address); len(asked) == 1 {
			return nil, &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
		}
		return l, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil || len(asked) != 2 || asked[1] != ":7470" {
		t.Error(asked, err)
	}
}

// TestEarly: processes may come before rank 0.
func TestEarly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	tried := make(chan struct{})
	go func() {
		defer close(tried)
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
		}
	}()
	errs := together(t, 2, func(rank int) Config {
		if rank == 0 {
			<-tried // usually the other one has begun by now
		}
		return Config{Root: address, Name: "j"}
	}, func(ctx context.Context, j *Job) error { return j.Fence(ctx) })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
