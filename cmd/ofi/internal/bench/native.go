package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"gofabric/internal/tcpport"
)

// This file runs native libfabric's own tools for comparison: fi_pingpong and the benchmarks of fabtests. Both ends
// of a tool run with the environment of this process: LD_LIBRARY_PATH and FI_* variables may select the library and
// its settings.

// Native has the paths of native tools.
type Native struct {
	Pingpong string // path or name of fi_pingpong; "" to leave it out
	Fabtests string // directory with fi_msg_bw and so on; "" to leave them out
	Prefix   string // installation prefix of the library that programs are compiled for; "" for the system's

	// Veth has the server and the client at its ends. nil: both use the loopback interface.
	Veth *Veth

	mu  sync.Mutex
	per map[string]float64 // microseconds per message in earlier runs

	dir, member string // paths of the compiled program
	memberErr   error
}

// tool is a native benchmark.
type tool struct {
	name string
	path string
	args []string
	pp   bool // fi_pingpong, whose output differs
	own  bool // the program of native/member.c
}

// tools returns the tools that measure the same as a test.
func (n *Native) tools(s Stack, t Test) []tool {
	if n == nil || t.OneWay {
		return nil
	}
	var all []tool
	add := func(name string, args ...string) {
		if n.Fabtests != "" {
			all = append(all, tool{name: name, path: filepath.Join(n.Fabtests, name), args: args})
		}
	}
	kind := s.typeName()
	switch {
	case t.Kind == Latency:
		if t.Tagged {
			add("fi_rdm_tagged_pingpong")
		} else {
			add("fi_" + kind + "_pingpong")
		}
		if n.Pingpong != "" {
			mode := "msg"
			if t.Tagged {
				mode = "tagged"
			}
			all = append(all, tool{name: "fi_pingpong", path: n.Pingpong, args: []string{"-e", kind, "-m", mode}, pp: true})
		}
	case t.Kind == Rate && t.Tagged:
		add("fi_rdm_tagged_bw")
	case t.Kind == Rate && kind != "dgram": // fabtests do not measure the bandwidth of datagrams
		add("fi_" + kind + "_bw")
	case t.Kind == Atomic && kind == "rdm" || t.Kind == AllReduce:
		all = append(all, tool{name: "libfabric", own: true})
	case t.Kind == Write || t.Kind == Read:
		add("fi_rma_bw", "-e", kind, "-o", string(t.Kind))
	}
	return all
}

const (
	nativeTries  = 3
	nativeFirst  = 1000                   // iterations of the first run, which measures the time of one
	nativeStart  = 5 * time.Second        // time for a server to be ready
	nativeRetry  = 20 * time.Millisecond  // between attempts of a client
	nativeLimit  = 6 * time.Second        // time of a run beyond its expected time
	nativeLinger = 500 * time.Millisecond // time for a process whose output stays open
)

// run runs a tool for about d and returns microseconds per message. With errWrong the time is valid, but results
// were wrong.
func (n *Native) run(ctx context.Context, tl tool, s Stack, t Test, d time.Duration) (float64, error) {
	key := tl.name + " " + s.String() + fmt.Sprint(t)
	n.mu.Lock()
	per := n.per[key]
	n.mu.Unlock()
	if per == 0 {
		first := nativeFirst
		if t.Window > 0 {
			first = max(2*t.Window, min(nativeFirst, 1<<28/max(t.Size, 1)))
		}
		if tl.own {
			first = nativeMemberFirst
		}
		var err error
		if per, err = n.once(ctx, tl, s, t, first, d); per == 0 {
			return 0, err
		}
	}
	iters := float64(d/time.Microsecond) / max(per, 0.001)
	if t.Kind == Latency {
		iters /= 2
	}
	usec, err := n.once(ctx, tl, s, t, max(t.round(iters), 2*t.Window), d)
	if usec == 0 {
		return 0, err
	}
	n.mu.Lock()
	if n.per == nil {
		n.per = map[string]float64{}
	}
	n.per[key] = usec
	n.mu.Unlock()
	return usec, err
}

