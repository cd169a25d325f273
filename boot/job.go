package boot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// MaxValue is the length of the largest value of Put and Exchange, in bytes.
const MaxValue = 1 << 20

// maxKey is the length of the longest key, in bytes.
const maxKey = 512

// maxSize is the largest number of processes of a job.
const maxSize = 1 << 20

// store exchanges values among the processes of a job. Calls of a store do not overlap. ctx has a deadline.
type store interface {
	put(ctx context.Context, key string, value []byte) error
	// get returns a value that was put before the last fence, else ErrNoKey.
	get(ctx context.Context, key string) ([]byte, error)
	// fence returns when all processes have called it.
	fence(ctx context.Context) error
	// forget frees keys, one of each rank, that no process gets any more.
	forget(ctx context.Context, keys []string)
	// close leaves the job. The other processes may continue.
	close(ctx context.Context) error
}

// member identifies this process and its job.
type member struct {
	source string
	name   string
	rank   int
	size   int
}

// Job is this process' membership in a job. Any goroutine may call its methods. Calls run one after the other.
type Job struct {
	member
	timeout time.Duration

	turn   chan struct{} // one token: its holder may wait for other processes with its context
	store  store
	broken error // after a failed fence the state of the other processes is unknown
	rounds int   // number of Exchange calls

	once     sync.Once
	closeErr error
}

// Rank returns the number of this process, from 0.
func (j *Job) Rank() int { return j.rank }

// Size returns the number of processes of the job.
func (j *Job) Size() int { return j.size }

// Name returns the job's name, which is the same for all its processes.
func (j *Job) Name() string { return j.name }

// Source returns the source of the job: PMI1, PMI2, Kubernetes, TCP, File, Fabricd or Single.
func (j *Job) Source() string { return j.source }

// closeTimeout bounds Close.
const closeTimeout = 5 * time.Second

func newJob(m member, s store, timeout time.Duration) *Job {
	j := &Job{member: m, store: s, timeout: timeout, turn: make(chan struct{}, 1)}
	j.turn <- struct{}{}
	return j
}

// begin waits for other calls and gives ctx a deadline. end releases both.
func (j *Job) begin(ctx context.Context) (bounded context.Context, end func(), err error) {
	bounded, cancel := withDeadline(ctx, j.timeout)
	select {
	case <-j.turn:
	case <-bounded.Done():
		defer cancel()
		return nil, nil, fmt.Errorf("another call of this process on the job is in progress: %w", context.Cause(bounded))
	}
	end = func() { cancel(); j.turn <- struct{}{} }
	if j.broken != nil {
		end()
		return nil, nil, j.broken
	}
	return bounded, end, nil
}

// errTimeout is the cause of contexts without a deadline of their own.
var errTimeout = fmt.Errorf("the job's time-out: %w", context.DeadlineExceeded)

func withDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, errTimeout)
}

// failed returns an Error.
func (m member) failed(op string, err error) error {
	if already, ok := err.(*Error); ok {
		return already
	}
	e := &Error{Op: op, Source: m.source, Job: m.name, Rank: m.rank, Err: err}
	if who, ok := errors.AsType[*missingError](err); ok {
		e.Missing = who.ranks
	}
	switch {
	case len(e.Missing) > 0:
		e.Hint = "check whether the missing processes run, and what they report"
	case op == "Fence" && errors.Is(err, context.DeadlineExceeded):
		e.Hint = "a process of the job has ended, or has not called Fence"
	}
	return e
}

// becomeBroken ends the job after an error that leaves the processes in unknown states.
func (j *Job) becomeBroken(err error) {
	if j.broken == nil {
		j.broken = fmt.Errorf("%w because of an earlier error: %w", ErrJobOver, err)
	}
}

// Put publishes a value. The other processes can get it after the next fence. Two values for one key are an error
// of the program: the source decides which one remains.
func (j *Job) Put(ctx context.Context, key string, value []byte) error {
	ctx, end, err := j.begin(ctx)
	if err != nil {
		return j.failed("Put", err)
	}
	defer end()
	return j.put(ctx, key, value)
}

func (j *Job) put(ctx context.Context, key string, value []byte) error {
	switch {
	case key == "" || len(key) > maxKey:
		return j.failed("Put", fmt.Errorf("a key has 1 to %d bytes, not %d", maxKey, len(key)))
	case len(value) > MaxValue:
		return j.failed("Put", fmt.Errorf("a value has at most %d bytes, not %d", MaxValue, len(value)))
	}
	if err := j.store.put(ctx, key, value); err != nil {
		return j.failed("Put", fmt.Errorf("key %.80q: %w", key, err))
	}
	return nil
}

// Get returns a value that was put before the last fence. The error is ErrNoKey if there is none.
func (j *Job) Get(ctx context.Context, key string) ([]byte, error) {
	ctx, end, err := j.begin(ctx)
	if err != nil {
		return nil, j.failed("Get", err)
	}
	defer end()
	return j.get(ctx, key)
}

func (j *Job) get(ctx context.Context, key string) ([]byte, error) {
	value, err := j.store.get(ctx, key)
	if err != nil {
		return nil, j.failed("Get", fmt.Errorf("key %.80q: %w", key, err))
	}
	return value, nil
}

// Fence returns when all processes of the job have called it. Then the values that they put before can be got.
func (j *Job) Fence(ctx context.Context) error {
	ctx, end, err := j.begin(ctx)
	if err != nil {
		return j.failed("Fence", err)
	}
	defer end()
	return j.fence(ctx)
}

func (j *Job) fence(ctx context.Context) error {
	err := j.store.fence(ctx)
	if err != nil {
		err = j.failed("Fence", err)
		j.becomeBroken(err)
	}
	return err
}

// Exchange returns the values of all processes in the order of ranks. All processes must call it, equally often.
func (j *Job) Exchange(ctx context.Context, mine []byte) ([][]byte, error) {
	ctx, end, err := j.begin(ctx)
	if err != nil {
		return nil, j.failed("Exchange", err)
	}
	defer end()
	round := j.rounds
	j.rounds++
	keys := exchangeKeys(round, j.size)
	if err := j.put(ctx, keys[j.rank], mine); err != nil {
		j.becomeBroken(err)
		return nil, err
	}
	if err := j.fence(ctx); err != nil {
		return nil, err
	}
	all := make([][]byte, j.size)
	for i := range all {
		if all[i], err = j.get(ctx, keys[i]); err != nil {
			return nil, err
		}
	}
	if round > 0 { // processes at this fence have read the round before
		j.store.forget(ctx, exchangeKeys(round-1, j.size))
	}
	return all, nil
}

// exchangeKeys returns the ranks' keys for a round of Exchange.
func exchangeKeys(round, size int) []string {
	keys := make([]string, size)
	for rank := range keys {
		keys[rank] = fmt.Sprintf("gofabric/%d/%d", round, rank)
	}
	return keys
}

// Close leaves the job. It does not wait for other processes, and does not end them.
func (j *Job) Close() error {
	j.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		select {
		case <-j.turn:
		case <-ctx.Done():
			j.closeErr = j.failed("Close", errors.New("a call of this process on the job is in progress"))
			return
		}
		defer func() { j.turn <- struct{}{} }()
		if err := j.store.close(ctx); err != nil {
			j.closeErr = j.failed("Close", err)
		}
		j.becomeBroken(errors.New("the job was closed"))
	})
	return j.closeErr
}
