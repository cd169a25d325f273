// Signals of other processes run the application's handlers, on the application's threads, as their masks say, while
// the library works in the background.
#define _GNU_SOURCE
#include "pair.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

static const int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGURG, SIGWINCH,
	SIGIO, SIGPROF, SIGVTALRM, SIGPIPE};
#define COUNT (sizeof all / sizeof *all)
static volatile sig_atomic_t ran, ran_on;

static void handler(int sig)
{
	ran = sig;
	ran_on = (int)syscall(SYS_gettid);
}

// masks checks that the mask of the thread is unchanged, except for signals that a thread causes itself.
static void masks(const sigset_t *want, const char *when)
{
	sigset_t have;
	EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &have), 0);
	for (int s = 1; s < 32; s++)
		if (s != SIGILL && s != SIGTRAP && s != SIGBUS && s != SIGFPE && s != SIGSEGV && s != SIGSYS &&
			sigismember(&have, s) != sigismember(want, s)) {
			fprintf(stderr, "%s: the mask of signal %d changed\n", when, s);
			exit(1);
		}
}

static void talk(void)
{
	static char out[65536], in[65536];
	static struct fi_context2 ctx[2];
	for (int i = 0; i < 20; i++) {
		POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
		POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &ctx[1]));
		completion(&b, &ctx[0], NULL);
		completion(&a, &ctx[1], NULL);
	}
}

// thread calls the library with all signals blocked.
static void *thread(void *arg)
{
	sigset_t mask;
	struct fi_info *info;
	struct fi_cq_tagged_entry e;
	sigfillset(&mask);
	EQUAL(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
	EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	OK(fi_getinfo(API, NULL, NULL, 0, NULL, &info));
	fi_freeinfo(info);
	FAILS(fi_cq_sread(a.cq, &e, 1, NULL, 10), FI_EAGAIN);
	masks(&mask, "a thread of the application that has all blocked");
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = handler}, now;
	sigset_t before, blocked;
	pthread_t t;
	EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	begin(argc, argv);
	alarm(0);
	for (size_t i = 0; i < COUNT; i++) {
		EQUAL(sigismember(&before, all[i]), 0); // loading the library must not change the mask
		EQUAL(sigaction(all[i], &act, NULL), 0);
	}
	options.wait_obj = FI_WAIT_FD;
	pair_open();
	masks(&before, "after opening");
	talk();
	masks(&before, "after messages");
	EQUAL(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);

	// Where the application blocks a signal, no thread handles it.
	sigfillset(&blocked);
	EQUAL(pthread_sigmask(SIG_SETMASK, &blocked, NULL), 0);
	talk();
	for (size_t i = 0; i < COUNT; i++) {
		sigset_t pending, one;
		ran = 0;
		EQUAL(kill(getpid(), all[i]), 0);
		talk();
		if (ran) {
			fprintf(stderr, "signal %d ran a handler on thread %d of process %d, which has it blocked\n", all[i],
				ran_on, getpid());
			exit(1);
		}
		EQUAL(sigpending(&pending), 0);
		if (!sigismember(&pending, all[i])) {
			fprintf(stderr, "signal %d is gone\n", all[i]);
			exit(1);
		}
		sigemptyset(&one);
		sigaddset(&one, all[i]);
		EQUAL(pthread_sigmask(SIG_UNBLOCK, &one, NULL), 0);
		EQUAL(ran, all[i]);
		EQUAL(ran_on, getpid());
		EQUAL(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
		EQUAL(sigaction(all[i], NULL, &now), 0);
		IS(now.sa_handler == handler); // the handler is unchanged
	}
	pair_close();
	return 0;
}
