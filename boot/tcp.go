package boot

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"gofabric/boot/internal/exchange"
)

// This file has the other ranks of a job whose processes meet at rank 0 over TCP. root.go has rank 0.

// joinTCP connects to rank 0.
func joinTCP(ctx context.Context, c *Config, m *member) (store, error) {
	if m.size == 1 {
		return newLocal(), nil
	}
	if m.rank == 0 {
		return listenRoot(c, m)
	}
	s, err := dialRoot(ctx, c.Root, m)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// The pauses between attempts to reach rank 0, which may start later.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 500 * time.Millisecond

	dialTimeout = 5 * time.Second // for one attempt: the host of the address may not be up yet
)

// tcpStore has the values that were put since the last fence, and all values of past fences.
type tcpStore struct {
	conn  net.Conn
	root  string
	local *local
	round uint32
}

func dialRoot(ctx context.Context, root string, m *member) (*tcpStore, error) {
	hello := (&exchange.Hello{Rank: m.rank, Size: m.size, Job: m.name}).Bytes()
	if len(hello) > exchange.MaxHello {
		return nil, fmt.Errorf("the job's name of %d bytes is too long: choose a shorter GOFABRIC_JOB", len(m.name))
	}
	var conn net.Conn
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var err error
		if conn, err = (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", root); err == nil {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, &missingError{[]int{0}, fmt.Errorf("waited for rank 0 to listen at %s: %w; last: %w", root, context.Cause(ctx), err)}
		}
	}
	s := &tcpStore{conn: conn, root: root, local: newLocal()}
	defer bound(ctx, conn)()
	_, err := conn.Write(hello)
	var k exchange.Kind
	if err == nil {
		k, _, err = receive(conn, exchange.MaxHello)
	}
	if err == nil && k != exchange.KindWelcome {
		err = fmt.Errorf("it answered with an unexpected message of kind %d", k)
	}
	if err != nil {
		conn.Close()
		err = rootGone(root, err)
		return nil, fmt.Errorf("the program that listens at %s is not rank 0 of this job: %w", root, waitedFor(ctx, "its welcome", err))
	}
	return s, nil
}

func (s *tcpStore) put(ctx context.Context, key string, value []byte) error {
	return s.local.put(ctx, key, value)
}
func (s *tcpStore) forget(ctx context.Context, keys []string) { s.local.forget(ctx, keys) }

func (s *tcpStore) get(ctx context.Context, key string) ([]byte, error) { return s.local.get(ctx, key) }

func (s *tcpStore) fence(ctx context.Context) error {
	f := s.local.fenceOf(s.round, waitMS(ctx))
	defer bound(ctx, s.conn)()
	_, sent := s.conn.Write(f.Bytes(exchange.KindFence))
	k, body, err := receive(s.conn, exchange.MaxMessage)
	if sent != nil && k != exchange.KindFail { // rank 0 may have sent the reason before it closed the connection
		err = sent
	}
	if err != nil {
		err = rootGone(s.root, err)
		return waitedFor(ctx, "rank 0 at "+s.root+" to release the fence", err)
	}
	return s.released(k, body)
}

// rootGone explains the end of a connection.
func rootGone(root string, err error) error {
	if closed(err) {
		return fmt.Errorf("rank 0 at %s has ended, or the connection to it is lost: %w", root, err)
	}
	return err
}

// released handles the answer to a fence.
func (s *tcpStore) released(k exchange.Kind, body []byte) error {
	switch k {
	case exchange.KindRelease:
		all, err := exchange.ParseFence(body)
		if err == nil && all.Round != s.round {
			err = fmt.Errorf("it is the answer to fence %d", all.Round)
		}
		if err != nil {
			return fmt.Errorf("rank 0's answer to fence %d is malformed: %w", s.round, err)
		}
		s.round++
		s.local.take(all.Entries)
		return nil
	case exchange.KindMissing:
		who, err := exchange.ParseMissing(body)
		if err != nil {
			return fmt.Errorf("rank 0's answer to fence %d is malformed: %w", s.round, err)
		}
		return missingAt(s.round, who.Ranks)
	}
	return fmt.Errorf("rank 0's answer to fence %d is a message of kind %d, which does not belong there", s.round, k)
}

func missingAt(round uint32, ranks []int) error {
	return &missingError{ranks, fmt.Errorf("waited for the other processes at fence %d: %w", round, context.DeadlineExceeded)}
}

func (s *tcpStore) close(ctx context.Context) error {
	stop := bound(ctx, s.conn)
	s.conn.Write(exchange.Plain(exchange.KindBye)) // rank 0 may have ended already
	stop()
	return s.conn.Close()
}

// fenceOf returns the message of a process that comes to a fence. The values remain here, for another fence if this
// one fails.
func (l *local) fenceOf(round, wait uint32) *exchange.Fence {
	f := &exchange.Fence{Round: round, WaitMS: wait}
	for k, v := range l.fresh {
		f.Entries = append(f.Entries, exchange.Entry{Key: k, Value: v})
	}
	return f
}

// take stores the values of a fence.
func (l *local) take(entries []exchange.Entry) {
	clear(l.fresh)
	for _, e := range entries {
		l.values[e.Key] = e.Value
	}
}

// waitMS returns the time after which rank 0 sends the missing ranks to this process: somewhat less than its
// context has left.
func waitMS(ctx context.Context) uint32 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	left := time.Until(end)
	left -= min(left/5, 500*time.Millisecond)
	return uint32(min(max(left.Milliseconds(), 1), 1<<31))
}

// receive reads a message. A Fail is an error. Memory grows with the received bytes, not with the announced length.
func receive(conn io.Reader, most int) (exchange.Kind, []byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return 0, nil, err
	}
	n, err := exchange.Length(head, most)
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(io.LimitReader(conn, int64(n)))
	if err == nil && len(body) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	if k := exchange.Kind(body[0]); k != exchange.KindFail {
		return k, body[1:], nil
	}
	return exchange.KindFail, nil, fmt.Errorf("rank 0 says: %.500q", body[1:])
}

// bound ends reads and writes with ctx, until stop is called.
func bound(ctx context.Context, conn net.Conn) (stop func()) {
	conn.SetDeadline(time.Time{})
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}
