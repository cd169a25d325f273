package pingpong

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
)

// This file bounds the wait for a completion.

// slowEvery is the number of reads of an empty completion queue between two checks of the clock, the context and
// the peer: about 0.2 to 1 ms.
const slowEvery = 1024

// goneGrace is the time for which data may still arrive after the peer closed the control connection.
const goneGrace = 2 * time.Second

// watch records how long one wait has made no progress. The zero value is ready.
type watch struct {
	since    time.Time
	deadline time.Time
	gone     bool
}

// stalled is called regularly by a wait that makes no progress. It returns an error if the wait cannot succeed.
func (b *bench) stalled(w *watch, what string) error {
	if err := b.failedSend(); err != nil {
		return err
	}
	now := time.Now()
	switch {
	case w.since.IsZero():
		w.since, w.deadline = now, now.Add(b.cfg.Timeout)
	case b.ctx.Err() != nil:
		return fmt.Errorf("waiting for %s: %w", what, context.Cause(b.ctx))
	case now.After(w.deadline) && w.gone:
		return fmt.Errorf("waiting for %s: %w", what, errPeerGone)
	case now.After(w.deadline):
		hint := "the peer hangs, or its traffic does not arrive"
		if b.info.EP.Type == core.EPTypeDgram {
			hint = "a datagram was lost (datagram endpoints do not retransmit: run again, or use -e rdm), or the peer hangs"
		}
		return fmt.Errorf("waiting for %s: nothing for %v: %s: %w", what, b.cfg.Timeout, hint, core.ErrTimedOut)
	case !w.gone && now.Sub(w.since) > 50*time.Millisecond && b.ctl.peerClosed():
		w.gone = true
		if d := now.Add(b.cfg.grace); d.Before(w.deadline) {
			w.deadline = d
		}
	}
	runtime.Gosched() // lets goroutines of the provider run on a single processor
	return nil
}

// failedSend returns the error of a message that was sent without a completion, which no other code reads: its
// answer will not arrive.
func (b *bench) failedSend() error {
	if b.txCQ == nil {
		return nil
	}
	var e core.CQErrEntry
	if err := b.txCQ.ReadErr(&e); err != nil { // no error: a read without room does not report it
		return nil
	}
	return b.failed(b.txCQ, &e)
}

var errPeerGone = errors.New("the peer closed the control connection: it failed or was stopped, see its output")

// peerClosed reports whether the control connection has ended. It consumes no data.
func (c *control) peerClosed() bool {
	if c == nil || c.conn == nil {
		return false
	}
	sc, ok := c.conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		if !netx.Readable(netx.FD(fd)) {
			return // the descriptor blocks on Windows
		}
		n, err := netx.Peek(netx.FD(fd))
		closed = err == nil && n == 0 || errors.Is(err, syscall.ECONNRESET)
	})
	return closed || err != nil
}
