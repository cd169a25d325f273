package interop

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/program"
)

// This file builds testdata/peer.c and exchanges commands and answers with it.

// envPrefix names where a libfabric 2.x is installed: its include and lib.
const envPrefix = "GOFABRIC_NATIVE_PREFIX"

// peerProgram is the peer, built for one libfabric.
type peerProgram struct {
	path string
	env  []string
	err  error
}

var debianPeer = sync.OnceValue(func() peerProgram { return buildPeer("peer") })

var native2Peer = sync.OnceValue(func() peerProgram {
	prefix := os.Getenv(envPrefix)
	lib := filepath.Join(prefix, "lib")
	p := buildPeer("peer2", "-I"+filepath.Join(prefix, "include"), "-L"+lib, "-Wl,-rpath,"+lib)
	p.env = []string{"LD_LIBRARY_PATH=" + lib}
	return p
})

func buildPeer(name string, args ...string) peerProgram {
	p := peerProgram{path: filepath.Join(filepath.Dir(ofi.path), name)}
	args = append(append([]string{"-O1", "-Wall", "-o", p.path}, args...),
		filepath.Join("testdata", "peer.c"), "-lfabric")
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		p.err = fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return p
}

// native is a running peer: an end of a link.
type native struct {
	*program.Program
	errs program.Output
	inbox
}

// startPeer starts a peer, at a given port or at any. It ends with the test.
func startPeer(t *testing.T, built peerProgram, provider, kind string, port ...string) *native {
	t.Helper()
	cmd := exec.Command(built.path, append([]string{provider, kind}, port...)...)
	// Other providers take long to start.
	cmd.Env = append(append(os.Environ(), built.env...), "FI_PROVIDER="+provider)
	n := &native{}
	cmd.Stderr = &n.errs
	n.Program = program.Talk(t, cmd)
	n.Mute() // its output is completions
	t.Cleanup(func() {
		if n.HangUp(); t.Failed() {
			t.Logf("standard error of the peer:\n%s", &n.errs)
		}
	})
	return n
}

// poll processes the lines that are there. If one is an answer, it returns it.
func (n *native) poll() (answer string, err error) {
	for {
		line, err := n.Next(0)
		if err == program.ErrSilent {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("the peer: %w: %s", err, &n.errs)
		}
		if answer, err := n.take(line); answer != "" || err != nil {
			return answer, err
		}
	}
}

func (n *native) progress() error {
	answer, err := n.poll()
	if answer != "" {
		return fmt.Errorf("an answer of the peer without a command: %s", answer)
	}
	return err
}

// take processes a line. If it is an answer, it returns it.
func (n *native) take(line string) (string, error) {
	f := strings.Fields(line)
	switch {
	case len(f) >= 7 && f[0] == "cq":
		var c completion
		var length, code uint64
		var err error
		for i, v := range []*uint64{&c.ctx, (*uint64)(&c.flags), &length, &c.data, &c.tag, &code} {
			if *v, err = strconv.ParseUint(f[1+i], 0, 64); err != nil {
				return "", fmt.Errorf("the peer: %s: %w", line, err)
			}
		}
		c.length, c.err, c.detail = int(length), core.Errno(code), strings.Join(f[7:], " ")
		n.done = append(n.done, c)
	case len(f) == 4 && f[0] == "eq":
		code, err := strconv.Atoi(f[2])
		if err != nil {
			return "", fmt.Errorf("the peer: %s: %w", line, err)
		}
		data, err := hex.DecodeString(strings.TrimPrefix(f[3], "-"))
		if err != nil {
			return "", fmt.Errorf("the peer: %s: %w", line, err)
		}
		n.events = append(n.events, event{what: f[1], err: core.Errno(code), data: data})
	case len(f) > 0 && (f[0] == "ok" || f[0] == "fail"):
		return line, nil
	default:
		return "", fmt.Errorf("the peer prints %q", line)
	}
	return "", nil
}

// call sends a command and returns its answer. It calls meanwhile while it waits.
func (n *native) call(meanwhile func() error, format string, args ...any) (string, error) {
	command := fmt.Sprintf(format, args...)
	n.Tell(command)
	patience := newPatience()
	for start := time.Now(); ; pause(start) {
		answer, err := n.poll()
		if err != nil {
			return "", err
		}
		if what, ok := strings.CutPrefix(answer, "ok"); ok {
			return strings.TrimSpace(what), nil
		}
		if answer != "" {
			return "", fmt.Errorf("the peer: %s: %s", command, answer)
		}
		if patience.ended() {
			return "", fmt.Errorf("the peer: %s: no answer within %v%s", command, waitLimit, queues())
		}
		if err := meanwhile(); err != nil {
			return "", err
		}
	}
}

// hexData returns private data in the form of the commands.
func hexData(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}
