package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// This file controls the peer process from the measuring one.

// killDelay is the time that a peer has to end by itself.
const killDelay = 2 * time.Second

// partner is a running peer. One goroutine uses it.
type partner struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	talk    *lines
	answers chan answer
	cancel  context.CancelFunc
	errText *tail
	once    sync.Once // of close
}

type answer struct {
	r   reply
	err error
}

// startPartner starts a command that runs Peer on its standard input and output.
func startPartner(ctx context.Context, command func(context.Context) *exec.Cmd) (*partner, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &partner{cmd: command(ctx), cancel: cancel, answers: make(chan answer, 1), errText: &tail{}}
	p.cmd.Stderr = p.errText
	p.cmd.WaitDelay = killDelay
	var err error
	var stdout io.ReadCloser
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		stdout, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("starting the other process: %w", err)
	}
	p.talk = newLines(stdout, p.stdin)
	go func() { // ends with the process
		defer close(p.answers)
		for {
			var a answer
			a.err = p.talk.read(&a.r)
			select {
			case p.answers <- a:
			case <-ctx.Done():
				return
			}
			if a.err != nil {
				return
			}
		}
	}()
	return p, nil
}

// say sends an order. It does not wait for the answer.
func (p *partner) say(o order) error {
	if err := p.talk.w.Encode(o); err != nil {
		return p.broken(err)
	}
	return nil
}

func (p *partner) answer(ctx context.Context, limit time.Duration) (reply, error) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case a, ok := <-p.answers:
		switch {
		case !ok || a.err != nil:
			return reply{}, p.broken(a.err)
		case a.r.Error != "":
			return a.r, errors.New("other process: " + a.r.Error)
		}
		return a.r, nil
	case <-t.C:
		return reply{}, fmt.Errorf("the other process did not answer within %v%s", limit, p.errText)
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// broken describes the end of the communication. It waits for the process, whose last output arrives through
// another pipe.
func (p *partner) broken(err error) error {
	p.close()
	if err == nil || err == io.EOF {
		return fmt.Errorf("the other process ended%s", p.errText)
	}
	return fmt.Errorf("the other process: %w%s", err, p.errText)
}

// close ends the process: it exits when its standard input ends, or it is killed.
func (p *partner) close() {
	p.once.Do(func() {
		p.stdin.Close()
		t := time.AfterFunc(killDelay, p.cancel)
		for range p.answers { // read the pipe to its end before Wait (os/exec)
		}
		p.cmd.Wait()
		t.Stop()
		p.cancel()
	})
}

// tail keeps the end of a process' output, for error messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if n := len(t.text); n > 2000 {
		t.text = append(t.text[:0], t.text[n-1000:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.TrimSpace(string(t.text))
	if s == "" {
		return ""
	}
	return ": " + s
}
