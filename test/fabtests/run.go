package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The results of a test.
const (
	notRun = "not run"
	pass   = "pass"
	fail   = "FAIL"
	hang   = "HANG"
)

// The statuses by which fabtests reports that it cannot run a test: FI_ENODATA and FI_ENOSYS.
const (
	exitNoData = 61
	exitNoSys  = 38
)

type outcome struct {
	result string
	took   time.Duration
	output string
}

func (o outcome) text(n outcome, native bool) string {
	s := o.result + " " + o.took.Round(100*time.Millisecond).String()
	if native {
		s += " (native: " + n.result + ")"
	}
	return s
}

type runner struct {
	bin, stack string
	timeout    time.Duration
}

// address is where the server of a test listens.
const address = "127.0.0.1"

// run runs a test with the libfabric.so.1 of a folder.
func (r *runner) run(t test, lib string) outcome {
	began := time.Now()
	var codes []int
	var out string
	switch t.kind {
	case "unit", negative:
		line := strings.NewReplacer("GOOD_ADDR", address, "SERVER_ADDR", address).Replace(t.line)
		codes, out = r.together(lib, []string{line + " -p " + r.stack})
	case "regression":
		codes, out = r.together(lib, []string{t.line})
	case "complex":
		config := r.config()
		if config == "" {
			return outcome{result: notRun}
		}
		codes, out = r.together(lib, []string{t.line + " -x", t.line + " -u " + config + " " + address})
	case "multinode":
		line := t.line + " -n 3 -p " + r.stack + " -s " + address
		codes, out = r.together(lib, []string{line, line, line})
	default:
		line := t.line + " -p " + r.stack + " -s " + address
		codes, out = r.together(lib, []string{line, line + " " + address})
	}
	o := outcome{result: verdict(t, codes), took: time.Since(began), output: out}
	if o.result == fail && (codes[0] == exitNoData || codes[0] == exitNoSys) && !r.offers(t) {
		o.result = notRun // the client may report another error, or crash
	}
	return o
}

// types are the endpoint types of a stack. Other stacks have all types.
var types = map[string]string{"tcp": "msg rdm", "tcp;ofi_rxm": "rdm", "udp": "dgram", "udp;ofi_rxd": "rdm"}

var option = regexp.MustCompile(`-e (msg|rdm|dgram)\b`)
var program = regexp.MustCompile(`^fi_(msg|rdm|dgram)(_| |$)`)

// offers reports whether the stack supports the subject of a test: the endpoint type, and with -k FI_MSG_PREFIX, which
// no stack requires (fi_getinfo(3)).
func (r *runner) offers(t test) bool {
	if slices.Contains(strings.Fields(t.line), "-k") {
		return false
	}
	has, known := types[r.stack]
	if !known {
		return true
	}
	for _, re := range []*regexp.Regexp{option, program} {
		if m := re.FindStringSubmatch(t.line); m != nil {
			return strings.Contains(has, m[1])
		}
	}
	return true
}

// config returns the fi_ubertest configuration for a stack, the shorter one if there are two, "" if fabtests has none.
func (r *runner) config() string {
	parent, names := r.stack, []string{"quick", "all"}
	if core, layer, layered := strings.Cut(r.stack, ";"); layered {
		parent, names = layer, []string{core}
	}
	for _, name := range names {
		file := filepath.Join(r.bin, "..", "share", "fabtests", "test_configs", parent, name+".test")
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// verdict interprets exit statuses as runfabtests.sh does. -1 is a process that did not end.
func verdict(t test, codes []int) string {
	all := func(code int) bool {
		for _, c := range codes {
			if c != code {
				return false
			}
		}
		return true
	}
	for _, c := range codes {
		if c == -1 {
			return hang
		}
	}
	switch {
	case t.kind == negative && all(exitNoData), t.kind != negative && all(0):
		return pass
	case t.kind != negative && (all(exitNoData) || all(exitNoSys)):
		return notRun
	}
	return fail
}

// together runs processes at the same time and collects their output. The first one is the server, and starts earlier.
func (r *runner) together(lib string, lines []string) ([]int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	outs := make([]bytes.Buffer, len(lines))
	cmds := make([]*exec.Cmd, len(lines))
	for i, line := range lines {
		f := strings.Fields(line)
		cmd := exec.CommandContext(ctx, filepath.Join(r.bin, f[0]), f[1:]...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		cmd.Cancel = func() error { return cmd.Process.Kill() }
		cmd.WaitDelay = time.Second
		if err := cmd.Start(); err != nil {
			return []int{1}, err.Error()
		}
		cmds[i] = cmd
		if i == 0 && len(lines) > 1 {
			time.Sleep(500 * time.Millisecond) // fabtests does not show when its server listens
		}
	}
	codes := make([]int, len(lines))
	var text strings.Builder
	for i := len(cmds) - 1; i >= 0; i-- { // the server last: it is killed if its client failed
		codes[i] = exit(ctx, cmds[i].Wait())
		if i > 0 && codes[i] != 0 {
			stop := time.AfterFunc(2*time.Second, func() { cmds[0].Process.Kill() })
			defer stop.Stop()
		}
		text.WriteString("[" + strconv.Itoa(i) + "] " + lines[i] + ": " + strconv.Itoa(codes[i]) + "\n" + tail(outs[i].String()))
	}
	return codes, text.String()
}

func exit(ctx context.Context, err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return -1
	case errors.As(err, &e):
		if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal())
		}
		return e.ExitCode()
	}
	return 1
}

// tail returns the end of a text, which has the reason of a failure.
func tail(s string) string {
	const most = 3000
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}
