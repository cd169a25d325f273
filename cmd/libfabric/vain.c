//go:build linux

// Threads that poll in vain. What they wait for may be up to a thread that has no processor, be it of this program or of a peer on the same machine: with
// more threads that poll than processors, each step of a message would take a time slice of every one of them. So who finds nothing for some time gives the
// processor away between polls (sched_yield(2)), soon if others of this program poll, too, and after a millisecond or so if not: where nobody wants the
// processor it costs a fraction of an empty poll, but where somebody computes it costs a time slice.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "_cgo_export.h"
#include "gf.h"

enum {
	SOON = 32,   // polls in vain before the processor is given away when threads that poll leave none free: some 20 us
	LATE = 1024, // when they do
};

static __thread unsigned vain; // polls of this thread that found nothing, one after another
static __thread char counted;  // this thread is one of pollers

// NEVER is the number of processors where it is not known, or where the end of threads cannot be seen: then nobody yields soon.
enum { NEVER = 1 << 16 };

static int pollers; // threads that have polled in vain, without those that have ended
static int processors = NEVER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ended(void *counter) { __atomic_fetch_sub((int *)counter, 1, __ATOMIC_RELAXED); }

static void prepare(void)
{
	cpu_set_t set;
	if (!sched_getaffinity(0, sizeof set, &set) && !pthread_key_create(&ending, ended))
		processors = CPU_COUNT(&set);
}

// count counts this thread, and has Go make room for it.
static void count(void)
{
	pthread_once(&once, prepare);
	counted = 1;
	if (processors == NEVER || pthread_setspecific(ending, &pollers))
		return;
	int n = __atomic_add_fetch(&pollers, 1, __ATOMIC_RELAXED);
	if (n > processors)
		goThreads(n);
}

void gf_found(void) { vain = 0; }

void gf_vain(void)
{
	if (++vain < SOON)
		return;
	if (!counted)
		count();
	if (vain >= LATE || __atomic_load_n(&pollers, __ATOMIC_RELAXED) >= processors)
		sched_yield();
}
