package interop

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/test/program"
)

// This file runs two programs against each other.

// runLimit is the time limit of a pair of programs. Both are killed when it ends.
const runLimit = 60 * time.Second

// process is a running program.
type process struct {
	*program.Program
	tool tool
}

// start starts a program and kills it when ctx ends.
func start(ctx context.Context, t *testing.T, w tool, args ...string) *process {
	t.Helper()
	if i := slices.Index(args, "-p"); i >= 0 && w.provider != "" {
		args = slices.Clone(args)
		args[i+1] = w.provider
	}
	cmd := exec.CommandContext(ctx, w.path, slices.Concat(w.args, args)...)
	cmd.Env = append(os.Environ(), w.env...)
	return &process{program.Start(t, cmd), w}
}

// pair runs server and client with the same arguments and returns their outputs. Any failure fails the test.
func pair(t *testing.T, server, client tool, args ...string) (serverOut, clientOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	port := program.FreePort(t)
	s := start(ctx, t, server, slices.Concat([]string{"-B", port}, args)...)
	t.Cleanup(func() { cancel(); <-s.Done() })
	s.AwaitListener(port)
	c := connect(ctx, t, s, client, slices.Concat([]string{"-P", port}, args, []string{"127.0.0.1"})...)
	if c.Wait() != nil { // the server may never notice
		select {
		case <-s.Done():
		case <-time.After(time.Second):
		}
		cancel()
	}
	if s.Wait() != nil || c.Wait() != nil {
		t.Fatalf("%s\nserver: %v\nclient: %v", strings.Join(args, " "), describe(ctx, s), describe(ctx, c))
	}
	return s.String(), c.String()
}

// connect runs the client until it ends. It repeats that as long as the server does not listen yet. There is no
// portable way to know that before, because the server accepts only one connection.
func connect(ctx context.Context, t *testing.T, s *process, client tool, args ...string) *process {
	t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		c := start(ctx, t, client, args...)
		refused := c.Wait() != nil && strings.Contains(strings.ToLower(c.String()), "connection refused")
		if !refused || !s.Running() || ctx.Err() != nil {
			return c
		}
		c.Mute()
		<-retry.C
	}
}

func describe(ctx context.Context, p *process) string {
	s := p.tool.name + ": succeeded"
	if err := p.Wait(); err != nil {
		s = p.tool.name + ": " + err.Error()
	}
	if ctx.Err() == context.DeadlineExceeded {
		s += " (killed after " + runLimit.String() + ")"
	}
	return s
}

// rows returns the sizes in a table, and checks in the other columns that everything that was sent was answered.
func rows(t *testing.T, table string, iterations int) (sizes []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "bytes   #sent   #ack ") {
		t.Fatalf("the output has no table:\n%s", table)
	}
	n := strconv.Itoa(iterations)
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) != 8 || f[1] != n || f[2] != "="+n {
			t.Errorf("unexpected line %q; %s iterations were requested", line, n)
			continue
		}
		sizes = append(sizes, f[0])
	}
	return sizes
}
