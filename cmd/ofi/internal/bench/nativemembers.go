package bench

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// This file runs native libfabric in tests for which it has no tool that prints times. It compiles a C program of
// ours for that, if there are a compiler and headers.

//go:embed native/member.c
var memberSource []byte

// wrongResult is the program's exit code if an operation's result was wrong.
const wrongResult = 3

// nativeMemberFirst is the number of operations of the program's first run, which measures the time of one. With more
// members than processors that time may be long.
const nativeMemberFirst = 5

// compile builds the program, once, and returns its path.
func (n *Native) compile(ctx context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.member != "" || n.memberErr != nil {
		return n.member, n.memberErr
	}
	n.member, n.memberErr = n.build(ctx)
	return n.member, n.memberErr
}

func (n *Native) build(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "ofi-bench-")
	if err != nil {
		return "", err
	}
	n.dir = dir
	path := filepath.Join(dir, "member")
	args := []string{"-O2", "-o", path, "-x", "c", "-"}
	if p := n.Prefix; p != "" {
		lib := filepath.Join(p, "lib")
		args = append(args, "-I"+filepath.Join(p, "include"), "-L"+lib, "-Wl,-rpath,"+lib)
	}
	cmd := exec.CommandContext(ctx, "gcc", append(args, "-lfabric")...)
	cmd.Stdin = strings.NewReader(string(memberSource))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling for native libfabric: %w %s", err, lastLine(out))
	}
	return path, nil
}

// Close removes the compiled program.
func (n *Native) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dir != "" {
		os.RemoveAll(n.dir)
	}
	n.dir, n.member = "", ""
}

// members runs the processes of a test and returns microseconds per operation.
func (n *Native) members(ctx context.Context, s Stack, t Test, iters int, d time.Duration) (float64, error) {
	path, err := n.compile(ctx)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*d+nativeLimit*time.Duration(2+t.needs().members))
	defer cancel()
	members := make([]*nativeMember, t.needs().members)
	defer func() {
		cancel()
		for _, m := range members {
			if m != nil {
				m.end()
			}
		}
	}()
	names := ""
	for rank := range members {
		args := []string{string(t.Kind), s.Provider, strconv.Itoa(rank), strconv.Itoa(len(members)), strconv.Itoa(t.Size), strconv.Itoa(max(iters/20, 1)), strconv.Itoa(iters)}
		if members[rank], err = startMember(command(ctx, path, args...)); err != nil {
			return 0, err
		}
	}
	for _, m := range members { // they all start at once
		name, ok := strings.CutPrefix(m.line(), "name ")
		if !ok {
			return 0, m.failed(ctx)
		}
		names += name + "\n"
	}
	for _, m := range members {
		io.WriteString(m.in, names)
	}
	usec, err := parseMachine(members[0].line())
	if err != nil {
		return 0, errors.Join(err, members[0].failed(ctx))
	}
	wrong := error(nil)
	for _, m := range members {
		switch err := m.leave(); {
		case err == errWrong:
			wrong = err
		case err != nil:
			return 0, errors.Join(err, m.failed(ctx))
		}
	}
	return usec, wrong
}

// nativeMember is a running process.
type nativeMember struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs tail
	err  error
	gone bool
}

func startMember(cmd *exec.Cmd) (*nativeMember, error) {
	m := &nativeMember{cmd: cmd}
	cmd.Stderr = &m.errs
	var err error
	if m.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.out = bufio.NewScanner(out)
	return m, cmd.Start()
}

func (m *nativeMember) line() string {
	m.out.Scan()
	return m.out.Text()
}

// end waits for the process, which must be about to end.
func (m *nativeMember) end() {
	if !m.gone {
		m.gone = true
		m.in.Close()
		for m.out.Scan() {
		}
		m.err = m.cmd.Wait()
	}
}

// leave makes the process end by itself.
func (m *nativeMember) leave() error {
	m.end()
	var code *exec.ExitError
	if errors.As(m.err, &code) && code.ExitCode() == wrongResult {
		return errWrong
	}
	return m.err
}

// errWrong accompanies a time: native libfabric has bugs, too.
var errWrong = errors.New("the result of the operation was wrong")

// failed returns the reason for a member's failure. It waits for the process, whose last output arrives through
// another pipe.
func (m *nativeMember) failed(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.end()
	return fmt.Errorf("a member failed%s", m.errs.String())
}
