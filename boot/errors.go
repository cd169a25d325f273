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

// ErrNoJob means that nothing in the environment or the Config describes a job.
var ErrNoJob = errors.New("this process was not started as part of a job")

// ErrNoKey means that no process of the job has put this key before the last fence.
var ErrNoKey = errors.New("no process of the job has put this key")

// ErrJobOver means that the job has ended, or failed after an error.
var ErrJobOver = errors.New("the job is over")

// Error describes the failure of a job's call.
type Error struct {
	Op      string // Join, Put, Get, Fence
	Source  string // source of the job, such as "pmi1"; "" if unknown
	Job     string
	Rank    int   // this process; -1 unknown
	Missing []int // ranks that did not come, as far as known
	Err     error
	Hint    string // what to do
}

// mostNamed is the number of missing ranks that an error lists.
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

// rankList returns "rank 3" or "ranks 3, 5 and 12 more".
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

// missingError is an error of a source that knows the missing ranks.
type missingError struct {
	ranks []int
	err   error
}

func (e *missingError) Error() string { return e.err.Error() }
func (e *missingError) Unwrap() error { return e.err }

// closed reports whether the error of a connection means that the other end has closed it.
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

// waitedFor returns the reason for the end of a wait if its context ended, else err.
func waitedFor(ctx context.Context, what string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("waited for %s: %w", what, context.Cause(ctx))
}
