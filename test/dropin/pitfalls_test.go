package dropin

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// This file has a test for each pitfall of a C library that is made of Go.

// TestSignals: signals that somebody sends run the application's handlers on its own threads, as its masks say.
func TestSignals(t *testing.T) {
	finish(t, onOurs(t), compile(t, "signals"), "tcp", "rdm")
}

// TestHandlers: a handler that was set without SA_ONSTACK finds room on the stacks that the library's calls run on.
func TestHandlers(t *testing.T) {
	for _, s := range stacks {
		t.Run(s.String(), func(t *testing.T) { finish(t, onOurs(t), compile(t, "handlers"), s.provider, s.kind) })
	}
}

// TestSmallTLS: the library has next to no static thread-local storage, of which the C library keeps little for libraries that are loaded late. It can be loaded
// where none is kept.
func TestSmallTLS(t *testing.T) {
	out := finish(t, append(onOurs(t), "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0"), compile(t, "load"))
	size, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || size > 64 {
		t.Errorf("%s bytes of thread-local storage: %v", strings.TrimSpace(out), err)
	}
}

// TestFork: calls in a child of fork fail, and the parent goes on.
func TestFork(t *testing.T) {
	finish(t, onOurs(t), compile(t, "fork"), "tcp", "rdm")
}

// TestOldVersions: older versions of symbols neither read nor write more of a structure than they know.
func TestOldVersions(t *testing.T) {
	for _, s := range stacks {
		t.Run(s.String(), func(t *testing.T) { finish(t, onOurs(t), compile(t, "versions"), s.provider, s.kind) })
	}
}

// TestGarbage: arguments that cannot be are errors of the call; so is a panic, of which the program provokes one. Contexts of any value come back.
func TestGarbage(t *testing.T) {
	for _, s := range stacks {
		if s.kind != "rdm" {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			if out := finish(t, onOurs(t), compile(t, "garbage"), s.provider, s.kind); !strings.Contains(out, "gofabric: panic: ") {
				t.Error("nothing panicked")
			}
		})
	}
}

// TestWrongLibrary: programs of these tests notice that they run on another library than they should.
func TestWrongLibrary(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	program := compile(t, "msg")
	p := start(ctx, t, append(onOurs(t), "LD_LIBRARY_PATH="), program, "tcp", "msg")
	if p.Wait() == nil || !strings.Contains(p.String(), "libfabric") {
		t.Errorf("%s runs on the system's library: %v", program, p.Wait())
	}
}
