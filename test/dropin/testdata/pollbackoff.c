// Tests when polling threads that find nothing yield their processor. The program replaces the system functions that
// tell how many processors there are (four) and that yield one.
#define _GNU_SOURCE
#include "pair.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { SOON = 32, LATE = 1024, LATEST = 32 * LATE, PROCESSORS = 4 };

static atomic_int given; // how often a processor was yielded
static atomic_int away;
static struct fid_cntr *cntr;

int sched_yield(void)
{
	given++;
	if (away)
		usleep(1000);
	return 0;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	memset(set, 0, size);
	for (int i = 0; i < PROCESSORS; i++)
		CPU_SET(i, set);
	return 0;
}

// found makes this thread find a completion.
static void found(void)
{
	OK(fi_cntr_add(cntr, 1));
	fi_cntr_read(cntr);
}

// in_vain polls n times and returns how often the processor was yielded.
static int in_vain(int n)
{
	int before = given;
	while (n-- > 0)
		fi_cntr_read(cntr);
	return given - before;
}

static void alone(void)
{
	found();
	EQUAL(in_vain(LATE - 1), 0);
	EQUAL(in_vain(10), 10);
	found();
	EQUAL(in_vain(LATE - 1), 0);
	away = 1; // another program uses the processor for long, so the thread waits longer before it yields
	EQUAL(in_vain(7 * LATE), 1);
	EQUAL(in_vain(1), 1);
	found();
	EQUAL(in_vain(LATEST - 1), 0);
	away = 0; // no other program has used it, so the thread yields sooner again
	EQUAL(in_vain(5), 5);
	found();
	EQUAL(in_vain(LATE - 1), 0);
	EQUAL(in_vain(1), 1);
}

static pthread_barrier_t here, done;

static void *poller(void *arg)
{
	in_vain(SOON);
	pthread_barrier_wait(&here);
	pthread_barrier_wait(&done);
	return NULL;
}

// manyPollers starts polling threads until no processor is free, and ends them.
static void manyPollers(void)
{
	pthread_t t[PROCESSORS];
	for (int n = PROCESSORS - 2; n < PROCESSORS; n++) {
		pthread_barrier_init(&here, NULL, n + 1);
		pthread_barrier_init(&done, NULL, n + 1);
		for (int i = 0; i < n; i++)
			EQUAL(pthread_create(&t[i], NULL, poller, NULL), 0);
		pthread_barrier_wait(&here);
		found();
		EQUAL(in_vain(SOON - 1), 0);
		EQUAL(in_vain(10), n + 1 == PROCESSORS ? 10 : 0); // with this thread
		pthread_barrier_wait(&done);
		for (int i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	}
	found();
	EQUAL(in_vain(LATE - 1), 0);
}

// forked lets a child poll, where calls fail. The parent continues as before.
static void forked(void)
{
	int status;
	pid_t child = fork();
	IS(child >= 0);
	if (!child)
		_exit(in_vain(2 * LATE));
	EQUAL(waitpid(child, &status, 0), child);
	EQUAL(status, 0);
	found();
	EQUAL(in_vain(LATE - 1), 0);
	EQUAL(in_vain(1), 1);
}

int main(int argc, char **argv)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	begin(argc, argv);
	pair_open();
	OK(fi_cntr_open(a.domain, &attr, &cntr, NULL));
	alone();
	manyPollers();
	forked();
	OK(fi_close(&cntr->fid));
	pair_close();
	return 0;
}
