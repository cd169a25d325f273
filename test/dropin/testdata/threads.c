// Several threads of the application (FI_THREAD_SAFE) read one queue and post to one endpoint. Each completion goes to
// one of them. Threads that call the library once and end leave no resources behind.
#include "pair.h"
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define EACH 2000
static atomic_int received, sent, times[THREADS * EACH];
static char out[64], in[64];

static int tasks(void)
{
	char line[256];
	int n = 0;
	FILE *f = fopen("/proc/self/status", "r");
	IS(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Threads: %d", &n) == 1)
			break;
	fclose(f);
	return n;
}

static void drain(void)
{
	struct fi_cq_tagged_entry e[8];
	ssize_t n = fi_cq_read(b.cq, e, 8);
	for (ssize_t i = 0; i < n; i++) {
		uintptr_t which = (uintptr_t)e[i].op_context;
		IS(which < THREADS * EACH);
		EQUAL(atomic_fetch_add(&times[which], 1), 0);
		atomic_fetch_add(&received, 1);
	}
	IS(n > 0 || n == -FI_EAGAIN);
	n = fi_cq_read(a.cq, e, 8);
	IS(n > 0 || n == -FI_EAGAIN);
	atomic_fetch_add(&sent, n > 0 ? (int)n : 0);
}

static void *worker(void *arg)
{
	int first = (int)(intptr_t)arg * EACH;
	for (int i = 0; i < EACH; i++) {
		ssize_t rc;
		while ((rc = fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, (void *)(intptr_t)(first + i))) == -FI_EAGAIN)
			drain();
		EQUAL(rc, 0);
		while ((rc = fi_send(a.ep, out, sizeof out, NULL, a.peer, NULL)) == -FI_EAGAIN)
			drain();
		EQUAL(rc, 0);
		if (i % 8 == 0)
			drain();
	}
	while (received < THREADS * EACH || sent < THREADS * EACH)
		drain();
	return NULL;
}

static void *brief(void *arg)
{
	struct fi_cq_tagged_entry e;
	FAILS(fi_cq_read(a.cq, &e, 1), FI_EAGAIN);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	begin(argc, argv);
	options.threading = FI_THREAD_SAFE;
	pair_open();
	for (intptr_t i = 0; i < THREADS; i++)
		EQUAL(pthread_create(&t[i], NULL, worker, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	EQUAL(received, THREADS * EACH);
	EQUAL(sent, THREADS * EACH);
	int before = tasks();
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < THREADS; i++)
			EQUAL(pthread_create(&t[i], NULL, brief, NULL), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
	}
	IS(tasks() <= before + THREADS);
	pair_close();
	return 0;
}
