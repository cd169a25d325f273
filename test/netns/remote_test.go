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

// slack is what a busy machine, and the kernel's timers, may add.
const slack = 3 * time.Second

// slow is how many times longer than elsewhere things take: on an emulated processor, which GOFABRIC_SLOW says, processes that work together with others get no
// time for seconds.
var slow = func() time.Duration {
	if os.Getenv("GOFABRIC_SLOW") != "" {
		return 6
	}
	return 1
}()

var (
	peerTimeout    = slow * 2 * time.Second
	connectTimeout = slow * 1500 * time.Millisecond
	long           = slow * 20 * time.Second // nothing takes so long unless something is broken
)

// remote is a node in a host.
type remote struct {
	*program.Program
	t    *testing.T
	h    *host
	seen []string // not asked for yet
}

// start starts a node; it is killed when the test ends. ip netns exec becomes the process that it starts: signals reach that.
func (h *host) start(env ...string) *remote {
	h.t.Helper()
	return h.startUnder(nil, env...)
}

// startUnder starts a node through a command that becomes the program named at its end, such as setpriv(1).
func (h *host) startUnder(wrapper []string, env ...string) *remote {
	h.t.Helper()
	self, err := os.Open(os.Args[0])
	if err != nil {
		h.t.Fatal(err)
	}
	defer self.Close()
	// By the descriptor: other users may not look into the directory that go test builds in.
	cmd := exec.Command("ip", append(append([]string{"netns", "exec", h.Name}, wrapper...), "/proc/self/fd/3")...)
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), nodeVar+"=1",
		fmt.Sprintf("FI_TCP_PEER_TIMEOUT=%d", peerTimeout.Milliseconds()), fmt.Sprintf("FI_TCP_CONNECT_TIMEOUT=%d", connectTimeout.Milliseconds()),
		fmt.Sprintf("FI_OFI_RXD_PEER_TIMEOUT=%d", peerTimeout.Milliseconds()), fmt.Sprintf("FI_OFI_RXD_HANDSHAKE_TIMEOUT=%d", connectTimeout.Milliseconds()),
		"FI_OFI_RXD_SINGLE_COPY_SIZE=-1") // processes of one machine, but the network is what matters here
	cmd.Env = append(cmd.Env, env...)
	return &remote{Program: program.Talk(h.t, cmd), t: h.t, h: h}
}

// do carries out a command and returns its answer.
func (r *remote) do(format string, args ...any) string {
	r.t.Helper()
	r.Tell(fmt.Sprintf(format, args...))
	return strings.TrimPrefix(r.want("OK", long), "OK ")
}

// refused carries out a command that must fail, and returns why.
func (r *remote) refused(cmd string) string {
	r.t.Helper()
	r.Tell(cmd)
	return r.want("FAIL", long)
}

// want waits for a line with the given beginning, and leaves others for later.
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

// forget drops the lines that nobody asked for.
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
