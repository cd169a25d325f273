//go:build linux

// Stack space for the program's signal handlers.
//
// A call into Go runs on the stack of a goroutine, which starts with 4 KiB. A signal runs its handler on that stack
// if the handler was set without SA_ONSTACK (sigaction(2)). The kernel's frame takes up to 3.5 KiB (11 with AMX).
// Both would overwrite the memory below the stack. Go's runtime adds SA_ONSTACK to handlers that exist when it
// starts, but most are set later.
//
// So these stacks are large from a thread's first call on: that call only grows the stack, with all signals
// blocked. Go keeps the stack for the life of the thread, and the Makefile stops the garbage collector from
// shrinking it (gcshrinkstackoff). Unused parts take no memory.
#include <pthread.h>
#include <signal.h>
#include "_cgo_export.h"
#include "gf.h"

__thread char gf_roomy __attribute__((tls_model("initial-exec")));

void gf_make_room(void)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	goMakeRoom();
	gf_roomy = 1;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