// once runs server and client of a tool, and again after a failure: another process may take the port, and a client
// that is too early may wait for ever.
func (n *Native) once(ctx context.Context, tl tool, s Stack, t Test, iters int, d time.Duration) (usec float64, err error) {
	for range nativeTries {
		if tl.own {
			usec, err = n.members(ctx, s, t, iters, d)
		} else {
			usec, err = n.try(ctx, tl, s, t, iters, d)
		}
		if usec > 0 || ctx.Err() != nil {
			break
		}
	}
	return usec, err
}

// try runs server and client once. The client starts when the server listens. If that cannot be observed, it
// retries until the server is ready.
func (n *Native) try(ctx context.Context, tl tool, s Stack, t Test, iters int, d time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*d+nativeLimit)
	defer cancel()
	ports, err := tcpport.Free(node, 1)
	if err != nil {
		return 0, err
	}
	port := ports[0]
	args := append([]string{"-p", s.Provider, "-S", strconv.Itoa(t.Size), "-I", strconv.Itoa(iters)}, tl.args...)
	if !tl.pp {
		args = append(args, "-m", "-w", strconv.Itoa(t.round(float64(iters)/20)))
		if t.Window > 0 {
			args = append(args, "-W", strconv.Itoa(t.Window))
		}
	}
	serverOut := &tail{}
	bound := slices.Clone(args)
	if !tl.pp { // without an address, a server over ofi_rxm takes an interface's address, and refuses its client
		bound = append(bound, "-s", n.server())
	}
	server := command(ctx, tl.path, append(bound, "-B", strconv.Itoa(port))...)
	server.Stdout, server.Stderr = serverOut, serverOut
	if err := server.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	var serverErr error
	go func() {
		serverErr = server.Wait()
		close(ended)
	}()
	defer func() { // on all paths no process remains
		cancel()
		<-ended
	}()
	client := append(append(n.client(), tl.path), append(args, "-P", strconv.Itoa(port), n.server())...)
	until := time.Now().Add(nativeStart)
	for late := false; ; late = time.Now().After(until) {
		ready, visible := tcpport.Listening(port)
		var out []byte
		if err = errNotReady; ready || !visible || late {
			if out, err = command(ctx, client[0], client[1:]...).CombinedOutput(); err == nil {
				if usec, err := parseOutput(tl.pp, string(out)); err == nil {
					return usec, nil
				}
				return 0, fmt.Errorf("%s printed no figures: %q", tl.name, out)
			}
		}
		select {
		case <-ended:
			return 0, fmt.Errorf("%s: the server ended (%v)%s; the client: %w %s", tl.name, serverErr, serverOut, err, lastLine(out))
		case <-ctx.Done():
			return 0, fmt.Errorf("%s: %w", tl.name, context.Cause(ctx))
		case <-time.After(nativeRetry):
		}
		if late {
			return 0, fmt.Errorf("%s: %w: %s", tl.name, err, lastLine(out))
		}
	}
}

// server returns the address that clients connect to. client returns the prefix of their commands.
func (n *Native) server() string {
	if n.Veth == nil {
		return node
	}
	return n.Veth.Near
}

func (n *Native) client() []string {
	if n.Veth == nil {
		return nil
	}
	return n.Veth.within(n.Veth.FarSpace)
}

var errNotReady = errors.New("the server does not listen yet")

func command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = nativeLinger
	return cmd
}

// Find looks for fi_pingpong in the search path, unless Pingpong names it, and checks that the fabtests exist.
func (n *Native) Find() error {
	n.Pingpong = cmp.Or(n.Pingpong, "fi_pingpong")
	path, err := exec.LookPath(n.Pingpong)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if n.Fabtests == "" {
			return fmt.Errorf("native fi_pingpong: %w; Debian has it in the package libfabric-bin", err)
		}
		path = ""
	}
	n.Pingpong = path
	if n.Fabtests != "" {
		if _, err := exec.LookPath(filepath.Join(n.Fabtests, "fi_rdm_pingpong")); err != nil {
			return fmt.Errorf("fabtests: %w", err)
		}
	}
	return nil
}
