package boot

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"gofabric/boot/internal/exchange"
	"gofabric/core"
)

// This file has rank 0 of a job whose processes meet at rank 0.

const (
	helloTimeout = 5 * time.Second  // for an unknown process to identify itself
	sendTimeout  = 10 * time.Second // for a process to take a message
	unknownMax   = 64               // largest number of connections of unknown processes
)

// root is rank 0. Each connection has a goroutine, which reads.
type root struct {
	m      member
	local  *local
	l      net.Listener
	round  uint32
	done   sync.WaitGroup
	sends  sync.WaitGroup // releases that are being written
	tokens chan struct{}  // one for each connection of an unknown process

	mu      sync.Mutex
	rounds  *exchange.Rounds
	conns   map[int]net.Conn
	unknown map[net.Conn]struct{} // connections of unknown processes
	waits   map[int]*time.Timer   // time-outs of the others at the fence
	mine    chan meetResult       // of rank 0 at the fence
	over    error
	told    bool // all processes got the reason for the end
	closing bool
}

type meetResult struct {
	all *exchange.Fence
	err error
}

func listenRoot(c *Config, m *member) (store, error) {
	l, err := c.listen(c.Root)
	// The name may be a service's, and a pod's own name may not be resolvable yet.
	if _, unknown := errors.AsType[*net.DNSError](err); unknown || core.ErrnoOf(err) == core.ErrAddrNotAvail {
		if _, port, splitErr := net.SplitHostPort(c.Root); splitErr == nil {
			l, err = c.listen(":" + port)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("rank 0 cannot listen at %s: %w", c.Root, err)
	}
	r := &root{m: *m, local: newLocal(), l: l, tokens: make(chan struct{}, unknownMax), rounds: exchange.NewRounds(m.size), conns: map[int]net.Conn{}, unknown: map[net.Conn]struct{}{},
		waits: map[int]*time.Timer{}, mine: make(chan meetResult, 1)}
	r.done.Go(r.accept)
	return r, nil
}

func (r *root) accept() {
	for {
		r.tokens <- struct{}{}
		conn, err := r.l.Accept()
		if err != nil {
			r.mu.Lock()
			closing := r.closing
			r.mu.Unlock()
			if closing {
				return
			}
			<-r.tokens
			time.Sleep(firstPause) // descriptors have run out: other connections may close
			continue
		}
		r.done.Go(func() { r.serve(conn) })
	}
}

// serve reads the messages of a process.
func (r *root) serve(conn net.Conn) {
	defer conn.Close()
	r.mu.Lock()
	r.unknown[conn] = struct{}{}
	closing := r.closing
	r.mu.Unlock()
	if closing {
		<-r.tokens
		return
	}
	rank, err := r.greet(conn)
	r.mu.Lock()
	delete(r.unknown, conn)
	r.mu.Unlock()
	<-r.tokens
	if err != nil {
		conn.SetWriteDeadline(time.Now().Add(sendTimeout))
		conn.Write(failed(err))
		return
	}
	for {
		k, body, err := receive(conn, exchange.MaxMessage)
		var f *exchange.Fence
		switch {
		case err != nil:
			r.left(rank, fmt.Errorf("rank %d at %s ended before it left the job: %w", rank, conn.RemoteAddr(), err))
			return
		case k == exchange.KindBye:
			r.left(rank, nil)
			return
		case k == exchange.KindFence:
			f, err = exchange.ParseFence(body)
		default:
			err = fmt.Errorf("unexpected message of kind %d", k)
		}
		if err != nil {
			r.left(rank, fmt.Errorf("rank %d at %s sent an invalid message: %w", rank, conn.RemoteAddr(), err))
			return
		}
		if err := r.arrive(rank, f); err != nil {
			r.mu.Lock()
			r.send(rank, failed(err))
			r.mu.Unlock()
		}
	}
}

// greet receives the identity of a process.
func (r *root) greet(conn net.Conn) (rank int, err error) {
	conn.SetDeadline(time.Now().Add(helloTimeout))
	k, body, err := receive(conn, exchange.MaxHello)
	if err == nil && k != exchange.KindHello {
		err = fmt.Errorf("unexpected first message of kind %d", k)
	}
	if err != nil {
		return 0, err
	}
	h, err := exchange.ParseHello(body)
	switch {
	case err != nil:
		return 0, err
	case subtle.ConstantTimeCompare([]byte(h.Job), []byte(r.m.name)) != 1:
		return 0, errors.New("rank 0 has another name for the job: set the same GOFABRIC_JOB in all processes")
	case h.Size != r.m.size:
		return 0, fmt.Errorf("at rank 0 the job has %d processes, not %d: set the same size in all processes", r.m.size, h.Size)
	case h.Rank == 0:
		return 0, errors.New("another process is rank 0")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over != nil:
		return 0, r.over
	case r.closing:
		return 0, ErrJobOver
	case r.conns[h.Rank] != nil:
		return 0, fmt.Errorf("rank %d has already joined, from %s: give each process a rank of its own", h.Rank, r.conns[h.Rank].RemoteAddr())
	}
	conn.SetDeadline(time.Time{})
	r.conns[h.Rank] = conn
	r.send(h.Rank, exchange.Plain(exchange.KindWelcome))
	return h.Rank, nil
}

// send writes to a process, with the lock held: messages are short, except a release. A process that does not read
// it in time counts as dead.
func (r *root) send(rank int, b []byte) {
	conn := r.conns[rank]
	if conn == nil {
		return
	}
	conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	if _, err := conn.Write(b); err != nil {
		conn.Close() // its reader reports the end
	}
}

// arrive records a process at the fence. The error says why the job is over.
func (r *root) arrive(rank int, f *exchange.Fence) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		return r.over
	}
	all, err := r.rounds.Arrive(rank, f)
	switch {
	case err != nil:
		r.becomeOver(err)
	case all != nil:
		r.release(all)
	case rank != 0 && f.WaitMS > 0:
		round := f.Round
		r.waits[rank] = time.AfterFunc(time.Duration(f.WaitMS)*time.Millisecond, func() { r.tellMissing(rank, round) })
	}
	return nil
}

