//go:build linux

// Threads that poll in vain. What they wait for may be up to a thread that has no processor, be it of this program or of a peer on the same machine: with
// more threads that poll than processors, each step of a message would take a time slice of every one of them. So who finds nothing for some time gives the
// processor away between polls (sched_yield(2)), soon if the threads of this program that poll leave none free, and after a while if they do. Of two pairs of
// processes on two processors, each thread of which polled, a transfer took 150 us without, and takes one.
//
// Where nobody wants the processor that costs a fraction of an empty poll. Where a stranger computes it costs a time slice, and the answer may come meanwhile:
// with one on each processor a ping-pong took 1.7 times as long. So who was away for as long as that has more patience the next time.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include "_cgo_export.h"
#include "gf.h"

enum {
	SOON = 32,             // polls in vain, one after another, before the processor is given away when threads that poll leave none free: a few us
	LATE = 1024,           // when they do: fractions of a millisecond
	LATEST = 32 * LATE,    // when strangers took it for long: several time slices, of which the system has taken some by itself
	LONG = 500 * 1000,     // ns: a poll, and what follows from finding something, takes less, and a time slice more
};

// Each poll comes by here, so these two are where the processor finds them without a call. Go's own word per thread wants the same of the loader.
#define OWN static __thread __attribute__((tls_model("initial-exec")))
OWN unsigned vain; // polls of this thread that found nothing, one after another
OWN unsigned patience = LATE;
OWN char counted;  // this thread has come to count

// pollers are the threads that have polled in vain, without those that have ended. processors are those that they may run on; NOBODY while that is not
// known, or where the end of threads cannot be seen. may has the same processors, one by one; guard guards it.
enum { NOBODY = 1 << 16 };
static int pollers, processors = NOBODY;
static cpu_set_t may;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char watched; // the end of threads can be seen

static void ended(void *counter) { __atomic_fetch_sub((int *)counter, 1, __ATOMIC_RELAXED); }

static void prepare(void) { watched = !pthread_key_create(&ending, ended); }

// count counts this thread, and has Go make room for it. Threads may be bound to a processor each, so what all of them together may use is what counts.
static void count(void)
{
	cpu_set_t own;
	pthread_once(&once, prepare);
	counted = 1;
	if (!watched || sched_getaffinity(0, sizeof own, &own) || pthread_setspecific(ending, &pollers))
		return; // more processors than the set has room for, or no memory
	pthread_mutex_lock(&guard);
	CPU_OR(&may, &may, &own);
	int room = CPU_COUNT(&may), n = __atomic_add_fetch(&pollers, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&processors, room, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&guard);
	goThreads(n);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// yield gives the processor away, and sees for how long that was.
static void yield(void)
{
	uint64_t left = now();
	sched_yield();
	if (now() - left >= LONG)
		patience = patience * 8 < LATEST ? patience * 8 : LATEST;
	else if (patience > LATE)
		patience /= 2;
}

void gf_found(void) { vain = 0; }

void gf_vain(void)
{
	if (++vain < SOON)
		return;
	if (!counted)
		count();
	if (__atomic_load_n(&pollers, __ATOMIC_RELAXED) >= __atomic_load_n(&processors, __ATOMIC_RELAXED))
		sched_yield();
	else if (vain >= patience)
		yield();
}
