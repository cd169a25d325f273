package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"gofabric/core"
)

// ErrNoJob: nothing says that this process belongs to a job.
var ErrNoJob = errors.New("this process does not know of a job")

// ErrNoKey: nobody put this key before the last fence.
var ErrNoKey = errors.New("nobody has put this key")

// ErrJobOver: the job has ended, or was given up after an error.
var ErrJobOver = errors.New("the job is over")

// Error says what went wrong with a job.
type Error struct {
	Op      string // Join, Put, Get, Fence
	Source  string // where the job comes from, such as "pmi1"; "" unknown
	Job     string
	Rank    int   // this process; -1 unknown
	Missing []int // ranks that were waited for in vain, as far as known
	Err     error
	Hint    string // what to do
}

// mostNamed is how many missing ranks an error names.
const mostNamed = 16

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("boot: " + e.Op)
	if e.Source != "" {
		b.WriteString(" (" + e.Source)
		if e.Job != "" {
			b.WriteString(", job " + e.Job)
		}
		if e.Rank >= 0 {
			fmt.Fprintf(&b, ", rank %d", e.Rank)
		}
		b.WriteByte(')')
	}
	b.WriteString(": " + e.Err.Error())
	if len(e.Missing) > 0 {
		b.WriteString("; missing: " + rankList(e.Missing))
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// rankList is "rank 3" or "ranks 3, 5 and 12 more".
func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + strconv.Itoa(ranks[0])
	}
	var b strings.Builder
	b.WriteString("ranks ")
	for i, r := range ranks[:min(len(ranks), mostNamed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(r))
	}
	if more := len(ranks) - mostNamed; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// missingError is an error of a source that knows who is missing.
type missingError struct {
	ranks []int
	err   error
}

func (e *missingError) Error() string { return e.err.Error() }
func (e *missingError) Unwrap() error { return e.err }

// closed says whether an error of a connection is that the other end has closed it.
func closed(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	switch core.ErrnoOf(err) {
	case core.ErrConnReset, core.ErrConnAborted, core.FromSyscall(syscall.EPIPE):
		return true
	}
	return false
}

// waitedFor is why a wait ended, if it was because of its context; else err.
func waitedFor(ctx context.Context, what string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("waited for %s: %w", what, context.Cause(ctx))
}