// release releases all processes. A goroutine writes to each, so that a slow one does not delay the others.
func (r *root) release(all *exchange.Fence) {
	for rank, timer := range r.waits {
		timer.Stop()
		delete(r.waits, rank)
	}
	b := all.Bytes(exchange.KindRelease)
	for _, conn := range r.conns {
		r.sends.Go(func() {
			conn.SetWriteDeadline(time.Now().Add(sendTimeout))
			if _, err := conn.Write(b); err != nil {
				conn.Close()
			}
		})
	}
	r.mine <- meetResult{all: all}
}

// tellMissing sends the missing ranks to a process that has waited until its time-out.
func (r *root) tellMissing(rank int, round uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over == nil && r.waits[rank] != nil && r.rounds.Round() == round {
		r.send(rank, (&exchange.Missing{Ranks: r.rounds.Missing()}).Bytes())
	}
}

// left handles the end of a process' connection: after its Bye if err is nil. Waits for this process, now or later,
// cannot succeed.
func (r *root) left(rank int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, rank)
	if timer := r.waits[rank]; timer != nil {
		timer.Stop()
		delete(r.waits, rank)
	}
	switch {
	case err != nil:
		r.becomeOver(&missingError{[]int{rank}, err})
	case r.rounds.Here(rank):
		r.becomeOver(&missingError{r.rounds.Missing(), fmt.Errorf("rank %d gave up waiting at fence %d", rank, r.rounds.Round())})
	default:
		err = &missingError{[]int{rank}, fmt.Errorf("rank %d has left the job, so no further fence can complete", rank)}
		if r.rounds.Waiting() {
			r.becomeOver(err)
		} else if r.over == nil {
			r.over = err // for processes that come to a fence later
		}
	}
}

// becomeOver ends the job and sends the reason to all processes.
func (r *root) becomeOver(err error) {
	if r.over != nil || r.closing {
		return
	}
	r.over = err
	r.tell()
	select {
	case r.mine <- meetResult{err: err}:
	default:
	}
}

// tell sends the reason for the end of the job to all processes. Locked.
func (r *root) tell() {
	r.told = true
	b := failed(r.over)
	for rank := range r.conns {
		r.send(rank, b)
	}
}

// failed returns the message with the reason for the end of the job.
func failed(err error) []byte {
	text := err.Error()
	if who, ok := errors.AsType[*missingError](err); ok {
		text += "; missing: " + rankList(who.ranks)
	}
	return (&exchange.Fail{Text: text}).Bytes()
}

func (r *root) put(ctx context.Context, key string, value []byte) error {
	return r.local.put(ctx, key, value)
}
func (r *root) forget(ctx context.Context, keys []string) { r.local.forget(ctx, keys) }

func (r *root) get(ctx context.Context, key string) ([]byte, error) { return r.local.get(ctx, key) }

func (r *root) fence(ctx context.Context) error {
	if err := r.arrive(0, r.local.fenceOf(r.round, 0)); err != nil {
		return err
	}
	select {
	case got := <-r.mine:
		if got.err != nil {
			return got.err
		}
		r.round++
		r.local.take(got.all.Entries)
		return nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		who := r.rounds.Missing()
		err := &missingError{who, fmt.Errorf("waited for the other processes at fence %d: %w", r.round, context.Cause(ctx))}
		r.becomeOver(err)
		return err
	}
}

func (r *root) close(context.Context) error {
	r.mu.Lock()
	if r.rounds.Waiting() {
		r.becomeOver(&missingError{[]int{0}, errors.New("rank 0 has left the job")})
	}
	r.closing = true
	err := r.l.Close()
	for _, timer := range r.waits {
		timer.Stop()
	}
	r.mu.Unlock()
	<-r.tokens     // accept may wait for an unknown process
	r.sends.Wait() // released processes may continue
	r.mu.Lock()
	if r.over != nil && !r.told { // a process that comes to a fence later gets the reason, not only the end of rank 0
		r.tell()
	}
	for _, conn := range r.conns {
		conn.Close()
	}
	for conn := range r.unknown {
		conn.Close()
	}
	r.mu.Unlock()
	r.done.Wait()
	return err
}
