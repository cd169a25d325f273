// Handlers that were set without SA_ONSTACK run on the stack on which their signal interrupts the thread. Within a
// call that is one of Go's. They may use as much of it as handlers usually do, and must not overwrite memory of the
// library.
#include "pair.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

enum { DEEP = 32 << 10, FAR = 16 << 20, THREADS = 8 };
static volatile long elsewhere;
static char *volatile top; // of the thread's own stack
static sem_t ready, end_all;

static void handler(int sig)
{
	volatile char deep[DEEP];
	char *at = (char *)deep;
	for (int i = 0; i < DEEP; i++)
		deep[i] = (char)0xaa;
	if (at > top || at < top - FAR)
		elsewhere++;
}

// thread sends messages until its handlers have interrupted the library many times.
static void *thread(void *arg)
{
	static char out[2048], in[2048];
	static struct fi_context2 ctx[2];
	sigset_t timer;
	char here;
	top = &here;
	elsewhere = 0;
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	EQUAL(pthread_sigmask(SIG_UNBLOCK, &timer, NULL), 0);
	for (int n = 0; elsewhere < 200; n++) {
		size_t len = n % 4 ? 8 : 1024;
		fill(out, len, n);
		POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
		POST(fi_send(a.ep, out, len, NULL, a.peer, &ctx[1]));
		completion(&b, &ctx[0], NULL);
		completion(&a, &ctx[1], NULL);
		same(in, len, n);
	}
	EQUAL(pthread_sigmask(SIG_BLOCK, &timer, NULL), 0);
	sem_post(&ready);
	sem_wait(&end_all);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	pthread_t t[THREADS];
	sigset_t timer;
	begin(argc, argv);
	pair_open();
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	EQUAL(pthread_sigmask(SIG_BLOCK, &timer, NULL), 0);
	EQUAL(sigaction(SIGALRM, &act, NULL), 0);
	EQUAL(setitimer(ITIMER_REAL, &often, NULL), 0);
	// One after the other; earlier threads do not end, because Go would give their grown stacks to the next one.
	for (int i = 0; i < THREADS; i++) {
		EQUAL(pthread_create(&t[i], NULL, thread, NULL), 0);
		sem_wait(&ready);
	}
	EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		sem_post(&end_all);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pair_close();
	return 0;
}
