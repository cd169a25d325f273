package interop

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// This file runs two programs against each other.

// runLimit bounds a pair of programs, both of which are killed when it ends.
const runLimit = 60 * time.Second

// process is a running program. Its output may be read at any time.
type process struct {
	tool tool
	cmd  *exec.Cmd
	out  output
	done chan struct{}
	err  error // valid after done
}

// output collects what a program prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start starts a program, which dies with ctx at the latest.
func start(ctx context.Context, t *testing.T, w tool, args ...string) *process {
	t.Helper()
	p := &process{tool: w, done: make(chan struct{})}
	if i := slices.Index(args, "-p"); i >= 0 && w.provider != "" {
		args = slices.Clone(args)
		args[i+1] = w.provider
	}
	p.cmd = exec.CommandContext(ctx, w.path, slices.Concat(w.args, args)...)
	p.cmd.Env = append(os.Environ(), w.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", w.name, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p
}

// running reports whether the program has not ended.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// pair runs server and client with the same arguments and returns what they printed. Any failure is the test's.
func pair(t *testing.T, server, client tool, args ...string) (serverOut, clientOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	port := freePort(t)
	s := start(ctx, t, server, slices.Concat([]string{"-B", port}, args)...)
	t.Cleanup(func() { cancel(); <-s.done })
	c := connect(ctx, t, s, client, slices.Concat([]string{"-P", port}, args, []string{"127.0.0.1"})...)
	if c.err != nil { // the server may never notice
		select {
		case <-s.done:
		case <-time.After(time.Second):
		}
		cancel()
	}
	<-s.done
	if s.err != nil || c.err != nil {
		t.Fatalf("%s\nserver: %v\n%s\nclient: %v\n%s", strings.Join(args, " "), describe(ctx, s), &s.out, describe(ctx, c), &c.out)
	}
	return s.out.String(), c.out.String()
}

// connect runs the client until it ends; again as long as the server is not listening yet, which a client cannot know beforehand: the server takes
// one connection only.
func connect(ctx context.Context, t *testing.T, s *process, client tool, args ...string) *process {
	t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		c := start(ctx, t, client, args...)
		<-c.done
		refused := c.err != nil && strings.Contains(strings.ToLower(c.out.String()), "connection refused")
		if !refused || !s.running() || ctx.Err() != nil {
			return c
		}
		<-retry.C
	}
}

func describe(ctx context.Context, p *process) string {
	s := p.tool.name + ": succeeded"
	if p.err != nil {
		s = p.tool.name + ": " + p.err.Error()
	}
	if ctx.Err() == context.DeadlineExceeded {
		s += " (killed after " + runLimit.String() + ")"
	}
	return s
}

// rows returns the sizes in a table, whose other columns must say that everything sent was answered.
func rows(t *testing.T, table string, iterations int) (sizes []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "bytes   #sent   #ack ") {
		t.Fatalf("no table:\n%s", table)
	}
	n := strconv.Itoa(iterations)
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) != 8 || f[1] != n || f[2] != "="+n {
			t.Errorf("unexpected line %q, %s iterations were asked for", line, n)
			continue
		}
		sizes = append(sizes, f[0])
	}
	return sizes
}
