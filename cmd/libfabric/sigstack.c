//go:build linux

// Room for the handlers of the program's signals.
//
// A call into Go runs on the stack of a goroutine, which begins with 4 KiB. A signal that finds the thread there runs its handler on that stack, if the handler
// was set without SA_ONSTACK (sigaction(2)), and the frame that the kernel puts there takes up to 3.5 KiB by itself (11 with AMX): both would write over what
// lies below. Go's runtime adds SA_ONSTACK to the handlers that it finds when it starts, but most are set later.
//
// So these stacks are large from the first call of a thread on, which is one for this alone, with all signals blocked; Go keeps the stack for the thread as long
// as that lives, and the Makefile switches off that the collector makes it smaller (gcshrinkstackoff). What is not used of it takes no memory.
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
