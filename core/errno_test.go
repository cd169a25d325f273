package core_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gofabric/core"
	"gofabric/test/need"
)

// TestErrnoText checks the texts that programs and people use most. Where the native tool is installed, another test
// compares the rest.
func TestErrnoText(t *testing.T) {
	for _, c := range []struct {
		e          core.Errno
		name, text string
	}{
		{core.ErrAgain, "FI_EAGAIN", "Resource temporarily unavailable"},
		{core.ErrNoData, "FI_ENODATA", "No data available"},
		{core.ErrConnRefused, "FI_ECONNREFUSED", "Connection refused"}, {core.ErrAvail, "FI_EAVAIL", "Error available"},
		{core.ErrTrunc, "FI_ETRUNC", "Truncation error"}, {core.ErrFirewallAddr, "FI_EFIREWALLADDR",
			"Host unreacheable due to firewall"},
		{-core.ErrAgain, "FI_EAGAIN", "Resource temporarily unavailable"}, {32, "FI_EPIPE", "Broken pipe"},
		{0, "FI_SUCCESS", "Success"}, {41, "FI_ERRNO(41)", "Unknown error 41"},
		{300, "FI_ERRNO(300)", "Unspecified error"},
	} {
		if c.e.Error() != c.text || c.e.Name() != c.name {
			t.Errorf("%d: %s %q, want %s %q", int(c.e), c.e.Name(), c.e.Error(), c.name, c.text)
		}
	}
}

func TestErrnoTextIsNatives(t *testing.T) {
	tool := need.Programs(t, "libfabric-bin", "fi_strerror")
	for _, n := range []int{1, 2, 11, 12, 22, 24, 61, 71, 90, 98, 104, 110, 111, 113, 125, 256, 257, 258,
		259, 265, 268} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(tool, strconv.Itoa(n)).Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := core.Errno(n).Error(), strings.TrimSpace(string(out)); got != want {
				t.Errorf("%q, native %q", got, want)
			}
		})
	}
}

func TestParseErrno(t *testing.T) {
	for s, want := range map[string]core.Errno{"11": 11, "-11": 11, " 0x10 ": 16, "FI_EAGAIN": core.ErrAgain,
		"eagain": core.ErrAgain, "FI_EWOULDBLOCK": core.ErrAgain, "EPIPE": 32, "fi_etrunc": core.ErrTrunc} {
		if got, err := core.ParseErrno(s); err != nil || got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "FI_", "FI_EZORK", "99999999999999999999", "1.5"} {
		if got, err := core.ParseErrno(s); !errors.Is(err, core.ErrInval) {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

func TestErrnoIs(t *testing.T) {
	err := error(&core.OpError{Op: "fi_listen", Provider: "tcp", Object: "1.2.3.4:5", Err: core.ErrAddrInUse,
		Hint: "another\nprocess has it"})
	if !errors.Is(err, core.ErrAddrInUse) || !errors.Is(err, syscall.EADDRINUSE) {
		t.Error("errors.Is does not find the wrapped error")
	}
	if errors.Is(err, core.ErrAgain) || errors.Is(err, syscall.EINVAL) || errors.Is(core.ErrOther, syscall.Errno(0)) {
		t.Error("errors.Is finds another error")
	}
	if got, want := err.Error(), "fi_listen (tcp) 1.2.3.4:5: Address already in use (another process has it)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (&core.OpError{Op: "fi_connect", Peer: "p", Err: core.ErrTimedOut}).Error(),
		"fi_connect -> p: Connection timed out"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestErrnoOf(t *testing.T) {
	deadline, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	<-deadline.Done()
	for _, c := range []struct {
		err  error
		want core.Errno
	}{
		{nil, 0}, {core.ErrTrunc, core.ErrTrunc}, {fmt.Errorf("x: %w", core.ErrTrunc), core.ErrTrunc},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, core.ErrConnRefused},
		{deadline.Err(), core.ErrTimedOut}, {os.ErrDeadlineExceeded, core.ErrTimedOut},
		{context.Canceled, core.ErrCanceled},
		{errors.New("x"), core.ErrOther}, {syscall.EPIPE, 32},
	} {
		if got := core.ErrnoOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
