//go:build linux

// Threads whose polls find nothing. They may wait for a thread that has no processor, of this program or of a peer
// on the same machine. With more polling threads than processors, each step of a message would take a time slice of
// every one of them. So a thread that finds nothing for some time yields its processor between polls
// (sched_yield(2)): soon if this program's polling threads occupy all processors, otherwise after a while. Between
// two pairs of processes on two processors, whose threads all polled, a transfer took 150 us without this, and
// takes 1 us with it.
//
// If no other thread needs the processor, a yield costs a fraction of an empty poll. If an unrelated process
// computes, it costs a time slice, and the answer may arrive meanwhile: with such a process on each processor, a
// ping-pong took 1.7 times as long. So a thread whose yield took that long waits longer before the next one.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include "_cgo_export.h"
#include "gf.h"

enum {
	SOON = 32,          // empty polls before a yield if polling threads occupy all processors: a few us
	LATE = 1024,        // the same if they do not: fractions of a millisecond
	LATEST = 32 * LATE, // the same after another process kept the processor for several time slices
	LONG = 500 * 1000,  // ns: more than a poll and the work after a successful one, less than a time slice
};

// Each poll reads these two variables, so that they are in thread-local storage that needs no call. Go's own
// variable per thread demands the same of the loader.
#define OWN static __thread __attribute__((tls_model("initial-exec")))
OWN unsigned vain; // empty polls of this thread in a row
OWN unsigned patience = LATE;
OWN char counted; // this thread is counted in pollers

// pollers is the number of living threads that have polled without result. processors is the number of processors
// that they may run on. It is NOBODY if that is unknown, or if the end of threads cannot be observed. may has the
// same processors as a set; guard guards it.
enum { NOBODY = 1 << 16 };
static int pollers, processors = NOBODY;
static cpu_set_t may;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char watched; // the end of threads can be observed

static void ended(void *counter) { __atomic_fetch_sub((int *)counter, 1, __ATOMIC_RELAXED); }

static void prepare(void) { watched = !pthread_key_create(&ending, ended); }

// count counts this thread, and makes Go add a processor for it. Each thread may be bound to a processor, so that
// the union of their processors counts.
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

// yield yields the processor and measures for how long.
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
