//go:build linux

package netns

// The test's side of a node.

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gofabric/test/program"
)

// slack is a tolerance for busy machines and for the kernel's timers.
const slack = 3 * time.Second

// slow is how many times longer everything takes. GOFABRIC_SLOW sets it for an emulated processor, where a process may
// not run for seconds.
var slow = func() time.Duration {
	if os.Getenv("GOFABRIC_SLOW") != "" {
		return 6
	}
	return 1
}()

var (
	peerTimeout    = slow * 2 * time.Second
	connectTimeout = slow * 1500 * time.Millisecond
	long           = slow * 20 * time.Second // longer than any step takes unless something is broken
)

// remote is a node in a host.
type remote struct {
	*program.Program
	t    *testing.T
	h    *host
	seen []string // not taken by a test yet
}

// start starts a node, which is killed when the test ends. ip netns exec replaces itself by the program, so signals
// reach that.
func (h *host) start(env ...string) *remote {
	h.t.Helper()
	return h.startUnder(nil, env...)
}

// startUnder starts a node through a command that replaces itself by the program at the end of its arguments, such as
// setpriv(1).
func (h *host) startUnder(wrapper []string, env ...string) *remote {
	h.t.Helper()
	self, err := os.Open(os.Args[0])
	if err != nil {
		h.t.Fatal(err)
	}
	defer self.Close()
	// The program is named by a descriptor, because other users may not read the folder in which go test builds.
	cmd := exec.Command("ip", append(append([]string{"netns", "exec", h.Name}, wrapper...), "/proc/self/fd/3")...)
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), nodeVar+"=1",
		fmt.Sprintf("FI_TCP_PEER_TIMEOUT=%d", peerTimeout.Milliseconds()),
		fmt.Sprintf("FI_TCP_CONNECT_TIMEOUT=%d", connectTimeout.Milliseconds()),
		fmt.Sprintf("FI_OFI_RXD_PEER_TIMEOUT=%d", peerTimeout.Milliseconds()),
		fmt.Sprintf("FI_OFI_RXD_HANDSHAKE_TIMEOUT=%d", connectTimeout.Milliseconds()),
		"FI_OFI_RXD_SINGLE_COPY_SIZE=-1") // the processes are on one machine, but the tests are about the network
	cmd.Env = append(cmd.Env, env...)
	return &remote{Program: program.Talk(h.t, cmd), t: h.t, h: h}
}

// do sends a command and returns its answer.
func (r *remote) do(format string, args ...any) string {
	r.t.Helper()
	r.Tell(fmt.Sprintf(format, args...))
	return strings.TrimPrefix(r.want("OK", long), "OK ")
}

// refused sends a command that must fail, and returns the reason.
func (r *remote) refused(cmd string) string {
	r.t.Helper()
	r.Tell(cmd)
	return r.want("FAIL", long)
}

// want waits for a line with the given beginning, and keeps other lines for later.
func (r *remote) want(begin string, within time.Duration) string {
	r.t.Helper()
	for i, l := range r.seen {
		if strings.HasPrefix(l, begin) {
			r.seen = append(r.seen[:i], r.seen[i+1:]...)
			return l
		}
	}
	for end := time.Now().Add(within); ; {
		left := time.Until(end)
		l, err := r.Next(left)
		switch {
		case err == program.ErrSilent, left < 0 && !strings.HasPrefix(l, begin):
			r.Blame("on %s: no %q within %v", r.h.Name, begin, within)
		case err != nil:
			r.t.Fatalf("%s: %v; want %q", r.h.Name, err, begin)
		case strings.HasPrefix(l, begin):
			return l
		case strings.HasPrefix(l, "FAIL"):
			r.t.Fatalf("%s: %s", r.h.Name, l)
		}
		r.seen = append(r.seen, l)
	}
}

// forget drops the lines that no test has taken.
func (r *remote) forget() { r.seen = nil }

// oneOf checks that an error line names one of the errors.
func oneOf(t *testing.T, line string, errnos ...string) {
	t.Helper()
	for _, e := range errnos {
		if strings.Contains(line, " "+e+" ") {
			return
		}
	}
	t.Errorf("%q; want one of %v", line, errnos)
}
