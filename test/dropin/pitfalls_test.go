package dropin

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// This file tests each pitfall of a C library that is written in Go.

// TestSignals checks that signals run the application's handlers, on the application's threads, as their masks say.
func TestSignals(t *testing.T) {
	finish(t, onOurs(t), compile(t, "signals"), "tcp", "rdm")
}

// TestHandlers checks that a handler that was set without SA_ONSTACK has enough room on the stacks that the library's
// calls run on.
func TestHandlers(t *testing.T) {
	for _, s := range stacks {
		t.Run(s.String(), func(t *testing.T) { finish(t, onOurs(t), compile(t, "handlers"), s.provider, s.kind) })
	}
}

// TestSmallTLS checks that the library needs almost no static thread-local storage. The C library keeps little of it
// for libraries that are loaded late, and the library can be loaded where none is left.
func TestSmallTLS(t *testing.T) {
	out := finish(t, append(onOurs(t), "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0"), compile(t, "load"))
	size, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || size > 64 {
		t.Errorf("%s bytes of thread-local storage: %v", strings.TrimSpace(out), err)
	}
}

// TestFork checks that calls in a child of fork(2) fail, and that the parent continues.
func TestFork(t *testing.T) {
	finish(t, onOurs(t), compile(t, "fork"), "tcp", "rdm")
}

// TestOldVersions checks that older versions of symbols access no more of a structure than that version has.
func TestOldVersions(t *testing.T) {
	for _, s := range stacks {
		t.Run(s.String(), func(t *testing.T) { finish(t, onOurs(t), compile(t, "versions"), s.provider, s.kind) })
	}
}

// TestGarbage checks that invalid arguments are errors of the call, and so is a panic, which the program provokes.
// Contexts of any value are returned unchanged.
func TestGarbage(t *testing.T) {
	for _, s := range stacks {
		if s.kind != "rdm" {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			if out := finish(t, onOurs(t), compile(t, "garbage"), s.provider,
				s.kind); !strings.Contains(out, "gofabric: panic: ") {
				t.Error("no call panicked")
			}
		})
	}
}

// TestWrongLibrary checks that the programs of these tests notice when they run on another library.
func TestWrongLibrary(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	program := compile(t, "msg")
	p := start(ctx, t, append(onOurs(t), "LD_LIBRARY_PATH="), program, "tcp", "msg")
	if p.Wait() == nil || !strings.Contains(p.String(), "libfabric") {
		t.Errorf("%s runs on the system's library: %v", program, p.Wait())
	}
}
